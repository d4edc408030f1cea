"""What a page without a kernel holds of a MetricStrip."""

from __future__ import annotations

from attnwidget.widgets.metric_strip.widget import MetricStrip
from attnwidget.widgets.pages.encoding import readable, state_of
from attnwidget.widgets.pages.page_part import Page, Part
from attnwidget.widgets.shared.metric_table import metrics_to_wire


def page(strip: MetricStrip) -> Page:
    """The metrics of every stack."""
    metrics = strip.metrics
    part = Part(
        title="Metrics of attention heads",
        state=state_of(strip, without=("_metrics",)),
        shapes=strip._shapes(),
        own={"metrics": [readable(metrics_to_wire(metrics, stack)) for stack in metrics]},
    )
    return Page({"metric_strip": part})
