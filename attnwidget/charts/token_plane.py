"""Scatter plot of a head's queries and keys in one plane."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LABEL, LIGHT, WIDTH, panel_width, publication
from attnwidget.text.xml_text import xml_texts

_LABELLED = 60
_AXIS = 60
"""Width of an axis in pixels."""


def token_plane(frame: pd.DataFrame, *, title: str, width: int = WIDTH) -> alt.LayerChart:
    """Draw queries and keys as labeled points; the inner product of two points is a score.

    Args:
        frame: Table with the columns side ("query" or "key"), token, x and y.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every position is missing, or if a position is infinite.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.token_plane import token_plane
        >>> frame = pd.DataFrame({"side": ["query", "key"], "token": ["a", "b"],
        ...                       "x": [0.0, 1.0], "y": [1.0, 0.0]})
        >>> len(token_plane(frame, title="Two tokens").layer)
        2
    """
    table = checked(frame, ["side", "token", "x", "y"], "token_plane")
    table["token"] = xml_texts(table["token"].tolist())
    limit = 1.1 * (float(table[["x", "y"]].abs().to_numpy().max()) or 1.0)
    scale = alt.Scale(domain=[-limit, limit], nice=False)
    sides = ["query", "key"]
    base = alt.Chart(inline(table)).encode(
        x=alt.X("x:Q", scale=scale, title="first axis", axis=alt.Axis(grid=True)),
        y=alt.Y("y:Q", scale=scale, title="second axis", axis=alt.Axis(grid=True)),
        color=alt.Color(
            "side:N",
            title=None,
            legend=alt.Legend(orient="top", direction="horizontal"),
            scale=alt.Scale(domain=sides, range=[LIGHT.series[0], LIGHT.series[1]]),
        ),
        tooltip=["side:N", "token:N"],
    )
    shape = alt.Shape("side:N", scale=alt.Scale(domain=sides, range=["circle", "square"]))
    chart_layers = [base.mark_point(filled=True, size=40, opacity=0.85).encode(shape=shape)]
    if len(table) <= _LABELLED:
        chart_layers.append(
            base.mark_text(align="left", dx=6, fontSize=LABEL).encode(text="token:N")
        )
    side = panel_width(width, 1, gap=0, axis=_AXIS)
    chart = alt.LayerChart(layer=chart_layers).properties(width=side, height=side)
    return offline(publication(chart, title, width))
