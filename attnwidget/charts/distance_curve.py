"""Curve of a value over distances between query and key."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import HEIGHT, LIGHT, WIDTH, fitted, publication


def distance_curve(
    frame: pd.DataFrame, *, title: str, value_title: str, marked: float, width: int = WIDTH
) -> alt.LayerChart:
    """Draw a curve over distances, with a vertical line at one distance.

    Args:
        frame: Table with the columns x, the distance in tokens, and value.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit.
        marked: Distance of the vertical line.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing, or if a value is infinite.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.distance_curve import distance_curve
        >>> frame = pd.DataFrame({"x": [1, 2], "value": [0.5, 0.2]})
        >>> len(distance_curve(frame, title="Weight", value_title="weight", marked=1).layer)
        2
    """
    table = checked(frame, ["x", "value"], "distance_curve")
    base = alt.Chart(inline(table)).encode(
        x=alt.X("x:Q", title="distance from query back to key (tokens)"),
        y=alt.Y("value:Q", title=value_title, axis=alt.Axis(grid=True)),
        tooltip=[
            alt.Tooltip("x:Q", title="distance", format=NUMBER),
            alt.Tooltip("value:Q", title=value_title, format=NUMBER),
        ],
    )
    point = len(table) <= 60
    curve = base.mark_line(color=LIGHT.series[0], point={"color": LIGHT.series[0]} if point else {})
    marker = alt.Chart(inline(pd.DataFrame({"x": [marked]}))).mark_rule(
        color=LIGHT.rest, strokeDash=[4, 3]
    )
    chart = alt.LayerChart(layer=[marker.encode(x="x:Q"), curve])
    return offline(publication(fitted(chart, width, HEIGHT), title, width))
