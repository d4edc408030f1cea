"""The picture of a MetricStrip: the shown head's numbers among those of all heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnwidget.figures.caption import Caption
from attnwidget.figures.metric_strip import metric_strip
from attnwidget.figures.theme import theme_named
from attnwidget.widgets.pictures.facts import NO_HEAD, one_head

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.widgets.exporting import ThemeName
    from attnwidget.widgets.metric_strip import MetricStrip

_MOST_ROWS = 20
_MEANING = "percentile: the share of the other heads with a smaller value, ties by half"


def figure(widget: MetricStrip, *, width: int | None, theme: ThemeName) -> alt.LayerChart:
    """The table with its strips, as it is shown now."""
    head = widget.head
    titles = widget.metrics[head.stack] if head else {}
    marked = []
    if head:
        _, n_heads = widget._shapes()[head.stack]
        same = [other for other in widget.selected if other.stack == head.stack]
        marked = [layer * n_heads + number for layer, number, _ in same]
    return metric_strip(
        widget.to_frame(),
        [values.ravel() for values in titles.values()],
        marked=marked,
        head=f"{head} · {head.paper_name}" if head else "",
        title="Metrics of one head among all",
        width=width,
        theme=theme_named(theme),
    )


def caption(widget: MetricStrip) -> Caption:
    """What the strip shows now, in words."""
    head = widget.head
    if head is None:
        return Caption("Metrics of one head", head=NO_HEAD)
    titles = widget.metrics[head.stack]
    count = next(iter(titles.values())).size
    same = sum(other.stack == head.stack for other in widget.selected)
    rows = f"table: the first {_MOST_ROWS} of {len(titles)} metrics"
    return Caption(
        "Metrics of one head",
        head=one_head(head),
        quantity=f"{len(titles)} metric{'s' * (len(titles) != 1)}",
        scale="each strip from the smallest value to the largest",
        notes=(
            f"{count:,} heads",
            _MEANING,
            *([f"{same} selected heads are marked"] if same > 1 else []),
            *([rows] if len(titles) > _MOST_ROWS else []),
        ),
    )


def table(widget: MetricStrip) -> pd.DataFrame:
    """The first rows of `to_frame`."""
    return widget.to_frame().head(_MOST_ROWS)
