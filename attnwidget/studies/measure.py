"""One pass over segments for any set of metrics: batches in, sums kept, maps forgotten."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnwidget.studies.accumulator import Accumulator
from attnwidget.studies.argument_checks import refuse_no_model
from attnwidget.studies.attention_reader import read_attention
from attnwidget.studies.attention_to_classes import Classes
from attnwidget.studies.batches import TokenTypes, batched
from attnwidget.studies.checkpoint import Checkpoint, Progress
from attnwidget.studies.entropy import Confidence, Entropy
from attnwidget.studies.gradients import Gradients
from attnwidget.studies.head_distances import Distances
from attnwidget.studies.induction import Induction
from attnwidget.studies.model_reader import ModelReader
from attnwidget.studies.norms import Norms
from attnwidget.studies.patterns import Patterns
from attnwidget.studies.position import Position
from attnwidget.studies.progress_bar import progress_bar
from attnwidget.studies.results import Measurements
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    from attnwidget.capture.attention import Attention
    from attnwidget.capture.model import AttentionModel

# Metrics that can be asked for by name, and the accumulator of each.
METRICS: dict[str, type[Accumulator[Any]]] = {
    one.name: one
    for one in (
        Position,
        Classes,
        Entropy,
        Confidence,
        Norms,
        Gradients,
        Patterns,
        Distances,
        Induction,
    )
}
_SECONDS_BETWEEN_SAVES = 5.0


def measure(
    model: AttentionModel,
    segments: Iterable[Segment],
    metrics: Sequence[str | Accumulator[Any]] = ("position", "classes", "entropy", "confidence"),
    *,
    batch_size: int = 8,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    token_types: TokenTypes = None,
) -> Measurements:
    """Measure every head of a model over segments, in one pass.

    Only one layer's maps are alive at a time, so that memory does not grow with the segments.
    Segments of similar length share a batch; padding changes no number beyond 1e-6. An
    encoder-decoder is measured in its encoder. Ctrl-C ends the pass and returns what is done.

    Args:
        model: what `load_model` gave.
        segments: cut with this model (`read_segments`, `make_segments`); an iterator is read as the
            pass goes on.
        metrics: names ("position", "classes", "entropy", "confidence", "norms", "gradients",
            "patterns", "distances", "induction"), or accumulators with options of their own.
        batch_size: segments that go through the model together.
        checkpoint: an .npz file that keeps the sums. Where it exists already, the pass goes on
            after its last batch, with the same result to the last bit.
        progress: show a progress bar.
        token_types: "zero" gives both texts of a pair the type 0, which makes Clark et al.'s maps;
            None leaves them as the tokenizer has them.

    Raises:
        ValueError: an unknown metric or one asked for twice, no segments, a segment of another
            model or too long for this one, a model whose maps padding changes, a checkpoint of
            another study.
        RuntimeError: the model was closed.
        KeyboardInterrupt: before the first batch was done.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.measure import measure
        >>> from attnwidget.studies.segmenting import make_segments
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat.", "It slept."], model)
        >>> measure(model, segments, ["entropy", "position"], progress=False)
        Measurements(small BERT (in the package), 2 segments: entropy, position)
    """
    refuse_no_model(model)
    accumulators = accumulators_of(metrics)
    reader = ModelReader(model, accumulators, token_types)
    done, complete = read_all(
        reader, segments, batch_size=batch_size, checkpoint=checkpoint, progress=progress
    )
    return Measurements(
        {one.name: one.compute() for one in accumulators},
        n_segments=done.n_segments,
        complete=complete,
        model_name=model.name,
        stack=accumulators[0].stack,
    )


def measure_attention(
    attention: Attention,
    metrics: Sequence[str | Accumulator[Any]] = ("position", "classes", "entropy", "confidence"),
    *,
    stack: str | None = None,
) -> Measurements:
    """Measure every head over the one input of an `Attention`, without running a model.

    The numbers are those of `measure` over the same text alone.

    Args:
        attention: of the input.
        metrics: as in `measure`, but for "norms" and "gradients", which maps alone do not tell.
        stack: where there are several, the one to measure; not "cross".

    Raises:
        ValueError: an unknown metric, one asked for twice or one that needs a model; no such stack,
            or one that attends to another's tokens.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.measure import measure_attention
        >>> measure_attention(load_model().attend("The cat sat."), ["entropy", "position"])
        Measurements(small BERT (in the package), 1 segment: entropy, position)
    """
    accumulators = accumulators_of(metrics)
    read_attention(attention, accumulators, stack=stack)
    return Measurements(
        {one.name: one.compute() for one in accumulators},
        n_segments=1,
        complete=True,
        model_name=attention.model_name,
        stack=accumulators[0].stack,
    )


def read_all(
    reader: ModelReader,
    segments: Iterable[Segment],
    *,
    batch_size: int,
    checkpoint: str | Path | None,
    progress: bool,
) -> tuple[Progress, bool]:
    """Read all segments, batch after batch, into the reader's accumulators.

    Arguments and errors are those of `measure`. Returns how far it came, and whether that is all.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size is at least 1, got {batch_size}")
    n_segments = len(segments) if isinstance(segments, Sequence) else None
    batches = batched(segments, batch_size)
    first = next(batches, None)
    if first is None:
        raise ValueError("there are no segments to measure")
    reader.start(first[0])
    batches = chain([first], batches)
    done, file = Progress(), None
    if checkpoint is not None:
        file = Checkpoint(checkpoint, {"batch_size": batch_size, **reader.about()})
        done = file.load()
        _skip(batches, done, file.path)
        reader.restore(done.states)
    saved, saved_at, complete = done, time.monotonic(), False
    try:
        with progress_bar(n_segments, "segment", done=done.n_segments, shown=progress) as bar:
            for batch in batches:
                reader.add(batch)
                done = done.after(batch, reader.states())
                bar.update(len(batch))
                if file is not None and time.monotonic() - saved_at > _SECONDS_BETWEEN_SAVES:
                    file.save(done)
                    saved, saved_at = done, time.monotonic()
        complete = True
    except KeyboardInterrupt:
        if not done.n_batches:
            raise
        reader.restore(done.states)  # the batch that was cut short has left layers in the sums
    if file is not None and saved is not done:
        file.save(done)
    return done, complete


def accumulators_of(metrics: Sequence[str | Accumulator[Any]]) -> list[Accumulator[Any]]:
    """The accumulator of each metric, by its name or given.

    Raises:
        ValueError: an unknown metric, one asked for twice, or none.
    """
    if isinstance(metrics, (str, Accumulator)):
        metrics = [metrics]
    made = []
    for metric in metrics:
        if isinstance(metric, Accumulator):
            made.append(metric)
        elif metric in METRICS:
            made.append(METRICS[metric]())
        else:
            raise ValueError(f"there is no metric {metric!r}: choose among {', '.join(METRICS)}")
    names = [one.name for one in made]
    if not made or len(set(names)) < len(names):
        raise ValueError(f"metrics are one or more, each asked for once, got {names}")
    return made


def _skip(batches: Iterator[list[Segment]], done: Progress, path: Path) -> None:
    """Pass over what the checkpoint holds already."""
    again = Progress()
    for batch in islice(batches, done.n_batches):
        again = again.after(batch)
    if (again.n_batches, again.digest) != (done.n_batches, done.digest):
        raise ValueError(
            f"{path} holds {done.n_segments} other segments than the first ones given: pass the "
            "same segments in the same order, or remove the file to start over"
        )
