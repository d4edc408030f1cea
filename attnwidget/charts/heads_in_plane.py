"""Heads in the plane, near where they attend alike."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline, row_names
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import colours, legend_columns, ordered
from attnwidget.charts.theme import LABEL, LIGHT, PADDING, WIDTH, publication


def heads_in_plane(frame: pd.DataFrame, *, color: str, title: str, width: int = WIDTH) -> alt.Chart:
    """Draw heads at given positions by the numbers of their layers: Clark et al., Figure 6.

    Only distances have a meaning: the axes of multidimensional scaling have no unit and no
    direction, so the axes are hidden, and both directions have the same scale.

    Args:
        frame: columns layer and head (from 0), x, y, and the one that `color` names.
        color: "layer", or a column of at most 6 names beside "other", which is grey.
        title: what is shown; further lines become the subtitle.
        width: pixels of the whole figure.

    Raises:
        ValueError: a column or every position is missing, or the groups outnumber the colours.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.heads_in_plane import heads_in_plane
        >>> frame = pd.DataFrame(
        ...     {"layer": [0, 0], "head": [0, 1], "x": [0, 1], "y": [1, 0], "does": ["a", "b"]}
        ... )
        >>> heads_in_plane(frame, color="does", title="Two heads").mark.type
        'text'
    """
    table = checked(
        frame, list(dict.fromkeys(["layer", "head", "x", "y", color])), "heads_in_plane"
    )
    rows = table.assign(name=row_names(table), group=table[color])
    plot = width - 2 * PADDING
    x, y, height = _places(table, plot)
    chart = alt.Chart(inline(rows)).mark_text(fontSize=LABEL, fontWeight=600)
    chart = chart.encode(
        x=x,
        y=y,
        text="layer:N",
        color=_layers(table) if color == "layer" else _groups(table[color], width),
        tooltip=[alt.Tooltip("name:N", title="head")]
        + ([alt.Tooltip("group:N", title=color)] if color != "layer" else []),
    )
    chart = chart.properties(width=plot, height=height)
    return offline(
        publication(chart, f"{title}\nEach number is a head, written as its layer", width)
    )


def _places(table: pd.DataFrame, width: int) -> tuple[alt.X, alt.Y, int]:
    """Both axes and the figure's height, a unit of the plane being as long up as across."""
    low = table[["x", "y"]].min()
    high = table[["x", "y"]].max()
    across, up = (high - low).tolist()
    height = width * min(max(up / across if across else 1.0, 0.4), 0.8)
    unit = 1.1 * max(across / width, up / height) or 1.0  # of the plane, in a pixel
    middle = (low + high) / 2
    reach = pd.Series({"x": width, "y": height}) * unit / 2
    scales = {
        axis: alt.Scale(domain=[middle[axis] - reach[axis], middle[axis] + reach[axis]], nice=False)
        for axis in ("x", "y")
    }
    x = alt.X("x:Q", axis=None, scale=scales["x"])
    return x, alt.Y("y:Q", axis=None, scale=scales["y"]), round(height)


def _layers(table: pd.DataFrame) -> alt.Color:
    last = max(1, int(table["layer"].max()))
    anchors = LIGHT.layers
    scale = alt.Scale(
        domain=[last * i / (len(anchors) - 1) for i in range(len(anchors))],
        range=list(anchors),
        interpolate="rgb",
    )
    return alt.Color("layer:Q", scale=scale, legend=None)


def _groups(column: pd.Series[str], width: int) -> alt.Color:
    names = ordered(column)
    legend = alt.Legend(
        title=None, symbolType="circle", orient="bottom", columns=legend_columns(names, width)
    )
    return alt.Color("group:N", scale=colours(names, "heads_in_plane"), legend=legend)
