"""Words of a sentence in a plane, with the edges of its tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from attnwidget.charts.frame_columns import inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    LINE,
    PADDING,
    WIDTH,
    publication,
    text_width,
)
from attnwidget.text.xml_text import xml_texts

_HEIGHT = 0.62
"""Height of the plane as a share of its width."""
_SMALLEST = 200
"""Smallest height of the plane in pixels."""
_MARGIN = 18
"""Space around the points in pixels."""
_BESIDE = 6
_FACTOR = 4.0
"""Squared length (or its inverse) with the strongest color."""
#: Left, top, right and bottom of a label, in pixels.
_Box: TypeAlias = tuple[float, float, float, float]
_KINDS = ("edge of the tree", "predicted, but no edge")


def tree_plane(
    words: Sequence[str],
    positions: ArrayLike,
    edges: Sequence[tuple[int, int, float]],
    wrong: Sequence[tuple[int, int]],
    *,
    title: str,
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw words in a plane with the edges of a tree: Coenen et al. 2019, Figure 2.

    The color of an edge is its squared length: orange for less than 1, blue for more. Dotted lines
    are `wrong`. Both axes have the same scale.

    Args:
        words: Words.
        positions: Place of each word, [m, 2].
        edges: Two words and the squared length of each edge of the tree.
        wrong: Pairs of words without an edge for which an edge is predicted.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If there are no words, or `positions` does not match them.

    Example:
        >>> from attnwidget.charts.tree_plane import tree_plane
        >>> places = [[0, 0], [1, 0], [0, 1]]
        >>> chart = tree_plane(["the", "cat", "sat"], places, [(0, 1, 0.9), (1, 2, 2.0)], [(0, 2)],
        ...                    title="Three words")
        >>> [layer.mark.type for layer in chart.layer]
        ['rule', 'rule', 'point', 'text', 'text']
    """
    places = np.asarray(positions, np.float64)
    if not len(words) or places.shape != (len(words), 2):
        raise ValueError(
            f"tree_plane takes a position [2] for each of {len(words)} words, got positions of "
            f"shape {list(places.shape)}"
        )
    plot = max(1.0, width - 2 * PADDING)
    height = max(float(_SMALLEST), _HEIGHT * plot)
    pixels = _in_pixels(places, plot, height)
    names = xml_texts(list(words))
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, plot], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))
    color = alt.Color(
        "length:Q",
        title="squared length",
        scale=alt.Scale(
            type="log",
            base=2,
            domain=[1 / _FACTOR, 1, _FACTOR],
            range=[LIGHT.diverging[0], LIGHT.rest, LIGHT.diverging[-1]],
            interpolate="rgb",
            clamp=True,
        ),
        legend=alt.Legend(
            orient="bottom",
            direction="horizontal",
            gradientLength=min(200, int(plot) - 40),
            gradientThickness=8,
            values=[1 / _FACTOR, 1 / 2, 1, 2, _FACTOR],
            format="~g",
        ),
    )
    lines = [
        {**_ends(pixels, i, j), "length": max(length, 1e-6), "link": f"{names[i]} – {names[j]}"}
        for i, j, length in edges
    ]
    columns = ["x", "y", "x2", "y2", "length", "link"]
    drawn = alt.Chart(inline(pd.DataFrame(lines, columns=columns))).mark_rule(strokeWidth=2)
    dotted = pd.DataFrame([_ends(pixels, i, j) for i, j in wrong], columns=columns[:4])
    points = pd.DataFrame({"x": pixels[:, 0], "y": pixels[:, 1], "word": names})
    layers = [
        alt.Chart(inline(dotted))
        .mark_rule(strokeWidth=1, strokeDash=[2, 3], color=LIGHT.muted)
        .encode(x=x, y=y, x2="x2:Q", y2="y2:Q"),
        drawn.encode(
            x=x,
            y=y,
            x2="x2:Q",
            y2="y2:Q",
            color=color,
            tooltip=[
                alt.Tooltip("link:N", title="edge"),
                alt.Tooltip("length:Q", title="squared length", format=".2f"),
            ],
        ),
        alt.Chart(inline(points))
        .mark_point(filled=True, size=22, opacity=1, color=LIGHT.text)
        .encode(x=x, y=y, tooltip="word:N"),
    ]
    labels = _labels(names, pixels, [*((i, j) for i, j, _ in edges), *wrong], plot, height)
    for side in (1, -1):
        of_side = alt.Chart(inline(labels[labels["side"] == side]))
        text = of_side.mark_text(
            align="left" if side == 1 else "right",
            baseline="middle",
            fontSize=LABEL,
            color=LIGHT.text,
            aria=False,
        )
        layers.append(text.encode(x=x, y=y, text="word:N"))
    chart = alt.LayerChart(layer=layers).properties(width=plot, height=height)
    return offline(publication(chart, title, width))


def _in_pixels(places: NDArray[np.float64], width: float, height: float) -> NDArray[np.float64]:
    """Return the places in pixels, with one scale for both axes."""
    centered = places - (places.max(0) + places.min(0)) / 2
    span = np.ptp(places, axis=0)
    rooms = np.array([width, height]) - 2 * _MARGIN
    scales = [room / size for room, size in zip(rooms, span, strict=True) if size > 0]
    return np.asarray(centered * min(scales, default=1.0) + np.array([width, height]) / 2)


def _ends(pixels: NDArray[np.float64], i: int, j: int) -> dict[str, float]:
    (x, y), (x2, y2) = pixels[i].round(1).tolist(), pixels[j].round(1).tolist()
    return {"x": x, "y": y, "x2": x2, "y2": y2}


def _labels(
    names: Sequence[str],
    pixels: NDArray[np.float64],
    edges: Sequence[tuple[int, int]],
    width: float,
    height: float,
) -> pd.DataFrame:
    """Return a place for each word beside its point, where it covers least."""
    # Points along the edges, which a word should not cover.
    along = [
        pixels[i] + share * (pixels[j] - pixels[i])
        for i, j in edges
        for share in np.linspace(0, 1, 12)
    ]
    covered = np.array([*pixels, *along])
    boxes: list[_Box] = []
    rows = []
    for name, (across, down) in zip(names, pixels.tolist(), strict=True):
        size = text_width(name)
        choices: list[tuple[float, int, int, float, float, _Box]] = []
        for side in (1, -1):
            for lift in (0, -LINE + 1, LINE - 1):
                start = across + side * (_BESIDE if not lift else 0)
                left, right = sorted((start, start + side * size))
                top = down + lift - LINE / 2
                box = left, top, right, top + LINE
                outside = left < 0 or right > width or top < 0 or top + LINE > height
                inside = (covered[:, 0] > left) & (covered[:, 0] < right)
                inside &= (covered[:, 1] > top) & (covered[:, 1] < top + LINE)
                overlaps = sum(_overlap(box, other) for other in boxes)
                cost = 1000 * outside + 2 * overlaps + 8 * int(inside.sum()) + abs(lift) / 8
                choices.append((cost, len(choices), side, start, down + lift, box))
        _, _, side, start, level, box = min(choices)
        boxes.append(box)
        rows.append({"word": name, "x": round(start, 1), "y": round(level, 1), "side": side})
    return pd.DataFrame(rows)


def _overlap(one: _Box, other: _Box) -> float:
    """Return the area that two boxes (left, top, right, bottom) share, in square pixels."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, across) * max(0.0, down)
