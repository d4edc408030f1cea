"""Studies of a report, in the order of the papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnwidget.behaviors.evidence import Run
from attnwidget.behaviors.head_atlas.kept_atlas import known_atlas
from attnwidget.capture.result import Result
from attnwidget.comparison.compare import compare
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.segmenting import read_segments
from attnwidget.inputs.input_list import each_input
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.concentration import broad_heads
from attnwidget.metrics.induction import induction_scores
from attnwidget.metrics.measure_heads import measure
from attnwidget.paper_report.paper_report import PaperReport
from attnwidget.paper_report.paper_values import PAPER_FIGURES
from attnwidget.paper_report.report_entry import ReportEntry
from attnwidget.probes.packaged_probe import known_structural_probe
from attnwidget.text.counted import counted
from attnwidget.text.demonstrations import demo_documents, demo_prose, demo_treebank
from attnwidget.text.given_paths import make_folder
from attnwidget.text.made_language import demo_alignments
from attnwidget.words.annotated_links import subject_verb_links
from attnwidget.words.coreference import probe_coreference
from attnwidget.words.relations import probe_relations
from attnwidget.words.word_alignment import probe_alignment
from attnwidget.words.word_links import probe_links

if TYPE_CHECKING:
    from attnwidget.behaviors.head_atlas.atlas_result import Atlas
    from attnwidget.capture.model import AttentionModel
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


@dataclass(frozen=True)
class _Data:
    """Model, texts and settings of a report."""

    model: AttentionModel
    segments: Sequence[Any]
    treebank: Sequence[Sentence]
    documents: Sequence[Document]
    tuned: AttentionModel | None
    run: Run
    probe: StructuralProbe | None
    alignments: Sequence[AlignedPair]


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
    batch_size: int = 8,
    resume: str | Path | None = None,
    progress: bool | OnProgress = True,
) -> PaperReport:
    """Measure the figures of the papers for a model, and set them next to the papers' numbers.

    The report has Figures 2, 3, 4 and 6, sections 3.1 and 3.3 and Tables 1 and 2 of Clark et al.
    2019, Figures 2, 3, 5 and 6 of Kovaleva et al. 2019, Figure 3 and section 5 of Kobayashi et al.
    2020, the trees of Hewitt and Manning 2019, the induction heads of Olsson et al. 2022 for causal
    models, and the names of the heads if the model has an atlas. A study that the model or the data
    do not allow is an entry with the reason.

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
    data = _Data(
        model,
        segments,
        demo_treebank() if treebank is None else list(treebank),
        demo_documents() if documents is None else list(documents),
        tuned,
        run,
        known_structural_probe(model) if probe is None else probe.for_model(model),
        _known_alignments(model) if alignments is None else list(alignments),
    )
    with data.run.keeping("metrics", "metrics"):
        metrics = measure(model, segments, _METRICS, batch_size=batch_size, progress=progress)
    if not metrics.complete:
        raise KeyboardInterrupt
    measured_texts = counted(len(segments), "text")
    entries = []
    for study in PAPER_FIGURES:
        if study == "broad heads":
            entries.append(_entry(study, broad_heads(metrics), measured_texts))
        elif study in metrics:
            entries.append(_entry(study, metrics[study], measured_texts))
        else:
            entries.append(_studied(study, data))
    entries.append(_names(model, known_atlas(model) if atlas is None else atlas))
    size = f"{counted(model.n_layers, 'layer')} of {counted(model.n_heads, 'head')}"
    lead = (
        f"{model.name}: {size}, which are counted from 0. {measured_texts}, "
        f"{counted(len(data.treebank), 'annotated sentence')}, "
        f"{counted(len(data.documents), 'document')} with coreference. Each heading is the finding "
        "for this model; the numbers of the papers are for other models and texts."
    )
    return PaperReport(tuple(entries), model.name, lead)


def _known_alignments(model: AttentionModel) -> list[AlignedPair]:
    """Return the made pairs for the bundled translation model, and no pairs for other models."""
    return demo_alignments() if model.source == "attnwidget/translation" else []


def _studied(study: str, data: _Data) -> ReportEntry:
    """Return the entry of a study that some models or data do not allow."""
    run_study, texts = _STUDIES[study](data)
    if run_study is None:
        return _entry(study, None, reason=texts)
    try:
        with data.run.keeping(study, study):
            result = run_study()
    except (ValueError, TypeError) as error:
        return _entry(study, None, reason=str(error))
    if not result.complete:
        raise KeyboardInterrupt
    return _entry(study, result, texts)


def _entry(study: str, result: Result | None, data: str = "", *, reason: str = "") -> ReportEntry:
    caveat = _CAVEATS.get(study, "")
    return ReportEntry(study, *PAPER_FIGURES[study], result, data, caveat, reason)


