"""Studies of a report, in the order of the papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.behaviors.evidence import Run
from attnwidget.behaviors.head_atlas.kept_atlas import known_atlas
from attnwidget.capture.result import Result
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.segmenting import read_segments
from attnwidget.inputs.input_list import each_input
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.clark_labels import clark_labels
from attnwidget.metrics.concentration import broad_heads
from attnwidget.metrics.measure_heads import measure
from attnwidget.paper_report.paper_report import PaperReport
from attnwidget.paper_report.paper_values import PAPER_FIGURES
from attnwidget.paper_report.report_entry import ReportEntry
from attnwidget.paper_report.report_studies import STUDIES, StudyData
from attnwidget.probes.packaged_probe import (
    known_dependency_scores,
    known_pair_probe,
    known_structural_probe,
)
from attnwidget.text.counted import counted
from attnwidget.text.demonstrations import demo_documents, demo_prose, demo_treebank
from attnwidget.text.given_paths import make_folder
from attnwidget.text.made_language import demo_alignments

if TYPE_CHECKING:
    from attnwidget.behaviors.head_atlas.atlas_result import Atlas
    from attnwidget.capture.model import AttentionModel
    from attnwidget.corpus.results import Measurements
    from attnwidget.probes.dependency.dependency_scores import DependencyScores
    from attnwidget.probes.pairs.pair_result import PairProbe
    from attnwidget.probes.structural.structural_result import StructuralProbe
    from attnwidget.text.aligned_pairs import AlignedPair
    from attnwidget.text.mentions import Document
    from attnwidget.text.treebank import Sentence

#: Metrics of one pass over the texts, which every model with a tokenizer allows.
_METRICS = ("classes", "position", "entropy", "confidence", "distances", "patterns")
_CAVEATS = {
    "broad heads": "The paper gives no threshold for a high entropy: 3.8 nats is the rule of this "
    "package, for segments of 128 tokens.",
    "gradients": "The scale depends on the loss: compare layers and classes, not models.",
    "relations": "The best head is chosen and scored on the same words, so that its accuracy is "
    "too high. The relations of other treebanks have other names and definitions.",
    "gallery": "Sentences were chosen because the head is right in them, so that they are no "
    "evidence of its accuracy.",
    "dependency probes": "Another treebank and shorter word vectors than in the paper: compare the "
    "order of the predictors.",
    "pattern examples": "Heads were chosen for the plainest maps of one pair of texts.",
    "heads off": "P-values are corrected for all heads or layers; the paper has no test.",
    "norm pairs": "The correlation is over all heads together, whose vectors differ in length.",
    "norms by frequency": "Frequencies are those of the measured texts, which are few.",
    "pairs": "Another treebank than in the paper, with other relations; position alone is a "
    "baseline that the paper does not have.",
    "edge lengths": "Another treebank than in the paper, with other relations.",
    "coreference": "The best head is chosen and scored on the same mentions. The paper used "
    "CoNLL-2012.",
    "links": "Subjects and verbs; the head is chosen and scored on the same sentences. Moved links "
    "are a control that the paper does not have.",
    "comparison": "Noise of the same size and rank is a control that the paper does not have.",
    "features": "Maxima over the words of a sentence: compare before and after, not features.",
    "patterns": "Patterns come from rules, not from the authors' classifier.",
    "alignment": "The best layer and head are chosen and scored on the same pairs.",
    "trees": "Another treebank than in the paper.",
    "induction": "Repeated random tokens, as in the paper.",
}


@in_plain_torch
def report(
    model: AttentionModel,
    texts: Iterable[Any] | None = None,
    treebank: Iterable[Sentence] | None = None,
    documents: Iterable[Document] | None = None,
    *,
    tuned: AttentionModel | None = None,
    atlas: Atlas | None = None,
    probe: StructuralProbe | None = None,
    alignments: Iterable[AlignedPair] | None = None,
    dependency: DependencyScores | None = None,
    examples: Iterable[Any] = (),
    pairs: PairProbe | None = None,
    batch_size: int = 8,
    resume: str | Path | None = None,
    progress: bool | OnProgress = True,
) -> PaperReport:
    """Measure the figures of the papers for a model, and set them next to the papers' numbers.

    The report has Figures 2 to 6, sections 3.1 and 3.3 and Tables 1 to 3 of Clark et al. 2019,
    Figures 1 to 3 and 5 to 9 of Kovaleva et al. 2019, Figures 3 to 5 and section 5 of Kobayashi et
    al. 2020, section 3.1 and Figure 3 of Coenen et al. 2019, the trees of Hewitt and Manning 2019,
    the induction heads of Olsson et al. 2022 for causal models, and the names of the heads if the
    model has an atlas. A study that the model or the data do not allow is an entry with the reason.

    Args:
        model: Model from `load_model`, with a tokenizer.
        texts: Texts or segments, as in `measure`; None = the bundled prose, in segments of 128
            tokens.
        treebank: Sentences for the relations (`load_treebank`); None = the 115 bundled sentences,
            which were written for this package and are easy; () = no relations.
        documents: Documents for coreference (`load_coreference`); None = the bundled passages, ()
            = no coreference.
        tuned: Fine-tuned copy of the model, for the comparison before and after fine-tuning.
        atlas: Names of the heads (`atlas`); None = the atlas that is bundled or stored for the
            model.
        probe: Structural probe of the model (`train_structural_probe`), which is scored on
            `treebank`; None = the bundled probe for the bundled model.
        alignments: Sentence pairs with gold alignments (`load_alignments`), for a model that
            translates; None = the made pairs for the bundled translation model.
        dependency: Scores of dependency probes of the model (`compare_dependency_probes`); None =
            the stored scores for the bundled model.
        examples: Examples with labels on which heads are switched off, as in `ablate`, for `tuned`
            if there is such a model, otherwise for `model`; () = no heads are switched off.
        pairs: Probe of word pairs of the model (`train_pair_probe`); None = the bundled probe for
            the bundled model.
        batch_size: Number of texts in a forward pass.
        resume: Folder for finished work; a repeated call continues from it. Coreference starts
            again.
        progress: Whether to show progress bars; or a function that is called with the number of
            processed inputs and the total (None if unknown).

    Returns:
        Report, with `save` for the page.

    Raises:
        ValueError: If the model has no tokenizer, or there are no texts; as in `measure`.
        TypeError: If `model` or `tuned` is not a model.
        KeyboardInterrupt: If Ctrl-C was pressed. The folder has the finished work.

    Example:
        >>> from attnwidget import load_model, report
        >>> texts = ["The cat sat on the mat.", "It slept there all day."] * 4
        >>> found = report(load_model(), texts, treebank=(), documents=(), progress=False)
        >>> found["classes"].finding
        'The heads of L4 give 66 % of their attention to [CLS]'
    """
    refuse_no_model(model)
    if tuned is not None:
        refuse_no_model(tuned)
    segments = read_segments(demo_prose(), model) if texts is None else list(each_input(texts))
    run = Run.from_arguments(batch_size, resume, progress)
    if run.folder is not None:
        make_folder(run.folder, "resume files")
    data = StudyData(
        model,
        segments,
        demo_treebank() if treebank is None else list(treebank),
        demo_documents() if documents is None else list(documents),
        tuned,
        run,
        known_structural_probe(model) if probe is None else probe.for_model(model),
        _known_alignments(model) if alignments is None else list(alignments),
        known_dependency_scores(model) if dependency is None else dependency,
        list(examples),
        known_pair_probe(model) if pairs is None else pairs.for_model(model),
    )
    with data.run.keeping("metrics", "metrics"):
        metrics = measure(model, segments, _METRICS, batch_size=batch_size, progress=progress)
    if not metrics.complete:
        raise KeyboardInterrupt
    measured_texts = counted(len(segments), "text")
    if atlas is None:
        atlas = known_atlas(model)
    data.results.update(metrics)
    entries = []
    for study in PAPER_FIGURES:
        if study == "broad heads":
            entries.append(_entry(study, broad_heads(metrics), measured_texts))
        elif study in metrics:
            options = {"behaviors": _behaviors(metrics, atlas)} if study == "distances" else {}
            entries.append(_entry(study, metrics[study], measured_texts, options=options))
        else:
            entries.append(_studied(study, data))
        data.results[study] = entries[-1].result
    entries.append(_names(model, atlas))
    size = f"{counted(model.n_layers, 'layer')} of {counted(model.n_heads, 'head')}"
    lead = (
        f"{model.name}: {size}, which are counted from 0. {measured_texts}, "
        f"{counted(len(data.treebank), 'annotated sentence')}, "
        f"{counted(len(data.documents), 'document')} with coreference. Each heading is the finding "
        "for this model; the numbers of the papers are for other models and texts."
    )
    if treebank is None or documents is None:
        lead += f" The bundled {_bundled(treebank, documents)} are easy, so accuracies are high."
    return PaperReport(tuple(entries), model.name, lead)


def _bundled(treebank: Iterable[Sentence] | None, documents: Iterable[Document] | None) -> str:
    names = {"sentences": treebank, "documents": documents}
    return " and ".join(name for name, given in names.items() if given is None)


def _behaviors(metrics: Measurements, atlas: Atlas | None) -> np.ndarray:
    """Return the names of the heads: of the atlas if there is one, else by the paper's rules."""
    labels = clark_labels(metrics)
    if atlas is None:
        return labels
    is_broad = labels == "attends broadly"
    return np.where((atlas.names == "") & is_broad, "attends broadly", atlas.names)


