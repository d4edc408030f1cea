"""MetricStrip: the numbers of one head among all heads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from attnwidget.capture.maps.python_call import YOURS
from attnwidget.text.counted import counted
from attnwidget.widgets.pages.encoding import as_json_value
from attnwidget.widgets.pages.page_part import Part
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.head_widget import HeadWidget, StackShapes
from attnwidget.widgets.shared.metric_table import Metrics, metrics_to_wire, read_metrics

if TYPE_CHECKING:
    import pandas as pd


class MetricStrip(HeadWidget):
    """A table of metrics: the selected head's value, and where it stands among all heads.

    `metrics` is a mapping of titles to arrays [layers, heads], an object with a `heads()` method
    such as the result of `measure`, or a mapping of stack names to either. If linked to a
    `HeadGrid`, `HeadView` or `HeadMap`, the strip shows the head selected there. Raises
    traitlets.TraitError for metrics of a wrong type, of different shapes, or without a finite
    number per head.

    Example:
        >>> import numpy as np
        >>> from attnwidget import MetricStrip
        >>> strip = MetricStrip({"entropy": np.arange(12.0).reshape(3, 4)}, selected=[(2, 1)])
        >>> strip.to_frame()
            metric  value  percentile
        0  entropy    9.0   81.818182
    """

    kind = "metric_strip"
    page_label = "metrics of the head"
    page_title = "Metrics of attention heads"

    metrics = traitlets.Any(help="Metrics, float64 [layers, heads], by stack and title.")

    def __init__(self, metrics: object, **traits: Any) -> None:
        # The heads that can be selected are known by their shapes, before any trait is set.
        super().__init__(metrics=_read(metrics), **traits)

    def _given(self) -> dict[str, Any]:
        return {"metrics": YOURS}

    @traitlets.validate("metrics")
    def _check_metrics(self, proposal: dict[str, Any]) -> dict[str, Metrics]:
        return _read(proposal["value"])

    def shapes(self) -> StackShapes:
        return {
            stack: (int(values.shape[0]), int(values.shape[1]))
            for stack, titles in self.metrics.items()
            for values in titles.values()
        }

    @when_open("metrics")
    def _keep_heads(self, change: object) -> None:
        self._leave_missing_heads()
        self.layer = min(self.layer, self.n_layers - 1)

    @computed("metrics", "selected", sync=False)
    def _stack(self) -> str:
        return self._stepped_stack()

    @computed("metrics", "_stack", page_computes=True)
    def _metrics(self) -> dict[str, Any] | None:
        return metrics_to_wire(self.metrics, self._stack)

    def page_part(self) -> Part:
        """Return the metrics of every stack."""
        metrics = self.metrics
        own = {"metrics": [as_json_value(metrics_to_wire(metrics, stack)) for stack in metrics]}
        return replace(super().page_part(), own=own)

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers of the shown head, a row per metric: metric, value, percentile.

        The percentile is the share of the other heads that have a smaller value, ties by half.
        """
        import pandas as pd

        titles = self.metrics[self.head.stack] if self.head else {}
        at = self.head[:2] if self.head else (0, 0)
        rows = []
        for title, values in titles.items():
            # Layers without attention have no numbers.
            others = np.count_nonzero(~np.isnan(values)) - 1
            below = np.sum(values < values[at]) + (np.sum(values == values[at]) - 1) / 2
            rows.append((title, values[at], 100 * below / others if others else np.nan))
        return pd.DataFrame(rows, columns=["metric", "value", "percentile"])

    def __repr__(self) -> str:
        titles = next(iter(self.metrics.values()))
        return f"MetricStrip({counted(len(titles), 'metric')}, selected: {self.head or 'none'})"


def _read(metrics: object) -> dict[str, Metrics]:
    try:
        tables = read_metrics(metrics)
    except (TypeError, ValueError) as error:
        raise traitlets.TraitError(str(error)) from None
    if not tables:
        raise traitlets.TraitError("no metrics to show: pass at least one array [layers, heads]")
    return tables
