"""Heads in the plane, near where they attend alike."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnwidget.charts.frame_columns import checked, inline, row_names
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import colors, legend_columns, ordered
from attnwidget.charts.theme import LABEL, LIGHT, PADDING, WIDTH, publication, text_width

_ROUNDS = 80
_GAP = 1.0
"""Pixels between two labels."""


def spread_in_plane(
    places: NDArray[np.float64], sizes: NDArray[np.float64], *, most: float
) -> NDArray[np.float64]:
    """Return places of labels that touch less: pairs that overlap move apart, half each.

    Args:
        places: Middles of the labels in pixels, [N, 2].
        sizes: Widths and heights of the labels in pixels, [N, 2].
        most: Pixels that a label moves at most; in dense places labels can still touch.

    Returns:
        Float64 [N, 2]. Labels without an overlap keep their places.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.heads_in_plane import spread_in_plane
        >>> places = np.array([[0.0, 0.0], [4.0, 0.0], [50.0, 0.0]])
        >>> spread_in_plane(places, np.full((3, 2), 9.0), most=8)
        array([[-3.,  0.],
               [ 7.,  0.],
               [50.,  0.]])
    """
    now = places.astype(np.float64, copy=True)
    needed = (sizes[:, None] + sizes[None]) / 2 + _GAP
    # Labels at one point move apart in the order of their rows.
    order = np.sign(np.arange(len(now))[:, None] - np.arange(len(now))[None]).astype(np.float64)
    for _ in range(_ROUNDS):
        apart = now[:, None] - now[None]
        overlap = needed - np.abs(apart)
        touches: NDArray[np.bool_] = np.all(overlap > 1e-9, axis=-1)
        np.fill_diagonal(touches, False)
        if not touches.any():
            break
        is_across = overlap[..., 0] <= overlap[..., 1]
        way = np.where(apart == 0, order[..., None], np.sign(apart))
        step = np.where(touches[..., None], way * overlap / 2, 0.0)
        step[..., 0] *= is_across
        step[..., 1] *= ~is_across
        moved = now + step.sum(1) / np.maximum(1, touches.sum(1))[:, None]
        shift = moved - places
        length = np.linalg.norm(shift, axis=1, keepdims=True)
        now = places + shift * np.minimum(1.0, most / np.maximum(length, 1e-9))
    return now


_MOST_MOVED = 9.0
"""Pixels that a number is moved at most."""


def heads_in_plane(frame: pd.DataFrame, *, color: str, title: str, width: int = WIDTH) -> alt.Chart:
    """Draw heads at given positions by the numbers of their layers: Clark et al., Figure 6.

    Only distances have a meaning: the axes of multidimensional scaling have no unit and no
    direction, so the axes are hidden, and both directions have the same scale.

    Args:
        frame: columns layer and head (from 0), x, y, and the one that `color` names.
        color: "layer", or a column of at most 6 names beside "other", which is gray.
        title: what is shown; further lines become the subtitle.
        width: pixels of the whole figure.

    Raises:
        ValueError: a column or every position is missing, or the groups outnumber the colors.

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
    low, high, height = _domains(table, plot)
    rows, is_moved = _spread(rows, low, high, (plot, height))
    x, y = (
        channel(f"{name}:Q", axis=None, scale=alt.Scale(domain=[low[i], high[i]], nice=False))
        for i, (name, channel) in enumerate((("x", alt.X), ("y", alt.Y)))
    )
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
    reading = "Each number is a head, written as its layer"
    if is_moved:
        reading += "; numbers that would touch are moved apart"
    return offline(publication(chart, f"{title}\n{reading}", width))


def _domains(
    table: pd.DataFrame, width: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return both ends of x and y, and the height with which both have the same scale."""
    low = table[["x", "y"]].to_numpy().min(0)
    high = table[["x", "y"]].to_numpy().max(0)
    across, up = (high - low).tolist()
    height = width * min(max(up / across if across else 1.0, 0.4), 0.8)
    unit = 1.1 * max(across / width, up / height) or 1.0  # of the plane, in a pixel
    middle = (low + high) / 2
    reach = np.array([width, height]) * unit / 2
    return middle - reach, middle + reach, round(height)


def _spread(
    rows: pd.DataFrame,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    pixels: tuple[float, float],
) -> tuple[pd.DataFrame, bool]:
    """Return the rows with places at which numbers do not touch, and whether one moved."""
    unit = (high - low) / np.array(pixels)  # of the plane, in a pixel
    places = (rows[["x", "y"]].to_numpy() - low) / unit
    widths = [text_width(str(layer)) for layer in rows["layer"]]
    sizes = np.column_stack([widths, np.full(len(rows), LABEL - 1.0)])
    moved = spread_in_plane(places, sizes, most=_MOST_MOVED)
    back = moved * unit + low
    return rows.assign(x=back[:, 0], y=back[:, 1]), bool((moved != places).any())


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
    return alt.Color("group:N", scale=colors(names, "heads_in_plane"), legend=legend)
