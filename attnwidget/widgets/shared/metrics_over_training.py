"""Metrics of heads at all checkpoints of a training. A figure shows one checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from attnwidget.widgets.shared.head_widget import StackShapes
from attnwidget.widgets.shared.metric_table import Metrics, read_metrics


@runtime_checkable
class OverTraining(Protocol):
    """Numbers of every head at each checkpoint, as `measure_checkpoints` returns them."""

    checkpoints: tuple[str, ...]

    def heads(self, checkpoint: str | int | None = None) -> Mapping[str, ArrayLike]:
        """Arrays [L, H] by title for one checkpoint; None = the last."""
        ...


class SteppedMetrics(dict[str, Metrics]):
    """Metrics by stack and title of the last checkpoint, and of all checkpoints in `by_step`."""

    def __init__(self, by_step: Mapping[str, dict[str, Metrics]]) -> None:
        super().__init__(by_step[list(by_step)[-1]])
        self.by_step = by_step

    def at(self, step: str | None) -> dict[str, Metrics]:
        """Return the metrics of a checkpoint; None = the last."""
        return dict(self) if step is None else self.by_step[step]

    def ranges(self, stack: str, titles: list[str]) -> list[list[float]]:
        """Return the smallest and the largest value of each metric over all checkpoints."""
        ends = []
        for title in titles:
            values = np.stack([step[stack][title] for step in self.by_step.values()])
            values = values.astype(np.float32)
            ends.append([float(np.nanmin(values)), float(np.nanmax(values))])
        return ends


def steps_in(metrics: object) -> list[str]:
    """Return the labels of the checkpoints of metrics; empty if they belong to a single model."""
    return list(metrics.by_step) if isinstance(metrics, SteppedMetrics) else []


@dataclass(frozen=True)
class _AtCheckpoint:
    """The numbers of one checkpoint, as a result of a measurement."""

    training: OverTraining
    checkpoint: str

    def heads(self) -> Mapping[str, ArrayLike]:
        return self.training.heads(self.checkpoint)


def read_steps(metrics: OverTraining, shapes: StackShapes) -> SteppedMetrics:
    """Return metrics over a training by checkpoint, stack and title.

    A metric without a number at one of the checkpoints is left out.

    Raises:
        ValueError: The result has other numbers of layers and heads than the figure.
    """
    by_step = {
        label: read_metrics(_AtCheckpoint(metrics, label), shapes) for label in metrics.checkpoints
    }
    common = [
        {(stack, title) for stack, titles in step.items() for title in titles}
        for step in by_step.values()
    ]
    kept = set.intersection(*common)
    return SteppedMetrics(
        {
            label: {
                stack: {title: v for title, v in titles.items() if (stack, title) in kept}
                for stack, titles in step.items()
            }
            for label, step in by_step.items()
        }
    )


def stepped_wire(wire: dict[str, Any] | None, metrics: object, step: str) -> dict[str, Any] | None:
    """Return the metrics of a checkpoint for the page, with their ranges over all checkpoints.

    Metrics that are not over a training stay as they are.
    """
    if wire is None or not isinstance(metrics, SteppedMetrics):
        return wire
    return wire | {"step": step, "ranges": metrics.ranges(wire["stack"], wire["titles"])}
