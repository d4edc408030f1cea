"""Curves of attention shares over chat turns."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import (
    REST,
    colors,
    dashes,
    legend_columns,
    ordered,
    shapes,
)
from attnwidget.charts.theme import HEIGHT, WIDTH, fitted, publication

_DASHED = [4, 3]


def turn_curves(
    frame: pd.DataFrame, *, title: str, value_title: str, width: int = WIDTH
) -> alt.LayerChart:
    """Draw one line per series over the turns of chats; "even attention" is dashed and gray.

    Args:
        frame: Table with the columns turn (number of the message, from 0), series and value, a
            fraction.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing, if a turn is not a number, or if there
            are more series than colors.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.turn_curves import turn_curves
        >>> frame = pd.DataFrame({"turn": [2, 4], "series": "L0 H1", "value": [0.3, 0.2]})
        >>> len(turn_curves(frame, title="System prompt", value_title="share").layer)
        2
    """
    table = checked(frame.rename(columns={"turn": "x"}), ["x", "series", "value"], "turn_curves")
    names = ordered(table["series"])
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=legend_columns(names, width),
    )
    solid = dashes(names).range
    strokes = [_DASHED if name in REST else dash for name, dash in zip(names, solid, strict=True)]
    largest = max(1e-9, float(table["value"].max()))
    base = alt.Chart(inline(table)).encode(
        x=alt.X(
            "x:Q",
            title="turn of the query (number of the message, from 0)",
            axis=alt.Axis(tickMinStep=1, format="d"),
            scale=alt.Scale(nice=False, zero=False, padding=8),
        ),
        y=alt.Y(
            "value:Q",
            title=value_title,
            axis=alt.Axis(format="%", grid=True),
            scale=alt.Scale(domain=[0, largest], nice=True),
        ),
        color=alt.Color("series:N", scale=colors(names, "turn_curves", lines=True), legend=legend),
        tooltip=[
            alt.Tooltip("series:N", title="line"),
            alt.Tooltip("x:Q", title="turn"),
            alt.Tooltip("value:Q", title=value_title, format=NUMBER),
        ],
    )
    lines = base.mark_line(strokeWidth=1.5).encode(
        strokeDash=alt.StrokeDash(
            "series:N", scale=alt.Scale(domain=names, range=strokes), legend=legend
        )
    )
    points = base.mark_point(filled=True, size=30, opacity=1).encode(
        shape=alt.Shape("series:N", scale=shapes(names), legend=legend)
    )
    chart = alt.LayerChart(layer=[lines, points])
    return offline(publication(fitted(chart, width, HEIGHT), title, width))