def _known_alignments(model: AttentionModel) -> list[AlignedPair]:
    """Return the made pairs for the bundled translation model, and no pairs for other models."""
    return demo_alignments() if model.source == "attnwidget/translation" else []


def _studied(study: str, data: StudyData) -> ReportEntry:
    """Return the entry of a study that some models or data do not allow."""
    run_study, texts = STUDIES[study](data)
    if run_study is None:
        return _entry(study, None, reason=texts)
    try:
        with data.run.keeping(study, study):
            result = run_study()
    except (ValueError, TypeError) as error:
        return _entry(study, None, reason=str(error))
    if not result.complete:
        raise KeyboardInterrupt
    if n_skipped := getattr(result, "n_skipped", 0):
        texts += f", of which {n_skipped:,} were skipped"
    return _entry(study, result, texts)


def _entry(
    study: str,
    result: Result | None,
    data: str = "",
    *,
    reason: str = "",
    options: Mapping[str, Any] | None = None,
) -> ReportEntry:
    caveat = _CAVEATS.get(study, "")
    return ReportEntry(study, *PAPER_FIGURES[study], result, data, caveat, reason, options or {})


def _names(model: AttentionModel, atlas: Atlas | None) -> ReportEntry:
    """Return the entry with the names of the heads."""
    figure = ("names", "", "Names of heads", "")
    if atlas is None:
        reason = "there is no stored atlas of the model: pass atlas=attnwidget.atlas(model)"
        return ReportEntry(*figure, None, reason=reason)
    texts = counted(int(atlas.provenance.get("n_texts", 0)), "text")
    caveat = "Each name has a control and a test; heads without a name may do something else."
    return ReportEntry(*figure, atlas, texts, caveat)
