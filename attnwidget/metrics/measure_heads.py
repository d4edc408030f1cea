"""Measurement of any set of metrics in one pass; maps are released after each layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.model_reading import refuse_no_attention
from attnwidget.capture.result import Result
from attnwidget.corpus.accumulator import Accumulator
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.attention_reader import read_attention
from attnwidget.corpus.batches import TokenTypes
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.read_batches import read_all
from attnwidget.corpus.results import Measurements
from attnwidget.corpus.resume_from import resume_from, resume_path
from attnwidget.corpus.segmenting import study_segments
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.function_of_maps import FunctionOfMaps, MapFunction
from attnwidget.text.near_names import among
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.model import AttentionModel

#: Names of metrics, metrics with options, and functions of the weights of one head.
Metrics = Sequence[str | Accumulator[Any] | MapFunction]

# Metrics whose numbers readers ask for by another word.
_METRIC_OF = {
    "block": "patterns",
    "cls": "classes",
    "diagonal": "position",
    "next": "position",
    "previous": "position",
    "punctuation": "classes",
    "sep": "classes",
    "sink": "sinks",
    "vertical": "patterns",
}


@in_plain_torch
@says_cuts
def measure(
    model: AttentionModel,
    segments: Iterable[Any],
    metrics: Metrics = ("position", "classes", "entropy", "confidence"),
    *,
    batch_size: int = 8,
    resume: str | Path | None = None,
    progress: bool | OnProgress = True,
    token_types: TokenTypes = None,
    n_segments: int | None = None,
) -> Measurements:
    """Measure every head of a model over segments, in one pass.

    Memory holds the maps of one layer at a time, independent of the number of segments. Segments of
    similar length share a batch; padding changes no value by more than 1e-6. Only the encoder of an
    encoder-decoder is measured. Segments of more than 1,024 tokens are processed without whole maps
    if all metrics allow it: "position", "classes", "entropy", "confidence", "sinks" and "roles" do,
    and the other metrics need whole maps. Ctrl-C ends the pass and returns the result so far.

    Args:
        model: Model from `load_model`.
        segments: List of texts, pairs of texts or chats, which are cut as in `make_segments`;
            segments made with this model (`read_segments`, `make_segments`); or a
            `datasets.Dataset` of Hugging Face with texts in "text", chats in "messages", or tokens
            in "first" and "second". For models with a processor for pictures or sounds, a list of
            PIL images, paths (`pathlib.Path`) of pictures and WAV files, arrays [height, width, 3],
            pairs (samples, rate), or dicts with a picture in "image", several in "images", a sound
            in "audio", and a text in "text". An iterator is consumed during the pass.
        metrics: Names of the metrics in `attnwidget.metrics`, such as "norms", "patterns" or
            "sinks" ("roles" is for chats); metrics with options, such as `Position([-2, 2])`; or
            functions of the weights of one head in one input, float32 [n, n], that return a number.
            The error for an unknown name lists all names.
        batch_size: Number of segments in a forward pass.
        resume: File (.npz) for the sums so far. If it exists, the pass continues after its last
            batch, with the same result to the last bit. Only one run at a time can use it.
        progress: Whether to show a progress bar; or a function that is called with the number of
            processed inputs and the total (None if unknown).
        token_types: Token types of pairs: "zero" gives both texts the type 0, as in Clark et al.;
            None = the tokenizer's types.
        n_segments: Number of segments in an iterator, so that progress can show the time left; it
            does not limit the segments. None = the length of a list, and unknown for an iterator.

    Returns:
        Result of each metric, by name.

    Raises:
        ValueError: If a metric is unknown or repeated, `n_segments` is negative, there are no
            segments, a segment comes from another model or has too many tokens, the model's maps
            change with padding, or the resume file belongs to another study.
        TypeError: If `segments` is a single text, a table or a dict instead of a list; if a metric
            is a class, or a function without a name, or returns no number; or, in a block of
            `run_on`, if the model or a metric cannot be pickled.
        RuntimeError: If the model was closed or has changed, or another run writes the resume file.
        OSError: If the resume file cannot be written. The earlier resume file is then unchanged.
        WorkersError: If workers have other versions of torch, transformers or this package, the
            executor stopped, or a shard failed three times. The resume file has all finished
            batches.
        KeyboardInterrupt: If Ctrl-C was pressed before the first batch was done.

    Example:
        >>> from attnwidget import load_model, measure
        >>> texts = ["The cat sat.", "It slept."]
        >>> measure(load_model(), texts, ["entropy", "position"], progress=False)
        Measurements(small BERT (in the package), 2 segments: entropy, position)
    """
    refuse_no_model(model)
    if n_segments is not None:
        n_segments = whole_number("n_segments", n_segments, 0, "segments")
    accumulators = accumulators_of(metrics)
    n_segments = len(segments) if n_segments is None and isinstance(segments, Sized) else n_segments
    with resume_from(resume_path(resume)):
        final_progress, complete = read_all(
            model,
            accumulators,
            study_segments(segments, model),
            n_segments,
            batch_size=batch_size,
            progress=progress,
            token_types=token_types,
        )
    results = {accumulator.name: accumulator.compute() for accumulator in accumulators}
    return Measurements(
        {name: _with_completeness(result, complete) for name, result in results.items()},
        n_segments=final_progress.n_segments,
        complete=complete,
        model_name=model.name,
        stack=accumulators[0].stack,
    )


def _with_completeness(result: Any, complete: bool) -> Any:
    """Return the result of a metric with the `complete` flag of the pass.

    User-defined metrics may have results of other types, which are returned unchanged.
    """
    return result if complete or not isinstance(result, Result) else replace(result, complete=False)


@in_plain_torch
@says_cuts
def measure_attention(
    attention: Attention,
    metrics: Metrics = ("position", "classes", "entropy", "confidence"),
    *,
    stack: str | None = None,
) -> Measurements:
    """Measure every head over the one input of an `Attention`, without running a model.

    The values are equal to those of `measure` over the same text.

    Args:
        attention: Attention of one input.
        metrics: Metrics, as in `measure`, except "norms" and "gradients", which need the model.
        stack: Stack to measure if there are several; "cross" is not allowed. None = the only stack,
            or the language model in a model with towers.

    Returns:
        Result of each metric, by name.

    Raises:
        ValueError: If a metric is unknown, repeated or needs a model; if a stack does not exist, or
            its queries attend to another sequence; or if a metric based on token distances
            ("position", "patterns", "position_content", "induction") is requested for a picture.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> measure_attention(load_model().attend("The cat sat."), ["entropy", "position"])
        Measurements(small BERT (in the package), 1 segment: entropy, position)
    """
    refuse_no_attention(attention)
    accumulators = accumulators_of(metrics)
    read_attention(attention, accumulators, stack=stack)
    return Measurements(
        {accumulator.name: accumulator.compute() for accumulator in accumulators},
        n_segments=1,
        complete=True,
        model_name=attention.model_name,
        stack=accumulators[0].stack,
    )


def accumulators_of(metrics: Metrics) -> list[Accumulator[Any]]:
    """Return the accumulator of each metric, from its name or its function, or as passed.

    Raises:
        ValueError: If a metric is unknown or repeated, or there is no metric.
        TypeError: If a metric is a class, or a function without a name.
    """
    if isinstance(metrics, (str, Accumulator)) or callable(metrics):
        metrics = [metrics]
    accumulators = []
    for metric in metrics:
        if isinstance(metric, Accumulator):
            accumulators.append(metric)
        elif isinstance(metric, type):
            raise TypeError(f"{metric.__name__} is a class: pass {metric.__name__}()")
        elif callable(metric):
            accumulators.append(FunctionOfMaps(metric))
        elif metric in (by_name := metrics_by_name()):
            accumulators.append(by_name[metric]())
        else:
            raise ValueError(f"there is no metric {metric!r}: {_advice_on(metric, by_name)}")
    names = [accumulator.name for accumulator in accumulators]
    if not accumulators or len(set(names)) < len(names):
        raise ValueError(f"metrics must be one or more, each requested once, got {names}")
    return accumulators


def _advice_on(name: object, names: Iterable[str]) -> str:
    """Return the advice of an error about an unknown metric."""
    words = str(name).lower().replace("_", " ").strip("[] ")
    for part, metric in _METRIC_OF.items():
        if part in words.split():
            return f"{metric!r} has this number next to others"
    return among(name, names)


@cache
def metrics_by_name() -> dict[str, Callable[[], Accumulator[Any]]]:
    """Return the metrics that `attnwidget.metrics` exports, by name.

    Example:
        >>> from attnwidget.metrics.measure_heads import metrics_by_name
        >>> list(metrics_by_name())[:3]
        ['attention_distance', 'classes', 'confidence']
    """
    # Import here, because the package exports `measure_checkpoints`, which imports this module.
    from attnwidget import metrics

    by_name: dict[str, Callable[[], Accumulator[Any]]] = {
        "classes": metrics.Classes,
        "modalities": metrics.Modalities,
        "roles": metrics.Roles,
        "sinks": metrics.Sinks,
    }
    for exported_name in metrics.__all__:
        metric = getattr(metrics, exported_name)
        if isinstance(metric, type) and issubclass(metric, Accumulator) and hasattr(metric, "name"):
            by_name[metric.name] = metric
    return dict(sorted(by_name.items()))
