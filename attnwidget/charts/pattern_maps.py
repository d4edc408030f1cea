"""Attention maps of single heads side by side, with a dashed border between two texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attnwidget.charts.frame_columns import inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    LINE,
    WIDTH,
    ink_scale,
    panel_width,
    panels_in_row,
    publication,
    text_width,
    wrapped_text,
)

_GAP = 12
"""Gap between two maps in pixels."""
_LEAST = 76
"""Smallest width of a map that shares its row, in pixels."""
_BELOW = 26
"""Height from a map to the names of the next row in pixels."""
_WIDEST = 220
_TEXT = 12
_EXPONENT = 0.6
"""Ink is the weight to this power, as in the widgets."""
_OVERLAP = 0.4
"""Pixels by which a cell reaches under the next cells, so that no gaps shine through."""
_INVISIBLE = 0.001
"""Smallest weight whose ink differs visibly from the background."""


def pattern_maps(
    maps: ArrayLike,
    tokens: Sequence[str],
    names: Sequence[str],
    remarks: Sequence[str],
    *,
    title: str,
    border: int | None = None,
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw maps of one text side by side: Kovaleva et al. 2019, Figure 1.

    Rows attend, and the first token is at the top left. The ink of a cell is its weight to the
    power 0.6, on one scale from 0 to 1. Maps that do not fit into a row continue in the next row.

    Args:
        maps: Weights, [P, n, n].
        tokens: Tokens of the text, for tooltips.
        names: Text above each map.
        remarks: Text below each map.
        title: Figure title; further lines become the subtitle.
        border: Position of the first token of the second text; None = one text.
        width: Figure width in pixels.

    Raises:
        ValueError: If there are no maps, or the arguments do not have matching sizes.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.pattern_maps import pattern_maps
        >>> chart = pattern_maps(np.eye(2)[None], ["a", "b"], ["diagonal"], ["L0 H1"], title="One")
        >>> chart.layer[0].mark.type
        'rect'
    """
    weights = np.asarray(maps, dtype=np.float64)
    n = len(tokens)
    if weights.shape != (len(names), n, n) or len(remarks) != len(names) or not len(names):
        raise ValueError(
            f"pattern_maps takes maps [{len(names)}, {n}, {n}] and a remark for each name, got "
            f"maps {list(weights.shape)} and {len(remarks)} remarks"
        )
    in_row = panels_in_row(width, len(names), least=_LEAST, gap=_GAP, axis=0)
    # Equal rows look better than a full row above a single map.
    in_row = math.ceil(len(names) / math.ceil(len(names) / in_row))
    slot = min(panel_width(width, in_row, gap=_GAP, axis=0), _WIDEST)
    # Cells of whole or half pixels have sharp edges.
    step = max(0.5, math.floor(2 * slot / n) / 2)
    overlap = 0.0 if step == int(step) else _OVERLAP
    size = n * step
    # No word is broken, although a long one may be wider than its map.
    longest = max(text_width(word, _TEXT) for name in names for word in name.split())
    lines = [wrapped_text(name, max(slot, longest + 1), _TEXT) for name in names]
    cells = []
    borders = []
    texts = []
    frames = []
    top = 0.0
    for number, (map_lines, remark) in enumerate(zip(lines, remarks, strict=True)):
        column = number % in_row
        if not column:
            of_row = lines[number : number + in_row]
            top += max(map(len, of_row)) * (LINE + 2) + 2 + (size + _BELOW if number else 0)
        left = column * (slot + _GAP)
        middle = left + size / 2
        for index, line in enumerate(reversed(map_lines)):
            y = top - 9 - index * (LINE + 2)
            texts.append({"x": middle, "y": y, "text": line, "style": "name"})
        texts.append({"x": middle, "y": top + size + 10, "text": remark, "style": "remark"})
        frames.append({"x": left, "x2": left + size, "y": top, "y2": top + size})
        for query, key in np.argwhere(weights[number] >= _INVISIBLE).tolist():
            weight = weights[number, query, key]
            cells.append(
                {
                    "x": round(left + key * step, 2),
                    "x2": round(min(left + (key + 1) * step + overlap, left + size), 2),
                    "y": round(top + query * step, 2),
                    "y2": round(min(top + (query + 1) * step + overlap, top + size), 2),
                    "ink": round(weight**_EXPONENT, 2),
                    "name": f"{tokens[query]} → {tokens[key]}: {100 * weight:.1f} %",
                }
            )
        if border is not None:
            at = border * step
            for x, x2, y, y2 in ((0, size, at, at), (at, at, 0, size)):
                borders.append({"x": left + x, "x2": left + x2, "y": top + y, "y2": top + y2})
    total = in_row * (slot + _GAP) - _GAP
    height = top + size + LINE + 4
    across = alt.Scale(domain=[0, total], nice=False, zero=False)
    down = alt.Scale(domain=[height, 0], nice=False, zero=False)
    x_axis = alt.X("x:Q", axis=None, scale=across)
    y_axis = alt.Y("y:Q", axis=None, scale=down)
    layers = [
        alt.Chart(inline(pd.DataFrame(cells)))
        # Descriptions of thousands of cells would triple the size of a file.
        .mark_rect(strokeWidth=0, aria=False)
        .encode(
            x=x_axis,
            x2="x2:Q",
            y=y_axis,
            y2="y2:Q",
            color=alt.Color("ink:Q", scale=ink_scale(), legend=None),
            tooltip=alt.Tooltip("name:N", title="link"),
        ),
        alt.Chart(inline(pd.DataFrame(frames)))
        .mark_rect(fillOpacity=0, stroke=LIGHT.hairline, strokeWidth=1)
        .encode(x=x_axis, x2="x2:Q", y=y_axis, y2="y2:Q"),
    ]
    if borders:
        rules = alt.Chart(inline(pd.DataFrame(borders)))
        rules = rules.mark_rule(color=LIGHT.muted, strokeDash=[3, 3], strokeWidth=1)
        layers.append(rules.encode(x=x_axis, x2="x2:Q", y=y_axis, y2="y2:Q"))
    for style, font_size, color in (
        ("name", _TEXT, LIGHT.text),
        ("remark", LABEL, LIGHT.muted),
    ):
        rows = [
            {k: v for k, v in text.items() if k != "style"}
            for text in texts
            if text["style"] == style
        ]
        label = alt.Chart(alt.InlineData(values=rows)).mark_text(
            baseline="middle",
            fontSize=font_size,
            fontWeight=600 if style == "name" else "normal",
            color=color,
        )
        layers.append(label.encode(x=x_axis, y=y_axis, text="text:N"))
    chart = alt.LayerChart(layer=layers).properties(width=total, height=height)
    return offline(publication(chart, title, width))
