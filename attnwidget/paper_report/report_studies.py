"""Studies of a report that some models or data do not allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attnwidget.behaviors.evidence import Run
from attnwidget.behaviors.gallery.head_gallery import head_gallery
from attnwidget.behaviors.gallery.relation_panels import relation_panels
from attnwidget.capture.result import Result
from attnwidget.comparison.compare import compare
from attnwidget.interventions.ablation import ablate
from attnwidget.metrics.gradients import Gradients
from attnwidget.metrics.induction import induction_scores
from attnwidget.metrics.measure_heads import measure
from attnwidget.metrics.norms import Norms
from attnwidget.text.counted import counted
from attnwidget.words.annotated_links import subject_verb_links
from attnwidget.words.coreference import probe_coreference
from attnwidget.words.relations import probe_relations
from attnwidget.words.word_alignment import probe_alignment
from attnwidget.words.word_links import probe_links

if TYPE_CHECKING:
    from attnwidget.behaviors.gallery.gallery_result import HeadPanel
    from attnwidget.capture.model import AttentionModel
    from attnwidget.corpus.accumulator import Accumulator
    from attnwidget.probes.dependency.dependency_scores import DependencyScores
    from attnwidget.probes.pairs.pair_result import PairProbe
    from attnwidget.probes.structural.structural_result import StructuralProbe
    from attnwidget.text.aligned_pairs import AlignedPair
    from attnwidget.text.mentions import Document
    from attnwidget.text.treebank import Sentence

#: Pair of texts for one map of each pattern, with about 20 tokens each.
_PAIR = (
    "The old woman opened the heavy door and saw her younger brother in the garden.",
    "He had a letter in his hand, and he did not look up when she called him.",
)
#: Number of relations with example sentences, and largest number of words in such a sentence.
_N_PANELS = 3
_MAX_WORDS = 12
_NO_NORMS = "the model has no norms: use a model whose heads write vectors that add up"
#: Smallest number of edges of a relation whose length is drawn.
_FEWEST_EDGES = 30


@dataclass(frozen=True)
class StudyData:
    """Model, texts and settings of a report.

    Attributes:
        model: Model of the report.
        segments: Texts of the metrics.
        treebank: Sentences for the relations.
        documents: Documents for coreference.
        tuned: Fine-tuned copy of the model, or None.
        run: Batch size, resume folder and progress.
        probe: Structural probe of the model, or None.
        alignments: Sentence pairs with gold alignments.
        dependency: Scores of dependency probes of the model, or None.
        examples: Examples with labels on which heads are switched off.
        pairs: Probe of word pairs of the model, or None.
        results: Results of the studies so far, by study.
    """

    model: AttentionModel
    segments: Sequence[Any]
    treebank: Sequence[Sentence]
    documents: Sequence[Document]
    tuned: AttentionModel | None
    run: Run
    probe: StructuralProbe | None
    alignments: Sequence[AlignedPair]
    dependency: DependencyScores | None
    examples: Sequence[Any]
    pairs: PairProbe | None
    results: dict[str, Any] = field(default_factory=dict)


Study = tuple[Callable[[], Result] | None, str]
"""A study with the description of its data, or None and the reason why there is none."""


def _of_metric(make: Callable[[], Accumulator[Any]]) -> Callable[[StudyData], Study]:
    def study(data: StudyData) -> Study:
        def result() -> Result:
            metric = make()
            found: Result = measure(
                data.model,
                data.segments,
                [metric],
                batch_size=data.run.batch_size,
                progress=data.run.progress,
            )[metric.name]
            return found

        return result, counted(len(data.segments), "text")

    return study


def _relations(data: StudyData) -> Study:
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


def _gallery(data: StudyData) -> Study:
    relations = data.results.get("relations")
    if relations is None:
        return None, "heads on sentences need relations: pass treebank=load_treebank(path)"

    def result() -> Result:
        best = relations.best()
        gains = (best["accuracy"] - best["baseline"])[best["significant"]]
        panels: list[HeadPanel] = []
        # A relation and its subtypes often have the same head, which is shown once.
        for relation in best["relation"][gains.sort_values(ascending=False).index]:
            if len(panels) == _N_PANELS or relation == "all" or relation.endswith("(all)"):
                continue
            try:
                panels += relation_panels(
                    relations, [relation], data.treebank, max_words=_MAX_WORDS
                )
            except ValueError:
                # No short sentence has all of its words of this relation right.
                continue
        if not panels:
            raise ValueError(
                "no head is better than the best offset and right in a sentence of at most "
                f"{_MAX_WORDS} words: pass a treebank with more sentences"
            )
        return head_gallery(panels)

    return result, counted(len(data.treebank), "annotated sentence")


def _dependency_probes(data: StudyData) -> Study:
    scores = data.dependency
    if scores is None:
        return None, (
            "the predictors of governors need dependency probes of the model: pass "
            "dependency=compare_dependency_probes([train_dependency_probe(model, train, dev)])"
        )
    return lambda: scores, scores.data


def _pattern_examples(data: StudyData) -> Study:
    def result() -> Result:
        found: Result = data.results["patterns"].examples(data.model.attend(*_PAIR))
        return found

    return result, "one pair of texts"


def _heads_off(data: StudyData) -> Study:
    model = data.model if data.tuned is None else data.tuned
    if not data.examples:
        return None, (
            "switching heads off needs examples with labels: pass examples=[(text, label), ...] "
            "and a model for the task"
        )
    return (
        lambda: ablate(
            model,
            data.examples,
            batch_size=data.run.batch_size,
            progress=bool(data.run.progress),
        ),
        counted(len(data.examples), "example"),
    )


def _edge_lengths(data: StudyData) -> Study:
    if (lacking := _lacks_trees(data)) or data.probe is None:
        return None, lacking
    probe = data.probe

    def result() -> Result:
        found = probe.edge_lengths(
            data.treebank, skip_unaligned=True, progress=bool(data.run.progress)
        )
        if found.counts.max() < _FEWEST_EDGES:
            raise ValueError(
                f"no relation has {_FEWEST_EDGES} edges: pass a treebank with more than "
                f"{counted(found.n_sentences, 'sentence')}"
            )
        return found

    return result, counted(len(data.treebank), "annotated sentence")


def _pairs(data: StudyData) -> Study:
    probe = data.pairs
    if probe is None:
        return None, (
            "pairs of words need a probe of the model: pass "
            "pairs=train_pair_probe(model, train, dev)"
        )
    return lambda: probe, (
        f"{counted(probe.n_train, 'annotated sentence')} to train, {probe.n_dev:,} scored"
    )


def _lacks_trees(data: StudyData) -> str:
    """Return what a study of trees in vectors lacks, "" if nothing."""
    if data.probe is None:
        return (
            "trees need a structural probe of the model: pass "
            "probe=train_structural_probe(model, train, dev)"
        )
    return (
        "" if data.treebank else "trees need annotated sentences: pass treebank=load_treebank(path)"
    )


def _coreference(data: StudyData) -> Study:
    if not data.documents:
        return None, "coreference needs annotated documents: pass documents=load_coreference(path)"
    return (
        lambda: probe_coreference(
            data.model, data.documents, skip_unaligned=True, progress=data.run.progress
        ),
        counted(len(data.documents), "document"),
    )


def _comparison(data: StudyData) -> Study:
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


def _features(data: StudyData) -> Study:
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


def _links(data: StudyData) -> Study:
    links = subject_verb_links(data.treebank) if data.treebank else []
    if not any(sentence.links for sentence in links):
        return None, "links need subjects and verbs: pass treebank=load_treebank(path) with tags"
    return (
        lambda: probe_links(
            data.model, links, skip_unaligned=True, progress=bool(data.run.progress)
        ),
        counted(len(data.treebank), "annotated sentence"),
    )


def _norm_pairs(data: StudyData) -> Study:
    norms = data.results.get("norms")
    if norms is None:
        return None, _NO_NORMS
    return lambda: norms.pairs, counted(len(data.segments), "text")


def _norms_by_frequency(data: StudyData) -> Study:
    norms = data.results.get("norms")
    if norms is None:
        return None, _NO_NORMS
    return norms.by_frequency, counted(len(data.segments), "text")


def _alignment(data: StudyData) -> Study:
    if not data.alignments:
        return None, (
            "word alignment needs a model that translates and gold alignments: pass "
            "alignments=load_alignments(path, source, target)"
        )
    return (
        lambda: probe_alignment(data.model, data.alignments, progress=bool(data.run.progress)),
        counted(len(data.alignments), "sentence pair"),
    )


def _trees(data: StudyData) -> Study:
    if (lacking := _lacks_trees(data)) or data.probe is None:
        return None, lacking
    probe = data.probe
    return (
        lambda: probe.score(data.treebank, skip_unaligned=True, progress=bool(data.run.progress)),
        counted(len(data.treebank), "annotated sentence"),
    )


def _induction(data: StudyData) -> Study:
    return (
        lambda: induction_scores(data.model, progress=data.run.progress),
        "repeated random tokens",
    )


STUDIES: dict[str, Callable[[StudyData], Study]] = {
    "gradients": _of_metric(Gradients),
    "relations": _relations,
    "gallery": _gallery,
    "coreference": _coreference,
    "dependency probes": _dependency_probes,
    "pattern examples": _pattern_examples,
    "links": _links,
    "comparison": _comparison,
    "features": _features,
    "heads off": _heads_off,
    "norms": _of_metric(lambda: Norms(each_token=True)),
    "norm pairs": _norm_pairs,
    "norms by frequency": _norms_by_frequency,
    "alignment": _alignment,
    "pairs": _pairs,
    "edge lengths": _edge_lengths,
    "trees": _trees,
    "induction": _induction,
}
"""Functions that return a study, by the name of the study."""
