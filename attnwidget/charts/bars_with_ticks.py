"""Bars of shares with intervals, and a tick per bar for a published value."""

from __future__ import annotations

from collections.abc import Collection

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LABEL, LIGHT, WIDTH, fitted, publication

_ROW = 24
"""Height of a row in pixels."""
_TICK = "M0,-1V1"
"""SVG path of a vertical stroke."""


def bars_with_ticks(
    frame: pd.DataFrame,
    *,
    title: str,
    value_title: str,
    tick_title: str,
    emphasized: Collection[str] = (),
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw one bar per predictor with its interval, and a tick for the published value.

    Args:
        frame: Table in drawing order with the columns predictor, value, low, high and tick, shares
            from 0 to 1; tick is NaN without a published value.
        title: Figure title; further lines become the subtitle.
        value_title: Title of the axis.
        tick_title: Legend of the ticks.
        emphasized: Predictors whose bars have a color; other bars are gray.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.bars_with_ticks import bars_with_ticks
        >>> frame = pd.DataFrame({"predictor": ["attention"], "value": 0.5, "low": 0.4,
        ...                       "high": 0.6, "tick": 0.6})
        >>> chart = bars_with_ticks(frame, title="One", value_title="UAS", tick_title="paper")
        >>> len(chart.layer)
        4
    """
    table = checked(frame, ["predictor", "value", "low", "high"], "bars_with_ticks")
    table = table.astype({"low": float, "high": float})
    ticks = dict(zip(frame["predictor"], frame["tick"].astype(float), strict=True))
    table["tick"] = table["predictor"].map(ticks)
    table["published"] = tick_title
    table["is_emphasized"] = table["predictor"].isin(emphasized)
    names = list(table["predictor"])
    base = alt.Chart(inline(table)).encode(
        y=alt.Y("predictor:N", title=None, sort=names, axis=alt.Axis(labelLimit=180))
    )
    axis = alt.Axis(format="%", grid=True, tickCount=5)
    x = alt.X("value:Q", title=value_title, scale=alt.Scale(domain=[0, 1]), axis=axis)
    color = alt.condition("datum.is_emphasized", alt.value(LIGHT.accent), alt.value(LIGHT.rest))
    tooltip = [
        alt.Tooltip("predictor:N"),
        *(alt.Tooltip(f"{name}:Q", format=".1%") for name in ("value", "low", "high")),
        alt.Tooltip("tick:Q", title=tick_title, format=".0%"),
    ]
    bars = base.mark_bar(height=12).encode(x=x, color=color, tooltip=tooltip)
    intervals = base.mark_rule(color=LIGHT.text, strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    legend = alt.Legend(title=None, orient="top", symbolStrokeWidth=2, symbolSize=120)
    shape = alt.Scale(domain=[tick_title], range=[_TICK])
    strokes = base.transform_filter("isValid(datum.tick)").mark_point(
        size=260, strokeWidth=2, opacity=1, color=LIGHT.second
    )
    strokes = strokes.encode(
        x="tick:Q", shape=alt.Shape("published:N", scale=shape, legend=legend), tooltip=tooltip
    )
    # The numbers are in a column at the end of the plot, where no tick can hide them.
    numbers = base.mark_text(align="left", dx=8, fontSize=LABEL, color=LIGHT.text)
    numbers = numbers.encode(x=alt.value("width"), text=alt.Text("value:Q", format=".1%"))
    chart = alt.LayerChart(layer=[bars, intervals, strokes, numbers])
    return offline(publication(fitted(chart, width, alt.Step(_ROW)), title, width))