#: A study with the description of its data, or None and the reason why there is none.
_Study = tuple[Callable[[], Result] | None, str]


def _of_metric(metric: str) -> Callable[[_Data], _Study]:
    def study(data: _Data) -> _Study:
        def result() -> Result:
            found: Result = measure(
                data.model,
                data.segments,
                [metric],
                batch_size=data.run.batch_size,
                progress=data.run.progress,
            )[metric]
            return found

        return result, counted(len(data.segments), "text")

    return study


def _relations(data: _Data) -> _Study:
    if not data.treebank:
        return None, "relations need annotated sentences: pass treebank=load_treebank(path)"

    def result() -> Result:
        found = probe_relations(
            data.model, data.treebank, skip_unaligned=True, progress=data.run.progress
        )
        if found.best().empty:
            raise ValueError(
                f"{found.finding}: pass a treebank with more than {len(data.treebank)} sentences"
            )
        return found

    return result, counted(len(data.treebank), "annotated sentence")


def _coreference(data: _Data) -> _Study:
    if not data.documents:
        return None, "coreference needs annotated documents: pass documents=load_coreference(path)"
    return (
        lambda: probe_coreference(
            data.model, data.documents, skip_unaligned=True, progress=data.run.progress
        ),
        counted(len(data.documents), "document"),
    )


def _comparison(data: _Data) -> _Study:
    tuned = data.tuned
    if tuned is None:
        return None, "the comparison needs a fine-tuned model: pass tuned=load_model(name)"
    return (
        lambda: compare(
            data.model,
            tuned,
            data.segments,
            control="noise",
            batch_size=data.run.batch_size,
            progress=bool(data.run.progress),
        ),
        counted(len(data.segments), "text"),
    )


def _features(data: _Data) -> _Study:
    tuned = data.tuned
    if tuned is None or not data.treebank:
        return (
            None,
            "the attention to features needs a fine-tuned model and annotated sentences: pass "
            "tuned=load_model(name) and treebank=load_treebank(path)",
        )
    return (
        lambda: (
            compare(
                data.model,
                tuned,
                data.treebank,
                unit="words",
                metrics=["features"],
                control="noise",
                batch_size=data.run.batch_size,
                progress=bool(data.run.progress),
            ).features
        ),
        counted(len(data.treebank), "annotated sentence"),
    )


def _links(data: _Data) -> _Study:
    links = subject_verb_links(data.treebank) if data.treebank else []
    if not any(sentence.links for sentence in links):
        return None, "links need subjects and verbs: pass treebank=load_treebank(path) with tags"
    return (
        lambda: probe_links(
            data.model, links, skip_unaligned=True, progress=bool(data.run.progress)
        ),
        counted(len(data.treebank), "annotated sentence"),
    )


def _alignment(data: _Data) -> _Study:
    if not data.alignments:
        return None, (
            "word alignment needs a model that translates and gold alignments: pass "
            "alignments=load_alignments(path, source, target)"
        )
    return (
        lambda: probe_alignment(data.model, data.alignments, progress=bool(data.run.progress)),
        counted(len(data.alignments), "sentence pair"),
    )


def _trees(data: _Data) -> _Study:
    probe = data.probe
    if probe is None:
        return None, (
            "trees need a structural probe of the model: pass "
            "probe=train_structural_probe(model, train, dev)"
        )
    if not data.treebank:
        return None, "trees need annotated sentences: pass treebank=load_treebank(path)"
    return (
        lambda: probe.score(data.treebank, skip_unaligned=True, progress=bool(data.run.progress)),
        counted(len(data.treebank), "annotated sentence"),
    )


def _induction(data: _Data) -> _Study:
    return (
        lambda: induction_scores(data.model, progress=data.run.progress),
        "repeated random tokens",
    )


_STUDIES: dict[str, Callable[[_Data], _Study]] = {
    "gradients": _of_metric("gradients"),
    "relations": _relations,
    "coreference": _coreference,
    "links": _links,
    "comparison": _comparison,
    "features": _features,
    "norms": _of_metric("norms"),
    "alignment": _alignment,
    "trees": _trees,
    "induction": _induction,
}


def _names(model: AttentionModel, atlas: Atlas | None) -> ReportEntry:
    """Return the entry with the names of the heads."""
    figure = ("names", "", "Names of heads", "")
    if atlas is None:
        reason = "there is no stored atlas of the model: pass atlas=attnwidget.atlas(model)"
        return ReportEntry(*figure, None, reason=reason)
    texts = counted(int(atlas.provenance.get("n_texts", 0)), "text")
    caveat = "Each name has a control and a test; heads without a name may do something else."
    return ReportEntry(*figure, atlas, texts, caveat)
