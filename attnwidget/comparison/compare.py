"""Comparison of models over the same segments, head by head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.comparison.compare_results import (
    ModelComparison,
    SeveralComparisons,
    several_comparisons,
)
from attnwidget.comparison.compared_texts import ComparedTexts
from attnwidget.comparison.map_changes import (
    BatchMaps,
    KeptMaps,
    MapChanges,
    MapUnit,
    OtherModel,
    with_metrics,
)
from attnwidget.comparison.model_sources import Source, loaded_model, refuse_no_source
from attnwidget.comparison.noise_copy import noise_copy, weight_change
from attnwidget.comparison.one_model_in_memory import ModelTurn, StoredMaps, read_one_at_a_time
from attnwidget.corpus.accumulator import Accumulator
from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.read_batches import read_all, reader_of
from attnwidget.corpus.resume_from import resume_from, resume_path
from attnwidget.corpus.run_on import runs_on_workers
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.measure_heads import Metrics, accumulators_of
from attnwidget.text.linguistic_features import FEATURES
from attnwidget.text.segments import Segment
from attnwidget.text.thread_lock import ThreadLock
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_number
from attnwidget.words.linguistic_features import LinguisticFeatures, words_of_features

if TYPE_CHECKING:
    from typing_extensions import Unpack

ComparisonControl = Literal["noise"]
Texts = Iterable[str | Segment] | Iterable[Sentence | Sequence[str]] | Iterable[Any]

# A comparison locks several models, and two comparisons at once could block each other.
_comparing = ThreadLock()
_MAPS_MB = 2000


class _Options(TypedDict, total=False):
    """Keyword arguments of `compare`, for its overloads."""

    metrics: Metrics
    models_are_seeds: bool
    unit: MapUnit
    matches: bool
    across_layers: bool
    pad_to: int | None
    batch_size: int
    progress: bool
    control: ComparisonControl | None
    resume: str | Path | None
    max_loaded_models: Literal[1] | None
    maps_mb: float | None


@overload
def compare(
    a: Source, b: Source, segments: Texts, **options: Unpack[_Options]
) -> ModelComparison: ...
@overload
def compare(
    a: Source, b: list[Any] | tuple[Any, ...], segments: Texts, **options: Unpack[_Options]
) -> SeveralComparisons: ...
@in_plain_torch
@says_cuts
def compare(
    a: Source,
    b: Source | list[Any] | tuple[Any, ...],
    segments: Texts | None = None,
    *,
    metrics: Metrics = (),
    models_are_seeds: bool = False,
    unit: MapUnit = "tokens",
    matches: bool = False,
    across_layers: bool = False,
    pad_to: int | None = None,
    batch_size: int = 8,
    progress: bool = True,
    control: ComparisonControl | None = None,
    resume: str | Path | None = None,
    max_loaded_models: Literal[1] | None = None,
    maps_mb: float | None = None,
) -> ModelComparison | SeveralComparisons:
    """Compare each head of a model with the same head of other models, over the same segments.

    The models may be a model and its fine-tuned copy, two seeds, or training steps of one model
    (Kovaleva et al. 2019, section 4.3). All numbers are means over segments, without padding.
    Intervals are over documents if segments have documents, as with `read_segments`, otherwise over
    segments.

    With several seeds, the change beyond their spread is the mean distance from `a` to the seeds,
    minus the mean distance between pairs of seeds. The distance is 1 - cosine, or the divergence.
    The change is 0 if the seeds differ from each other as much as from `a`.

    For each batch, memory must hold the maps from all layers of `a` and from one layer of `b`:
    4 L B H n^2 bytes, 75 MB for 8 segments of 128 tokens with 12 layers and 12 heads. With
    `models_are_seeds` or `across_layers`, memory must hold the maps for all layers of `b`. With
    `max_loaded_models=1`, only one model is in memory at a time: `a` reads segments until their
    maps fill `maps_mb`, then `b` is loaded and reads the same segments, and so on. The numbers are
    the same, and each model is loaded once per `maps_mb` of maps. Ctrl-C ends the comparison and
    returns the result so far.

    A change of maps may have nothing to do with the task: any change of the weights changes maps.
    `control="noise"` therefore also compares `a` with a copy of `a` whose weights moved as far as
    those of `b`, but in random directions. Each matrix moves by a random matrix with the singular
    values of its change, and therefore with the same size and rank. The control takes half as long
    again.

    Args:
        a: Model, or its source: a name or folder for `load_model`, or a function that returns a
            model.
        b: Second model with the same number of layers and heads, whose tokenizer has the same
            tokens; or a list of models.
        segments: Texts, which the tokenizer of `a` cuts as in `make_segments`; segments made with
            one of the models (`read_segments`, `make_segments`); with `unit="words"`, sentences of
            a treebank or lists of words; or pictures and sounds, as in `measure`, which both models
            must cut into the same tokens.
        metrics: Metrics of `measure`, by name, or unused accumulators. Each model is measured, and
            the result has the difference (`b` minus `a`), with intervals for means over segments.
            "features" is the attention to linguistic features, as in `probe_features`; it reads
            sentences of a treebank, with `unit="words"`.
        models_are_seeds: Whether the models of `b` are seeds of one training; if True, seeds are
            also compared with each other.
        unit: Unit of the maps, "tokens" or "words". With "words", tokenizers may differ: weights to
            the tokens of a word are summed, weights from them are averaged, and all special tokens
            become one key without a query.
        matches: Whether to compare each head with all heads of its layer, as `match()` requires;
            this takes two to three times as long.
        across_layers: Whether to also compare heads of different layers, as
            `match(across_layers=True)` requires; this takes several times as long.
        pad_to: Number of tokens to which maps are padded for an additional cosine, which includes
            padding rows, as in the released code (200); None = no such cosine.
        batch_size: Number of segments in one forward pass.
        progress: Whether to show a progress bar.
        control: "noise" also compares `a` with noise of the size of the change, for two models with
            the same weight names in memory; None = no control.
        resume: File (.npz) that stores the sums. If it exists, the comparison continues after its
            last batch, with a bit-identical result.
        max_loaded_models: Number of models in memory: 1 = one model at a time, loaded from a name,
            a folder or a function; None = all models.
        maps_mb: Memory for maps in megabytes, with `max_loaded_models=1`; None = 2,000, which is
            enough for 210 segments of 128 tokens with 12 layers and 12 heads. With
            `models_are_seeds`, this memory holds the maps of all models except the last.

    Returns:
        The comparison of two models, or the comparisons with all models of a list.

    Raises:
        TypeError: no segments, or an argument that is not a model, or not segments; with
            `max_loaded_models=1`, a model that is already in memory.
        OSError: a model cannot be loaded.
        ValueError: models with different numbers of layers or heads, or different tokens; a control
            for several models, with `max_loaded_models`, or for models without common weights; no
            segments; a segment that is too long for a model or for `pad_to`; a word without tokens;
            `pad_to` with words; `models_are_seeds` with a single model; a metric as in `measure`; a
            resume file of another study; a resume file or workers with `max_loaded_models=1`; maps
            of one batch that are larger than `maps_mb`.
        WorkersError: as in `measure`.
        KeyboardInterrupt: Ctrl-C before the first batch was done.

    Example:
        >>> from attnwidget import compare, load_model
        >>> model, tuned = load_model(), load_model("attnwidget/genre")
        >>> texts = ["The cat sat on the mat.", "She washed her hands."]
        >>> found = compare(model, tuned, texts, progress=False)
        >>> found.cosine.shape, bool((found.cosine < 1).all())
        ((6, 12), True)
        >>> compare(model, model, texts, progress=False).cosine.min()
        np.float64(1.0)
        >>> compare(model, [tuned, model], texts, progress=False).names
        ['small BERT for genres (in the package)', 'small BERT (in the package)']
        >>> controlled = compare(model, tuned, texts, control="noise", progress=False)
        >>> bool(controlled.control.cosine.mean() > controlled.cosine.mean())
        True
        >>> alone = compare(
        ...     load_model, "attnwidget/genre", texts, max_loaded_models=1, progress=False
        ... )
        >>> bool((alone.cosine == found.cosine).all())
        True
    """
    several = isinstance(b, (list, tuple))
    sources: list[Source] = [a, *b] if isinstance(b, (list, tuple)) else [a, b]
    _check_sources(sources, models_are_seeds)
    if segments is None:
        raise TypeError(
            "compare requires texts that both models read: pass a list, as in compare(a, b, "
            "['The cat sat on the mat.']), or segments, compare(a, b, read_segments(path, a))"
        )
    one_of("unit", unit, ("tokens", "words"))
    one_of("control", control, ("noise", None))
    if control is not None and (several or max_loaded_models is not None):
        raise ValueError(
            'control="noise" is for two models in memory: pass one model as b, without '
            "max_loaded_models, or leave control out"
        )
    if pad_to is not None:
        pad_to = whole_number("pad_to", pad_to, 1, "token")
    if pad_to is not None and unit == "words":
        raise ValueError("maps between words have no padding: leave pad_to out, or compare tokens")
    batch_size = whole_number("batch_size", batch_size, 1)
    resume = resume_path(resume)
    _check_resident(sources, max_loaded_models, maps_mb, resume)
    texts = ComparedTexts(segments, unit)
    if texts.are_media and (max_loaded_models is not None or pad_to is not None):
        raise ValueError(
            "max_loaded_models and pad_to are options of texts: pictures and sounds are compared "
            "by models in memory, without padding"
        )
    accumulators = deepcopy(_accumulators(metrics, texts)) if metrics else []
    for accumulator in accumulators:
        if isinstance(accumulator, SegmentMeans):
            accumulator.keeps_each = True

    changes = partial(
        _changes_from,
        texts=texts,
        unit=unit,
        padded=pad_to,
        matches=matches,
        across_layers=across_layers,
    )
    if max_loaded_models is not None:
        turns: list[ModelTurn] = []
        for number, source in enumerate(sources):
            earlier_maps = [turn.stored for turn in turns if turn.stored is not None]
            is_needed_later = number < len(sources) - 1 if models_are_seeds else not number
            turns.append(
                ModelTurn(
                    source, changes(earlier_maps), StoredMaps(unit) if is_needed_later else None
                )
            )
        with _comparing:
            read_one_at_a_time(
                turns,
                texts,
                accumulators,
                padded=pad_to,
                batch_size=batch_size,
                maps_mb=_MAPS_MB if maps_mb is None else maps_mb,
                progress=progress,
            )
        return _compared_in_turn(turns, several)

    models = [loaded_model(source) for source in sources]
    if control is not None:
        models.append(noise_copy(*models))
    segments_of = [texts.segments(model) for model in models]
    options = {"segments": len(texts), "unit": unit, "pad_to": pad_to}
    options |= {
        "matches": matches,
        "across_layers": across_layers,
        "models_are_seeds": models_are_seeds,
    }
    metric_copies = [deepcopy(accumulators) for _ in models]
    other_segments = zip(*segments_of[1:], strict=True)
    stored_maps = KeptMaps(
        other_segments, unit, metric_copies[0], options, several=len(models) > 2 or several
    )
    for model, model_accumulators in zip(models[1:], metric_copies[1:], strict=True):
        seed_changes = [other.changes for other in stored_maps.others] if models_are_seeds else []
        comparisons = changes([stored_maps, *seed_changes], keep=models_are_seeds)
        reader = reader_of(model, [*model_accumulators, *comparisons], texts.first, None, pad_to)
        stored_maps.others.append(OtherModel(reader, model_accumulators, comparisons[0]))
        stored_maps.between += comparisons[1:]
    with _comparing, resume_from(resume):
        read_all(
            models[0],
            [*metric_copies[0], stored_maps],
            segments_of[0],
            len(texts),
            batch_size=batch_size,
            progress=progress,
            pad_to=pad_to,
        )
    result = stored_maps.compute()
    if control is None or not isinstance(result, SeveralComparisons):
        return result
    comparison, noise = result.each
    changes_of_weights = weight_change(models[0], models[1], stored_maps.stack)
    return replace(
        comparison, control=noise, weight_change=stored_maps.layers.spread(changes_of_weights)
    )


def _accumulators(metrics: Metrics, texts: ComparedTexts) -> list[Accumulator[Any]]:
    """Return the accumulator of each metric; "features" reads the sentences of a treebank."""
    listed = [metrics] if isinstance(metrics, (str, Accumulator)) else list(metrics)
    return accumulators_of(
        [
            LinguisticFeatures(FEATURES, words_of_features(texts.sentences))
            if metric == LinguisticFeatures.name
            else metric
            for metric in listed
        ]
    )


def _check_sources(sources: Sequence[Source], seeds: bool) -> None:
    """Raise TypeError for a source that is not a model, and ValueError for too few models."""
    for source in sources:
        if isinstance(source, Attention):
            raise TypeError(
                "compare reads texts with two models, got an Attention: two texts are compared in "
                "a figure, HeadView(attention, versus=other) or HeadGrid(attention, versus=other)"
            )
        refuse_no_source(source)
    if len(sources) < (3 if seeds else 2):
        raise ValueError(
            "seeds are compared with each other: pass a list of two models or more as b"
            if seeds
            else "b must be a model, or a list of one model or more; got an empty list"
        )


def _changes_from(
    firsts: Sequence[BatchMaps],
    *,
    texts: ComparedTexts,
    unit: MapUnit,
    padded: int | None,
    matches: bool,
    across_layers: bool,
    keep: bool = False,
) -> list[MapChanges]:
    """Return accumulators that compare a model with all earlier models.

    Only the comparison with the first model matches heads and stores its maps.
    """
    return [
        MapChanges(
            first,
            texts.documents,
            len(texts),
            unit,
            padded=padded,
            matches=matches and not number,
            across_layers=across_layers and not number,
            keep=keep and not number,
            number=number,
        )
        for number, first in enumerate(firsts)
    ]


def _compared_in_turn(
    turns: Sequence[ModelTurn], several: bool
) -> ModelComparison | SeveralComparisons:
    """Return the result for models that were in memory one at a time."""
    comparisons = [
        with_metrics(turn.changes[0], turns[0].measured, turn.measured) for turn in turns[1:]
    ]
    if not several:
        return comparisons[0]
    between = [change.compute() for turn in turns for change in turn.changes[1:]]
    return several_comparisons(comparisons, between)


def _check_resident(
    sources: Sequence[Source],
    max_loaded_models: object,
    maps_mb: float | None,
    resume: object,
) -> None:
    """Raise TypeError or ValueError if arguments conflict with one model in memory at a time."""
    one_of("max_loaded_models", max_loaded_models, (None, 1))
    if max_loaded_models is None:
        if maps_mb is not None:
            raise ValueError(
                "maps_mb is the memory for maps of max_loaded_models=1: pass both, or neither"
            )
        return
    for source in sources:
        if isinstance(source, AttentionModel):
            raise TypeError(
                f"{source!r} is in memory already: for max_loaded_models=1 pass names, folders, or "
                "functions that load a model"
            )
    for name, is_given in (("resume file", resume is not None), ("workers", runs_on_workers())):
        if is_given:
            raise ValueError(f"max_loaded_models=1 has no {name}: leave one of the two out")
    if maps_mb is not None and not maps_mb > 0:
        raise ValueError(f"maps_mb must be a number of megabytes above 0, got {maps_mb}")
