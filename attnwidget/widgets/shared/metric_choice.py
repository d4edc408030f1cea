"""Choice of a head metric, by which a figure sorts and filters the heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.tapping.head import Head
from attnwidget.hidden_frames import warn_caller
from attnwidget.text.near_names import among
from attnwidget.text.whole_number import whole_number
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.head_widget import StackShapes
from attnwidget.widgets.shared.metric_table import (
    N_SIMILAR,
    Metrics,
    metrics_to_wire,
    nearest_heads,
    read_metrics,
)
from attnwidget.widgets.shared.metrics_over_training import (
    OverTraining,
    SteppedMetrics,
    read_steps,
    stepped_wire,
    steps_in,
)
from attnwidget.widgets.shared.stack_choice import StackChoice, StackOptions
from attnwidget.widgets.shared.traits import Choice


class MetricOptions(StackOptions, total=False):
    """Options of a figure that shows a metric for each head."""

    step: str | None
    metric: str | None
    sort: Literal["none", "rows", "all"]
    descending: bool
    filter: Sequence[float] | None


class MetricChoice(StackChoice):
    """Figure that shows a metric for each head, and sorts and filters the heads by the metric."""

    metrics = traitlets.Any(
        None,
        help="Numbers per head: arrays [layers, heads] by title, an object with heads() such as "
        "a result of measure(), or a mapping from stacks to either. A result of "
        "measure_checkpoints() has numbers for each checkpoint, and `step` selects a checkpoint.",
    )
    step = traitlets.Unicode(
        None,
        allow_none=True,
        help='Selected checkpoint of metrics over training, for example "1000"; None = the last '
        "checkpoint.",
    ).tag(sync=True, option=True)
    metric = traitlets.Unicode(
        None, allow_none=True, help="Title of the metric that is shown for each head, or None."
    ).tag(sync=True, option=True, of_metric=True)
    sort = Choice(
        ["none", "rows", "all"],
        "none",
        help='Sorting by the metric: "rows" = the heads of each layer, "all" = the heads of all '
        "layers.",
    ).tag(sync=True, option=True, of_metric=True)
    descending = traitlets.Bool(True, help="Whether to sort in descending order.").tag(
        sync=True, option=True, of_metric=True
    )
    filter = traitlets.Any(
        None,
        help="Range of the metric, with both ends included: heads outside the range are dimmed. "
        "None = no filter. A change of `metric` sets None.",
    ).tag(
        sync=True,
        option=True,
        of_metric=True,
        set_last=True,
        takes="(smallest, largest) such as (0.5, 1.0), or None",
    )

    # Caption note about dropped metrics of another model, until the attention changes again.
    _left_out = traitlets.Unicode()

    @traitlets.validate("metrics")
    def _check_metrics(self, proposal: dict[str, Any]) -> dict[str, Metrics]:
        return checked_metrics(proposal["value"], self.shapes())

    @traitlets.validate("metric")
    def _check_metric(self, proposal: dict[str, Any]) -> str | None:
        title = proposal["value"]
        titles = list(dict.fromkeys(t for metrics in self._measured.values() for t in metrics))
        if title is None or title in titles:
            return title
        if not titles:
            raise traitlets.TraitError(
                f"'metric' is {title!r}, but there are no metrics: pass them too, for example "
                "metrics=measure_attention(attention, ['entropy'])"
            )
        raise traitlets.TraitError(f"there is no 'metric' {title!r}: {among(title, titles)}")

    @traitlets.validate("step")
    def _check_step(self, proposal: dict[str, Any]) -> str | None:
        step: str | None = proposal["value"]
        labels = steps_in(self.metrics)
        if step is None or step in labels:
            return step
        allowed = (
            f"one of {', '.join(map(repr, labels))}" if labels else "None: no metric has steps"
        )
        raise traitlets.TraitError(f"'step' must be {allowed}, got {step!r}")

    @traitlets.validate("filter")
    def _check_filter(self, proposal: dict[str, Any]) -> tuple[float, float] | None:
        if proposal["value"] is None:
            return None
        try:
            low, high = (float(x) for x in proposal["value"])
        except (TypeError, ValueError):
            low = np.nan
            high = np.nan
        if not low <= high:
            raise traitlets.TraitError(
                "'filter' is None or (smallest, largest) such as (0.5, 1.0), got "
                f"{proposal['value']!r}"
            )
        if self.metric is None:
            raise traitlets.TraitError("'filter' is a range of a metric: choose `metric` first")
        return low, high

    @property
    def _measured(self) -> dict[str, Metrics]:
        if isinstance(self.metrics, SteppedMetrics):
            return self.metrics.at(self.step)
        return self.metrics or {}

    @property
    def _values(self) -> NDArray[np.float64] | None:
        """Chosen metric of the current stack, [L, H]; None if the stack does not have it."""
        titles = self._measured.get(self._stepped_stack(), {})
        return titles.get(self.metric) if self.metric is not None else None

    @property
    def passing(self) -> list[Head]:
        """Heads of the current stack that pass the filter, by layer; all heads if it is None."""
        stack = self._stepped_stack()
        values = self._values
        if values is None or self.filter is None:
            passes = np.ones(self.shapes()[stack], dtype=bool)
            passes[list(self._layers(stack).layers_without_attention)] = False
        else:
            # Compare in float32 like the page, so that both get the same heads.
            low, high = map(np.float32, self.filter)
            passes = (values.astype(np.float32) >= low) & (values.astype(np.float32) <= high)
        return [Head(int(layer), int(head), stack) for layer, head in np.argwhere(passes)]

    def similar(self, head: Head | Sequence[Any] | None = None, top: int = N_SIMILAR) -> list[Head]:
        """Return the heads whose metrics are most similar to a head's metrics, nearest first.

        The distance is Euclidean over all metrics, each standardized over the heads of the stack.

        Args:
            head: Head to compare with; default: the last selected head.
            top: Number of heads to return.

        Raises:
            ValueError: If there is no such head, no head is selected, its stack has no metrics, or
                `top` is below 1.
        """
        head_name = self.head if head is None else head
        if head_name is None:
            raise ValueError("no head is selected: pass one, similar((layer, head))")
        target = self._find_head(head_name)
        metrics = self._measured.get(target.stack)
        if not metrics:
            raise ValueError(
                f"there are no metrics for {target.stack!r} to compare heads by: assign `metrics`"
            )
        top = whole_number("top", top, 1)
        _, n_heads = self.shapes()[target.stack]
        nearest = nearest_heads(metrics, top)[target.layer * n_heads + target.head]
        return [Head(*divmod(int(index), n_heads), target.stack) for index in nearest]

    @traitlets.observe("metric")
    def _filter_starts_again(self, change: dict[str, Any]) -> None:
        # The filter belongs to the previous metric. If there was none, metric and filter were set
        # together.
        if change["old"] is not None:
            self.filter = None

    @computed("metrics", "step", sync=False)
    def _shown_metrics(self) -> dict[str, Metrics]:
        return self._measured

    @computed("_shown_metrics", "stack", page_chooses=("stack", "step"))
    def _metrics(self) -> dict[str, Any] | None:
        """Metrics of the current stack for the page; None without metrics."""
        return self._metrics_wire(self._shown_metrics, self.stack, self.step)

    @computed("metrics")
    def _steps(self) -> list[str]:
        return steps_in(self.metrics)

    def _metrics_wire(
        self, metrics: dict[str, Metrics], stack: str, step: str | None
    ) -> dict[str, Any] | None:
        """Return the metrics of a stack at a checkpoint, for the page."""
        wire = metrics_to_wire(metrics, stack)
        return stepped_wire(wire, self.metrics, step or next(reversed(steps_in(self.metrics)), ""))

    @when_open("metrics")
    def _leave_missing_step(self, change: object) -> None:
        if self.step not in steps_in(self.metrics):
            self.step = None

    @when_open("_shown_metrics")
    def _choose_existing_metric(self, change: object) -> None:
        if not any(self.metric in titles for titles in self._shown_metrics.values()):
            self.metric = None

    @computed("attention", "_left_out")
    def _source(self) -> dict[str, Any]:
        about = self._about()
        return about | {"note": " · ".join(filter(None, [about["note"], self._left_out]))}

    @when_open("attention")
    def _drop_unfitting_metrics(self, change: object) -> None:
        """Drop metrics whose shape does not fit the new model, with a warning."""
        self._left_out = ""
        shapes = self.shapes()
        dropped = {
            stack: titles
            for stack, titles in self.metrics.items()
            if any(values.shape != shapes.get(stack) for values in titles.values())
        }
        if not dropped:
            return
        description = "; ".join(
            _unfitting(stack, titles, shapes) for stack, titles in dropped.items()
        )
        warn_caller(
            f"{type(self).__name__} leaves out {description}. Assign `metrics` of the new model",
        )
        titles_text = ", ".join(title for titles in dropped.values() for title in titles)
        self._left_out = f"left out, of another model: {titles_text}"
        self.metrics = {
            stack: titles for stack, titles in self.metrics.items() if stack not in dropped
        }


def _unfitting(stack: str, titles: Metrics, shapes: StackShapes) -> str:
    """Return a description of a stack's metrics with the reason why they do not fit."""
    names = ", ".join(map(repr, titles))
    shape = list(next(iter(titles.values())).shape)
    if stack not in shapes:
        return f"the metrics {names} of {stack!r}: the attention has no such stack"
    expected = list(shapes[stack])
    return f"the metrics {names}: they are {shape}, {stack!r} has {expected} = [layers, heads]"


def checked_metrics(metrics: object, shapes: StackShapes) -> dict[str, Metrics]:
    """Return metrics by stack and title, or raise TraitError.

    Args:
        metrics: Value that the user passed; None = no metrics.
        shapes: Shapes of the figure's stacks.
    """
    if metrics is None:
        return {}
    try:
        if isinstance(metrics, SteppedMetrics):
            read_metrics(metrics, shapes)
            return metrics
        if isinstance(metrics, OverTraining):
            return read_steps(metrics, shapes)
        return read_metrics(metrics, shapes)
    except (TypeError, ValueError) as error:
        raise traitlets.TraitError(str(error)) from None
