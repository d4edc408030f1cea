"""Metrics of every head over the checkpoints of a training."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnwidget.capture.load import load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.studies.argument_checks import all_of, each_of, each_once, one_of
from attnwidget.studies.metrics.measure import accumulators_of, measure
from attnwidget.studies.streaming.accumulator import Accumulator
from attnwidget.studies.streaming.results import HeadMetrics, HeadResult, Measurements
from attnwidget.studies.streaming.shards import Executor
from attnwidget.text.counted import counted
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_HOW = "checkpoints are models, names, folders, or pairs of a label and one of these"


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredCheckpoints(HeadResult):
    """Metrics of every head at each checkpoint of a training.

    Attributes:
        checkpoints: Labels of the checkpoints, in order.
        measured: Result of `measure` for each checkpoint.
        complete: False if the pass was interrupted before the last checkpoint was measured.
    """

    checkpoints: tuple[str, ...]
    measured: tuple[Measurements, ...]
    complete: bool

    def heads(self, checkpoint: str | None = None) -> HeadMetrics:
        """Return a number per head for a checkpoint, float64 [L, H] by metric title.

        None = the last checkpoint. Raises ValueError if the checkpoint does not exist.
        """
        label = self.checkpoints[-1] if checkpoint is None else checkpoint
        one_of("checkpoint", label, self.checkpoints)
        return self.measured[self.checkpoints.index(label)].heads()

    def to_frame(self) -> pd.DataFrame:
        """Return a table: checkpoint, layer, head, metric, value."""
        import pandas as pd

        frames = []
        for label, measurements in zip(self.checkpoints, self.measured, strict=True):
            frame = measurements.to_frame()
            frame.insert(0, "checkpoint", label)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def chart(self, metric: str | None = None, *, width: int = 640) -> alt.ConcatChart:
        """Draw one metric over the checkpoints: one panel per layer, lines for heads and mean.

        Args:
            metric: One of `heads()`; None = the first.
            width: Pixels of the whole figure.

        Raises:
            ValueError: an unknown metric.
        """
        from attnwidget.charts.training_curves import training_curves

        titles = list(self.heads())
        metric = titles[0] if metric is None else metric
        one_of("metric", metric, titles)
        frame = self.to_frame()
        read = counted(self.measured[0].n_segments, "segment")
        stopped = "" if self.complete else ", interrupted"
        return training_curves(
            frame[frame["metric"] == metric],
            title=f"{metric} over training\n{self._span}, {read}{stopped}",
            value_title=metric,
            width=width,
        )

    @property
    def _span(self) -> str:
        first = self.checkpoints[0]
        last = self.checkpoints[-1]
        return f"{counted(len(self.checkpoints), 'checkpoint')}, {first} to {last}"

    def __repr__(self) -> str:
        stopped = "" if self.complete else ", interrupted"
        return f"MeasuredCheckpoints({self._span}{stopped}: {', '.join(self.measured[0])})"


def measure_checkpoints(
    checkpoints: Iterable[Any],
    segments: Iterable[Segment],
    metrics: Sequence[str | Accumulator[Any]] = ("position", "classes", "entropy", "confidence"),
    *,
    batch_size: int = 8,
    progress: bool = True,
    executor: Executor | None = None,
) -> MeasuredCheckpoints:
    """Measure every head at each checkpoint of a training, over the same segments.

    A checkpoint given by name is loaded for its measurement and released afterwards, so memory
    holds one model at a time. Ctrl-C ends the pass and returns the finished checkpoints.

    Args:
        checkpoints: Models (`load_model`), names or folders for `load_model`, or pairs of a label
            and one of these. The default label is the name from `load_model`.
        segments: Segments made with one of the models (`read_segments`, `make_segments`).
        metrics: As in `measure`; accumulators must be unused.
        batch_size: Number of segments in one pass of a model.
        progress: show a progress bar for each checkpoint.
        executor: Executor whose workers read the segments, as in `measure`.

    Raises:
        TypeError: a checkpoint of another type; `segments` are not segments.
        ValueError: no checkpoint, two checkpoints with the same label, models with different
            numbers of layers or heads, or as `measure`.
        OSError: a checkpoint cannot be loaded.
        WorkersError: as in `measure`.
        KeyboardInterrupt: Ctrl-C before the first checkpoint was done.

    Example:
        >>> from attnwidget import load_model, make_segments, measure_checkpoints
        >>> segments = make_segments(["The cat sat.", "It slept."], load_model())
        >>> steps = [("start", load_model()), ("tuned", "attnwidget/genre")]
        >>> found = measure_checkpoints(steps, segments, ["entropy"], progress=False)
        >>> found
        MeasuredCheckpoints(2 checkpoints, start to tuned: entropy)
        >>> found.heads("start")["entropy"].shape
        (6, 12)
    """
    sources = [_labelled(checkpoint) for checkpoint in each_of(checkpoints, _HOW)]
    labels = each_once("labels of checkpoints", [label for label, _ in sources])
    listed = all_of(Segment, segments, "read segments with read_segments or make_segments")
    accumulators = accumulators_of(metrics)
    measured: list[Measurements] = []
    try:
        for label, source in sources:
            model = source if isinstance(source, AttentionModel) else load_model(source)
            measurements = measure(
                model,
                listed,
                deepcopy(accumulators),
                batch_size=batch_size,
                progress=progress,
                executor=executor,
            )
            if not measurements.complete:
                break
            _check_heads(label, measurements, measured)
            measured.append(measurements)
            del model
    except KeyboardInterrupt:
        pass
    if not measured:
        raise KeyboardInterrupt("interrupted before the first checkpoint was done")
    complete = len(measured) == len(sources)
    return MeasuredCheckpoints(tuple(labels[: len(measured)]), tuple(measured), complete)


def _labelled(entry: Any) -> tuple[str, Any]:
    """Return the label and the source of a checkpoint."""
    label = None
    source = entry
    if isinstance(entry, tuple) and len(entry) == 2:
        label = str(entry[0])
        source = entry[1]
    if isinstance(source, AttentionModel):
        return label or source.name, source
    if isinstance(source, (str, Path)):
        folder = Path(source).is_dir()
        name = Path(os.path.abspath(source)).name if folder else str(source)
        return label or name, source
    raise TypeError(f"got {type(source).__name__} for a checkpoint: {_HOW}")


def _check_heads(label: str, measurements: Measurements, before: Sequence[Measurements]) -> None:
    """Raise ValueError if a checkpoint has a different number of heads than the first."""
    if before and _shapes(measurements) != _shapes(before[0]):
        raise ValueError(
            f"the checkpoint {label!r} and the first checkpoint differ in layers or heads: pass "
            "checkpoints of one training"
        )


def _shapes(measurements: Measurements) -> set[tuple[int, ...]]:
    return {values.shape for values in measurements.heads().values()}
