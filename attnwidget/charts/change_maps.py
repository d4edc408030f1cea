"""Maps of heads before and after a change, with the change and its control."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from attnwidget.charts.frame_columns import inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LABEL, LIGHT, PADDING, WIDTH, ink_scale, publication, text_width

_GAP = 8
"""Gap between two maps in pixels."""
_HEADING = 20
"""Height of the names of the columns in pixels."""
_HEAD_NUMBERS = 16
"""Height of the head numbers below the maps in pixels."""
_BAR = 8
"""Height of a color bar in pixels."""
_STEPS = 60
"""Number of cells of a color bar."""
_LARGEST = 12.0
_SMALLEST = 2.0
"""Limits of a cell's side in pixels."""
_EDGE = 4
"""Space for the outlines at the edges of the figure in pixels."""
_NAME = 12
"""Font size of the names of rows and columns in pixels."""
_OVERLAP = 0.5
"""Pixels by which a cell of a color bar reaches under the next cell."""
_EXPONENT = 0.6
"""Ink is the weight to this power, as in the widgets."""


def change_maps(
    values: Mapping[str, Mapping[str, ArrayLike]],
    changes: Mapping[str, Mapping[str, ArrayLike]],
    *,
    reach: float,
    title: str,
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw one row of small maps per quantity: values, then signed changes of these values.

    This is Kovaleva et al. 2019, Figure 6, before and after fine-tuning. A map has layers as rows
    and heads as columns. The ink of a value is its share of 1 to the power 0.6, on one scale from 0
    to 1. All changes have one scale that diverges from 0; changes larger than `reach` have the
    color of its end.

    Args:
        values: Weights from 0 to 1, [L, H], by quantity, for each column.
        changes: Signed changes, [L, H], by quantity, for each column.
        reach: Change at the ends of the signed scale.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If there are no values or no changes, or if columns differ in quantities or
            shapes.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.change_maps import change_maps
        >>> before, after = {"NOUN": np.full((2, 3), 0.2)}, {"NOUN": np.full((2, 3), 0.3)}
        >>> chart = change_maps({"before": before, "after": after},
        ...                     {"change": {"NOUN": np.full((2, 3), 0.1)}}, reach=0.2, title="N")
        >>> chart.layer[0].mark.type
        'rect'
    """
    columns = {**values, **changes}
    names = list(next(iter(columns.values()), ()))
    maps = {
        (column, name): np.asarray(by_name[name], np.float64)
        for column, by_name in columns.items()
        for name in names
        if name in by_name
    }
    shapes = {array.shape for array in maps.values()}
    if not values or not changes or len(maps) != len(names) * len(columns) or len(shapes) != 1:
        raise ValueError(
            "change_maps takes values and changes of the same quantities, each [L, H] of one "
            f"shape; got {len(maps)} maps of shapes {sorted(shapes)} for {len(columns)} columns"
        )
    n_layers, n_heads = next(iter(shapes))
    first_layer, last_layer = "L0", f"L{n_layers - 1}"
    left = max(text_width(name, _NAME + 1) for name in names) + text_width(last_layer) + 12
    available = width - 2 * PADDING - left - _GAP * (len(columns) - 1) - _EDGE
    across = max(_SMALLEST, min(2 * _LARGEST, available / len(columns) / n_heads))
    down = max(_SMALLEST, min(_LARGEST, across))
    size = across * n_heads, down * n_layers
    cells: list[pd.DataFrame] = []
    texts = []
    frames = []
    for column_number, column in enumerate(columns):
        x = left + column_number * (size[0] + _GAP)
        texts.append(_text(x + size[0] / 2, _HEADING / 2, column, "center", "name"))
        for row_number, name in enumerate(names):
            y = _HEADING + row_number * (size[1] + _GAP)
            frames.append({"x": x, "x2": x + size[0], "y": y, "y2": y + size[1]})
            cells.append(_cells(maps[column, name], x, y, (across, down), column, name))
            if column_number:
                continue
            middle = y + size[1] / 2
            texts.append(_text(left - text_width(last_layer) - 8, middle, name, "right", "name"))
            texts.append(_text(left - 4, y + LABEL / 2, first_layer, "right", "label"))
            if n_layers * down >= 2 * LABEL:
                texts.append(_text(left - 4, y + size[1] - LABEL / 2, last_layer, "right", "label"))
        bottom = _HEADING + len(names) * (size[1] + _GAP) - _GAP
        texts.append(_text(x, bottom + 9, "H0", "left", "label"))
        texts.append(_text(x + size[0], bottom + 9, f"H{n_heads - 1}", "right", "label"))
    bar_top = bottom + _HEAD_NUMBERS + 6
    bars = []
    for group, (low, high), first in (
        (values, (0.0, 1.0), 0),
        (changes, (-reach, reach), len(values)),
    ):
        start = left + first * (size[0] + _GAP)
        end = start + len(group) * (size[0] + _GAP) - _GAP
        bars.append(_bar(start, end, bar_top, low, high, is_signed=first > 0))
        ends = ("0", "1") if not first else (f"≤ −{reach:g}", f"≥ {reach:g}")
        for x, text, align in ((start, ends[0], "left"), (end, ends[1], "right")):
            texts.append(_text(x, bar_top + _BAR + 8, text, align, "label"))
        label = "weight" if not first else "change"
        if sum(map(text_width, (*ends, label))) + 2 * _GAP < end - start:
            texts.append(_text((start + end) / 2, bar_top + _BAR + 8, label, "center", "label"))
    table = pd.concat([*cells, *bars], ignore_index=True)
    total = left + len(columns) * (size[0] + _GAP) - _GAP, bar_top + _BAR + 16
    chart = _drawn(table, frames, texts, list(changes), reach, total)
    return offline(publication(chart, title, width))


def _text(x: float, y: float, text: str, align: str, style: str) -> dict[str, object]:
    return {"x": round(x, 1), "y": round(y, 1), "text": text, "align": align, "style": style}


def _cells(
    array: NDArray[np.float64],
    x: float,
    y: float,
    step: tuple[float, float],
    column: str,
    name: str,
) -> pd.DataFrame:
    """Return the cells of a map with their positions in pixels."""
    layer, head = (index.ravel() for index in np.indices(array.shape))
    table = pd.DataFrame({"value": array.ravel(), "column": column})
    table["x"] = (x + head * step[0]).round(2)
    table["x2"] = (x + (head + 1) * step[0]).round(2)
    table["y"] = (y + layer * step[1]).round(2)
    table["y2"] = (y + (layer + 1) * step[1]).round(2)
    table["name"] = [
        f"{name}, {column}: L{at_layer} H{at_head}"
        for at_layer, at_head in zip(layer, head, strict=True)
    ]
    # Layers without attention have no values.
    return table.dropna()


def _bar(
    start: float, end: float, top: float, low: float, high: float, *, is_signed: bool
) -> pd.DataFrame:
    """Return the cells of a color bar."""
    edges = np.linspace(start, end, _STEPS + 1).round(2)
    return pd.DataFrame(
        {
            "value": np.linspace(low, high, _STEPS),
            "column": "signed" if is_signed else "values",
            "x": edges[:-1],
            # Cells reach under the next cells, so that no gaps shine through.
            "x2": np.minimum(edges[1:] + _OVERLAP, edges[-1]),
            "y": round(top, 2),
            "y2": round(top + _BAR, 2),
            "name": "scale",
        }
    )


def _drawn(
    table: pd.DataFrame,
    frames: list[dict[str, float]],
    texts: list[dict[str, object]],
    signed: list[str],
    reach: float,
    total: tuple[float, float],
) -> alt.LayerChart:
    """Return the chart of all cells, frames and texts."""
    width, height = total
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))
    is_signed = table["column"].isin([*signed, "signed"])
    anchors = LIGHT.diverging
    diverging = alt.Scale(
        domain=np.linspace(-reach, reach, len(anchors)).tolist(),
        range=list(anchors),
        interpolate="rgb",
        clamp=True,
    )
    charts: list[alt.Chart] = []
    for rows, scale in ((table[~is_signed], ink_scale()), (table[is_signed], diverging)):
        shown = rows.drop(columns="column")
        shown = shown.assign(ink=shown["value"])
        if scale is not diverging:
            shown["ink"] = shown["value"] ** _EXPONENT
        cells = alt.Chart(inline(shown.round({"ink": 4, "value": 4})))
        # Descriptions of thousands of cells would triple the size of a file.
        cells = cells.mark_rect(strokeWidth=0, aria=False).encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            color=alt.Color("ink:Q", scale=scale, legend=None),
            tooltip=[alt.Tooltip("name:N", title="head"), alt.Tooltip("value:Q", format=".3f")],
        )
        charts.append(cells)
    outlines = alt.Chart(inline(pd.DataFrame(frames)))
    outlines = outlines.mark_rect(fillOpacity=0, stroke=LIGHT.hairline, strokeWidth=1)
    charts.append(outlines.encode(x=x, x2="x2:Q", y=y, y2="y2:Q"))
    for style in ("name", "label"):
        is_name = style == "name"
        for align in ("left", "center", "right"):
            labels = [
                {key: text[key] for key in ("x", "y", "text")}
                for text in texts
                if text["style"] == style and text["align"] == align
            ]
            if labels:
                label = alt.Chart(alt.InlineData(values=labels)).mark_text(
                    align=align,
                    baseline="middle",
                    fontSize=_NAME if is_name else LABEL,
                    fontWeight=600 if is_name else "normal",
                    color=LIGHT.text if is_name else LIGHT.muted,
                )
                charts.append(label.encode(x=x, y=y, text="text:N"))
    chart = alt.LayerChart(layer=charts).resolve_scale(color="independent")
    return chart.properties(width=width, height=height)
