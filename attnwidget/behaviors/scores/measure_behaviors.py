"""Scores of all heads for all behaviors, with controls, intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attnwidget.behaviors.behavior import (
    Behavior,
    LinkBehavior,
    MapBehavior,
)
from attnwidget.behaviors.behavior_score import BehaviorScore, HalfScore, t_interval
from attnwidget.behaviors.evidence import Evidence, Run
from attnwidget.behaviors.matched_sharpness import (
    EXPONENTS,
    entropies_over_texts,
    matching_exponents,
)
from attnwidget.behaviors.random_heads import RandomHeads
from attnwidget.behaviors.registry import chosen_behaviors
from attnwidget.behaviors.scores.behavior_means import (
    BehaviorMeans,
    BehaviorSums,
    TextBehavior,
)
from attnwidget.behaviors.scores.behavior_table import BehaviorTable, refuse_thresholds
from attnwidget.behaviors.shuffled_model import shuffled_like
from attnwidget.behaviors.study_behavior import NotApplicableError, StudyBehavior
from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.default_method import is_causal_model
from attnwidget.corpus.accumulator import Accumulator
from attnwidget.corpus.argument_checks import DOCUMENTS, SENTENCES, all_of, refuse_no_model
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.resume_from import resume_from
from attnwidget.corpus.segment_indices import with_index
from attnwidget.corpus.segmenting import read_segments, study_segments
from attnwidget.inputs.media_input import MediaSegment
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.measure_heads import measure
from attnwidget.text.demonstrations import demo_documents, demo_prose, demo_treebank
from attnwidget.text.given_paths import make_folder
from attnwidget.text.mentions import Document
from attnwidget.text.segments import Segment
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_number
from attnwidget.words.word_segments import WordSegmenter

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

#: Number of texts for models with random weights.
RANDOM_TEXTS = 64
#: Smallest number of heads with random weights, if `n_random_models` is None.
RANDOM_HEADS = 48


@in_plain_torch
@says_cuts
def measure_behaviors(
    model: AttentionModel,
    segments: Iterable[Any] | None = None,
    behaviors: Iterable[str | Behavior] | None = None,
    *,
    treebank: Iterable[Sentence] | None = None,
    documents: Iterable[Document] | None = None,
    alpha: float = 0.05,
    min_strength: float = 0.25,
    n_random_models: int | None = None,
    seed: int = 0,
    batch_size: int = 8,
    resume: str | Path | None = None,
    progress: bool | OnProgress = True,
) -> BehaviorTable:
    """Score every head for every behavior, each with a control in the same row.

    Half of the data scores heads, and the held-out half checks the scores. Documents alternate
    between the halves, and so do segments without a document, sentences and names. A behavior names
    a head if its score meets four conditions: it exceeds the control after Holm's correction over
    all heads and behaviors, exceeds the scores of equally sharp heads with random weights, is
    strong enough, and exceeds the control in the held-out half too. Attention behaviors come before
    copying. A resting behavior, for example attention to [SEP], names a head only if no other
    behavior does.

    Args:
        model: Model from `load_model`.
        segments: Texts, segments or pictures, as in `measure`; None = the bundled prose
            (`demo_prose`), () = no text behaviors. Pictures have their own behaviors, such as
            attention to the patch to the right, and no text behaviors.
        behaviors: Names of behaviors, or your own objects (`LinkBehavior`); None = all behaviors
            of the package. Behaviors that the model or the data do not allow are left out, and the
            result has the reasons.
        treebank: Sentences for the relations; None = the bundled treebank (`demo_treebank`), () =
            no relations.
        documents: Documents for pronouns and coreference (`load_coreference`); None = the bundled
            passages (`demo_documents`), which have no coreference of nouns, () = neither.
        alpha: Largest corrected p-value of a name.
        min_strength: Smallest strength of a name: score minus control, as a share of the possible
            excess 1 - control. Score minus control of a name is also at least 0.05 in both halves.
        n_random_models: Number of models of the same architecture with shuffled weights. They
            process the first 64 texts, with maps as sharp as the maps of the model. 0 = none; None
            = at least 2 models and 48 heads.
        seed: Seed of random weights and random tokens.
        batch_size: Number of texts in a forward pass.
        resume: Folder for finished work of each study; a repeated call continues from it.
        progress: Whether to show progress bars; or a function that is called with the number of
            processed inputs and the total (None if unknown).

    Raises:
        ValueError: If a behavior is unknown, or no behavior applies; or as in `measure`.
        TypeError: If an argument is not a model, segments or sentences; or as in `measure`.
        RuntimeError, OSError, WorkersError: As in `measure`.
        KeyboardInterrupt: If Ctrl-C was pressed. The folder has the finished work.

    Example:
        >>> from attnwidget import load_model, make_segments
        >>> from attnwidget.behaviors import measure_behaviors
        >>> model = load_model()
        >>> texts = make_segments(["The cat sat on the mat.", "It slept there."] * 4, model)
        >>> names = ["previous token", "rests on [SEP]"]
        >>> found = measure_behaviors(model, texts, names, n_random_models=0,
        ...     progress=False)
        >>> found
        BehaviorTable(small BERT (in the package), 2 behaviors, ... of 72 heads named)
    """
    refuse_thresholds(alpha, min_strength)
    run = Run.from_arguments(batch_size, resume, progress)
    with resume_from(None):
        evidence = evidence_of(model, segments, treebank, documents, seed, n_random_models, run)
        selected_behaviors = chosen_behaviors(behaviors, evidence.of_pictures)
        scores, left_out = scored(evidence, selected_behaviors)
    return BehaviorTable(
        scores=tuple(scores),
        left_out=left_out,
        alpha=alpha,
        min_strength=min_strength,
        n_segments=len(evidence.segments),
        model_name=model.name,
    )


def evidence_of(
    model: AttentionModel,
    segments: Iterable[Any] | None,
    treebank: Iterable[Sentence] | None,
    documents: Iterable[Document] | None,
    seed: int,
    n_random_models: int | None,
    run: Run,
) -> Evidence:
    """Return the model with the data of the study; None = the bundled data.

    Raises:
        TypeError, ValueError: As in `measure_behaviors`.
        OSError: If the folder of resume files cannot be created.
    """
    refuse_no_model(model)
    seed = whole_number("seed", seed, 0)
    if n_random_models is not None:
        n_random_models = whole_number("n_random_models", n_random_models, 0)
    texts = read_segments(demo_prose(), model) if segments is None else segments
    inputs = list(with_index(study_segments(texts, model)))
    is_media = bool(inputs) and isinstance(inputs[0], MediaSegment)
    if is_media:
        _check_pictures(inputs, treebank, documents)
        treebank = documents = ()
    sentences = demo_treebank() if treebank is None else treebank
    passages = _readable(model, demo_documents()) if documents is None else documents
    if run.folder is not None:
        make_folder(run.folder, "resume files")
    if n_random_models is None:
        n_random_models = max(2, math.ceil(RANDOM_HEADS / (model.n_layers * model.n_heads)))
    return Evidence(
        model=model,
        causal=is_causal_model(model.hf_model),
        segments=inputs,
        treebank=all_of(Sentence, sentences, SENTENCES),
        documents=all_of(Document, passages, DOCUMENTS),
        seed=seed,
        n_random_models=n_random_models,
        run=run,
    )


def _check_pictures(
    segments: Sequence[Segment],
    treebank: Iterable[Sentence] | None,
    documents: Iterable[Document] | None,
) -> None:
    """Raise ValueError for sounds, and for annotated texts together with pictures."""
    media_inputs = (segment.given for segment in segments if isinstance(segment, MediaSegment))
    if any(item.media.sounds for item in media_inputs):
        raise ValueError(
            "behaviors are scored over texts or pictures, and sounds have none: "
            "spoken_word_weights(attention, words) finds the heads that follow speech"
        )
    for name, annotated in (("treebank", treebank), ("documents", documents)):
        if annotated is not None and list(annotated):
            raise ValueError(f"{name} are annotated texts: pass pictures without {name}")


def _readable(model: AttentionModel, documents: Sequence[Document]) -> list[Document]:
    """Return the documents that fit in one window and have no unknown words."""
    try:
        segmenter = WordSegmenter(model)
    except ValueError:  # The model has no tokenizer.
        return []
    unknown = model.tokenizer.unk_token
    readable = []
    for document in documents:
        with suppress(ValueError):
            if unknown not in segmenter(document.running).first:
                readable.append(document)
    return readable


def scored(
    evidence: Evidence,
    behaviors: Sequence[Behavior],
    beside: Sequence[Accumulator[Any]] = (),
) -> tuple[list[BehaviorScore], dict[str, str]]:
    """Return the scores of behaviors, and the reasons for behaviors that are left out.

    Args:
        evidence: Model and data.
        behaviors: Behaviors to score.
        beside: Additional metrics for the pass over the texts.

    Raises:
        ValueError: If no behavior applies.
        KeyboardInterrupt: If Ctrl-C was pressed.
    """
    left_out = {
        b.name: reason
        for b in behaviors
        if (reason := _of_other_inputs(b, evidence) or evidence.lacks(b.needs))
    }
    applicable = [b.prepare(evidence) for b in behaviors if b.name not in left_out]
    text_behaviors = [b for b in applicable if isinstance(b, (LinkBehavior, MapBehavior))]
    scores = _text_scores(evidence, text_behaviors, beside, left_out)
    for study in applicable:
        if isinstance(study, StudyBehavior):
            try:
                scores += study.scores(evidence)
            except NotApplicableError as error:
                left_out[study.name] = str(error)
    if not scores:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ValueError(f"no behavior applies to {evidence.model.name}: {reasons}")
    return scores, left_out


def _of_other_inputs(behavior: Behavior, evidence: Evidence) -> str:
    """Return the reason why a behavior has no score for texts or for pictures; "" if it has one."""
    if evidence.of_pictures and behavior.reads == "texts":
        return "it is a behavior of texts, and the patches of a picture are no line"
    if not evidence.of_pictures and behavior.reads == "pictures":
        return "it is a behavior of pictures, and the inputs are texts"
    return ""


def _text_scores(
    evidence: Evidence,
    behaviors: Sequence[TextBehavior],
    beside: Sequence[Accumulator[Any]],
    left_out: dict[str, str],
) -> list[BehaviorScore]:
    if not evidence.segments:
        left_out |= {behavior.name: "there are no texts" for behavior in behaviors}
        return []
    if not behaviors and not beside:
        return []
    metric = BehaviorSums(behaviors, seed=evidence.seed)
    result = _measured(evidence, evidence.model, evidence.segments, [metric, *beside], "texts")
    by_name = {behavior.name: behavior for behavior in behaviors}
    random = _random_means(evidence, behaviors) if behaviors and evidence.n_random_models else []
    scores = []
    for d, name in enumerate(result.names):
        if result.counts[0, d] == 0:
            left_out[name] = "no text of the first half has a predicted link"
            continue
        random_scores = [(means.score[0, d], means.control[0, d]) for means in random]
        scores.append(_of_behavior(result, d, by_name[name], random_scores))
    return scores


def _random_means(evidence: Evidence, behaviors: Sequence[TextBehavior]) -> list[BehaviorMeans]:
    """Measure texts with each random model, with maps as sharp as those of the model."""
    texts = evidence.segments[:RANDOM_TEXTS]
    batch_size = evidence.run.batch_size
    sharpness = entropies_over_texts(evidence.model, texts, batch_size)[0]
    means = []
    for number in range(evidence.n_random_models):
        model = shuffled_like(evidence.model, seed=evidence.seed + number)
        of_random = entropies_over_texts(model, texts, batch_size, EXPONENTS)
        exponents = matching_exponents(sharpness, of_random)
        again = BehaviorSums(behaviors, seed=evidence.seed, exponents=exponents)
        label = f"behaviors, random model {number + 1} of {evidence.n_random_models}"
        means.append(_measured(evidence, model, texts, [again], f"random-{number}", label))
    return means


def _of_behavior(
    found: BehaviorMeans,
    d: int,
    behavior: TextBehavior,
    random: Sequence[tuple[Float64Array, Float64Array]],
) -> BehaviorScore:
    first, held_out = (
        HalfScore(found.score[half, d], found.control[half, d], int(found.counts[half, d]))
        for half in range(2)
    )
    rule = behavior if isinstance(behavior, LinkBehavior) else None
    return BehaviorScore.from_halves(
        behavior,
        first,
        held_out,
        t_interval(first.score - first.control, found.square[0, d], first.n),
        control_name=behavior.control_name,
        unit="text",
        auc=found.auc[1, d],
        rule=rule,
        corpus="" if rule is None else "segments",
        random=RandomHeads.from_models(random),
    )


def _measured(
    evidence: Evidence,
    model: AttentionModel,
    segments: Sequence[Segment],
    metrics: Sequence[Accumulator[Any]],
    study: str,
    label: str = "behaviors",
) -> BehaviorMeans:
    """Measure texts; raise KeyboardInterrupt if the pass was interrupted."""
    run = evidence.run
    with run.keeping(study, label):
        measurements = measure(
            model, segments, metrics, batch_size=run.batch_size, progress=run.progress
        )
    if not measurements.complete:
        raise KeyboardInterrupt
    return cast("BehaviorMeans", measurements[metrics[0].name])
