"""Head metrics at all training checkpoints; a figure shows one checkpoint at a time."""

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
    """Numbers per head at each checkpoint, such as a result of `measure_checkpoints`."""

    checkpoints: tuple[str, ...]

    def heads(self, checkpoint: str | int | None = None) -> Mapping[str, ArrayLike]:
        """Return arrays [L, H] by title at a checkpoint; None = the last checkpoint."""
        ...


class SteppedMetrics(dict[str, Metrics]):
    """Metrics of the last checkpoint by stack and title; `by_step` has all checkpoints."""

    def __init__(self, by_step: Mapping[str, dict[str, Metrics]]) -> None:
        super().__init__(by_step[list(by_step)[-1]])
        self.by_step = by_step

    def at(self, step: str | None) -> dict[str, Metrics]:
        """Return the metrics of a checkpoint; None = the last checkpoint."""
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
    """Return the checkpoint labels of metrics; [] for metrics of a single model."""
    return list(metrics.by_step) if isinstance(metrics, SteppedMetrics) else []


@dataclass(frozen=True)
class _AtCheckpoint:
    """Numbers of one checkpoint as a measurement result."""

    training: OverTraining
    checkpoint: str

    def heads(self) -> Mapping[str, ArrayLike]:
        return self.training.heads(self.checkpoint)


def read_steps(metrics: OverTraining, shapes: StackShapes) -> SteppedMetrics:
    """Return metrics over training by checkpoint, stack and title.

    A metric that is missing at any checkpoint is left out.

    Args:
        metrics: Numbers of all checkpoints.
        shapes: Shapes of the figure's stacks.

    Raises:
        ValueError: If the numbers of layers and heads differ from those of the figure.
    """
    by_step = {
        label: read_metrics(_AtCheckpoint(metrics, label), shapes) for label in metrics.checkpoints
    }
    common = [
        {(stack, title) for stack, titles in step.items() for title in titles}
        for step in by_step.values()
    ]
    in_all_steps = set.intersection(*common)
    return SteppedMetrics(
        {
            label: {
                stack: {title: v for title, v in titles.items() if (stack, title) in in_all_steps}
                for stack, titles in step.items()
            }
            for label, step in by_step.items()
        }
    )


def stepped_wire(wire: dict[str, Any] | None, metrics: object, step: str) -> dict[str, Any] | None:
    """Add the checkpoint and the ranges over all checkpoints to the page data of metrics.

    Args:
        wire: Page data of the metrics; None = no metrics.
        metrics: Metrics of the figure. Metrics of a single model are returned unchanged.
        step: Label of the checkpoint.
    """
    if wire is None or not isinstance(metrics, SteppedMetrics):
        return wire
    return wire | {"step": step, "ranges": metrics.ranges(wire["stack"], wire["titles"])}
