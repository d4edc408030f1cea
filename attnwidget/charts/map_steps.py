"""Three maps with arrows: from tokens to words."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnwidget.charts.frame_columns import inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    LINE,
    PADDING,
    WIDTH,
    ink_scale,
    publication,
    text_width,
)

_EXPONENT = 0.6
"""Ink is the weight to this power, as in the widgets."""
_ARROW = 62
"""Space for an arrow with its text, in pixels."""
_BELOW = 36
"""Height of an arrow between maps that are below each other, in pixels."""
_LARGEST = 16
"""Largest size of a cell, in pixels."""
_LEAST = 11
"""Smallest size of a cell in maps that are side by side, in pixels."""
_GAP = 6


def map_steps(
    maps: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    *,
    tokens: Sequence[str],
    words: Sequence[str],
    owners: NDArray[np.int64],
    title: str,
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw a map between tokens, the map with added columns, and the map between words.

    Frames mark the columns, and then the rows, of words with several tokens. If the maps do not fit
    side by side, they are below each other.

    Args:
        maps: Weights [n, n], [n, m] and [m, m], where rows attend.
        tokens: Tokens of the text, n.
        words: Words of the text, m.
        owners: Word of each token, from 0, [n].
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.map_steps import map_steps
        >>> chart = map_steps(
        ...     (np.eye(2), np.ones((2, 1)), np.ones((1, 1))), tokens=["a", "##b"], words=["ab"],
        ...     owners=np.array([0, 0]), title="One word",
        ... )
        >>> len(chart.layer)
        6
    """
    names = [(tokens, tokens), (tokens, words), (words, words)]
    split = [word for word in range(len(words)) if (owners == word).sum() > 1]
    in_tokens = [_range(owners, word) for word in split]
    in_words = [(word, word + 1) for word in split]
    row_marks = [[], in_tokens, in_words]
    column_marks = [in_tokens, in_words, []]
    side = max(text_width(name) for name in [*tokens, *words]) + _GAP
    available = width - 2 * PADDING
    # The second map has the rows of the first one, and needs no names at its rows.
    n_columns = len(tokens) + 2 * len(words)
    cell = (available - 2 * side - 2 * _ARROW) / n_columns
    is_beside = cell >= _LEAST
    if not is_beside:
        cell = (available - side) / len(tokens)
    cell = min(float(_LARGEST), cell)
    cells: list[dict[str, object]] = []
    labels: list[dict[str, object]] = []
    frames: list[dict[str, object]] = []
    arrows: list[dict[str, object]] = []
    x, y = side, side
    for number, (weights, (row_names, column_names)) in enumerate(zip(maps, names, strict=True)):
        n_rows, n_cols = weights.shape
        for row, column in np.ndindex(weights.shape):
            cells.append(
                {
                    "x": x + column * cell,
                    "x2": x + (column + 1) * cell,
                    "y": y + row * cell,
                    "y2": y + (row + 1) * cell,
                    "ink": float(weights[row, column]) ** _EXPONENT,
                    "pair": f"{row_names[row]} to {column_names[column]}",
                    "weight": float(weights[row, column]),
                }
            )
        shows_rows = number != 1 or not is_beside
        labels += [
            {"x": x - _GAP, "y": y + (row + 0.5) * cell, "text": name, "angle": "row"}
            for row, name in enumerate(row_names if shows_rows else ())
        ]
        labels += [
            {"x": x + (column + 0.5) * cell, "y": y - _GAP, "text": name, "angle": "column"}
            for column, name in enumerate(column_names)
        ]
        frames += [
            {"x": x + a * cell, "x2": x + b * cell, "y": y, "y2": y + n_rows * cell}
            for a, b in column_marks[number]
        ]
        frames += [
            {"x": x, "x2": x + n_cols * cell, "y": y + a * cell, "y2": y + b * cell}
            for a, b in row_marks[number]
        ]
        if number < 2:
            step = "columns\nadded" if number == 0 else "rows\naveraged"
            step = step if is_beside else step.replace("\n", " ")
            if is_beside:
                middle = x + n_cols * cell + _ARROW / 2
                arrows.append({"x": middle, "y": y + n_rows * cell / 2, "step": step, "sign": "→"})
                x += n_cols * cell + _ARROW + (side if number == 1 else 0)
            else:
                below = y + n_rows * cell
                arrows.append(
                    {"x": x + _ARROW / 2, "y": below + _BELOW / 2, "step": step, "sign": "↓"}
                )
                y = below + _BELOW + side
    right = max(float(str(one["x2"])) for one in cells)
    bottom = max(float(str(one["y2"])) for one in cells)
    return _chart(cells, labels, frames, arrows, (right, bottom), title, width)


def _range(owners: NDArray[np.int64], word: int) -> tuple[int, int]:
    """Return the first token of a word, and the first token after it."""
    places = np.flatnonzero(owners == word)
    return int(places[0]), int(places[-1]) + 1


def _chart(
    cells: list[dict[str, object]],
    labels: list[dict[str, object]],
    frames: list[dict[str, object]],
    arrows: list[dict[str, object]],
    size: tuple[float, float],
    title: str,
    width: int,
) -> alt.LayerChart:
    """Return the chart of all marks, whose places are in pixels."""
    right, bottom = size
    x_scale = alt.Scale(domain=[0, right], nice=False)
    y_scale = alt.Scale(domain=[bottom, 0], nice=False)
    x = alt.X("x:Q", axis=None, scale=x_scale)
    y = alt.Y("y:Q", axis=None, scale=y_scale)

    def layer(rows: list[dict[str, object]], columns: Sequence[str]) -> alt.Chart:
        return alt.Chart(inline(pd.DataFrame(rows, columns=list(columns))))

    corners = ("x", "x2", "y", "y2")
    squares = layer(cells, [*corners, "ink", "pair", "weight"]).mark_rect(strokeWidth=0)
    squares = squares.encode(
        x=x,
        x2="x2:Q",
        y=y,
        y2="y2:Q",
        color=alt.Color("ink:Q", scale=ink_scale(1.0), legend=None),
        tooltip=["pair:N", alt.Tooltip("weight:Q", format=".2f")],
    )
    outlines = layer(frames, corners).mark_rect(filled=False, stroke=LIGHT.second, strokeWidth=1.5)
    outlines = outlines.encode(x=x, x2="x2:Q", y=y, y2="y2:Q")
    texts = []
    for kind, mark in (
        ("row", {"align": "right"}),
        ("column", {"align": "left", "angle": 270}),
    ):
        rows = [label for label in labels if label["angle"] == kind]
        text = layer(rows, ["x", "y", "text"]).mark_text(
            baseline="middle", fontSize=LABEL, color=LIGHT.text, **mark
        )
        texts.append(text.encode(x=x, y=y, text="text:N"))
    signs = layer(arrows, ["x", "y", "sign"]).mark_text(fontSize=22, color=LIGHT.muted)
    is_beside = arrows[0]["sign"] == "→"
    remark = layer(arrows, ["x", "y", "step"]).mark_text(
        fontSize=LABEL,
        color=LIGHT.muted,
        lineBreak="\n",
        lineHeight=LINE,
        align="center" if is_beside else "left",
        dx=0 if is_beside else 14,
        dy=-36 if is_beside else 0,
    )
    chart = alt.LayerChart(
        layer=[
            squares,
            outlines,
            *texts,
            signs.encode(x=x, y=y, text="sign:N"),
            remark.encode(x=x, y=y, text="step:N"),
        ]
    )
    return offline(publication(chart.properties(width=right, height=bottom), title, width))
