"""Maps between the words of a sentence pair side by side, with frames around gold links."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attnwidget.charts.frame_columns import inline
from attnwidget.charts.grid_cells import named_axis
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    WIDTH,
    ink_scale,
    panel_width,
    panels_in_row,
    publication,
    text_width,
)

_EXPONENT = 0.6
"""Ink is the share to this power, as in the widgets."""
_CELL = 30
"""Largest side of a cell in pixels."""
_SMALLEST = 8
_GAP = 16
_LEAST = 120
"""Smallest width of a map that shares its row, in pixels."""


def alignment_maps(
    maps: ArrayLike,
    target: Sequence[str],
    source: Sequence[str],
    names: Sequence[str],
    *,
    sure: Sequence[tuple[int, int]],
    possible: Sequence[tuple[int, int]] = (),
    title: str,
    width: int = WIDTH,
) -> alt.VConcatChart:
    """Draw one map per quantity, with a frame around every gold link.

    The ink of a cell is its share of the largest value of its map, to the power 0.6.

    Args:
        maps: Non-negative values, [P, n, m].
        target: Words of the n rows.
        source: Words and special tokens of the m columns.
        names: Quantity of each map.
        sure: Sure links (column, row), with a solid frame.
        possible: Possible links (column, row), with a dashed frame.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If the sizes of the arguments do not match, or a value is negative or not
            finite.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.alignment_maps import alignment_maps
        >>> chart = alignment_maps(np.eye(2)[None], ["le", "chat"], ["the", "cat"], ["weights"],
        ...     sure=[(0, 0), (1, 1)], title="One pair")
        >>> len(chart.vconcat)
        1
    """
    values = np.asarray(maps, np.float64)
    if values.shape != (len(names), len(target), len(source)) or not values.size:
        raise ValueError(
            f"alignment_maps takes values [{len(names)}, {len(target)}, {len(source)}], got "
            f"{list(values.shape)}"
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("alignment_maps takes finite values of 0 or more")
    label_width = 12 + max(map(text_width, target))
    in_row = panels_in_row(width, len(names), least=_LEAST, gap=_GAP, axis=label_width)
    room = panel_width(width, in_row, gap=_GAP, axis=label_width)
    step = max(_SMALLEST, min(_CELL, int(room / len(source))))
    panels = [
        _panel(panel, target, source, str(name), sure, possible, step)
        for panel, name in zip(values, names, strict=True)
    ]
    rows = [
        alt.hconcat(*panels[i : i + in_row], spacing=_GAP) for i in range(0, len(panels), in_row)
    ]
    return offline(publication(alt.vconcat(*rows, spacing=_GAP), title, width))


def _panel(
    values: np.ndarray,
    target: Sequence[str],
    source: Sequence[str],
    name: str,
    sure: Sequence[tuple[int, int]],
    possible: Sequence[tuple[int, int]],
    step: int,
) -> alt.LayerChart:
    row, column = (index.ravel() for index in np.indices(values.shape))
    largest = float(values.max()) or 1.0
    table = pd.DataFrame({"row": row, "column": column, "value": values.ravel()})
    table["ink"] = (table["value"] / largest) ** _EXPONENT
    table["target"] = np.asarray(target, dtype=object)[row]
    table["source"] = np.asarray(source, dtype=object)[column]
    x = alt.X("column:O", axis=named_axis(source, step, "", labelAngle=-60, labelAlign="right"))
    y = alt.Y("row:O", axis=named_axis(target, step, ""))
    cells = (
        alt.Chart(inline(table))
        .mark_rect(strokeWidth=0)
        .encode(
            x=x,
            y=y,
            color=alt.Color("ink:Q", scale=ink_scale(), legend=None),
            tooltip=["target:N", "source:N", alt.Tooltip("value:Q", title=name, format=NUMBER)],
        )
    )
    layers = [cells]
    for links, dash in ((sure, [1, 0]), (possible, [3, 2])):
        if not links:
            continue
        frames = [{"column": link[0], "row": link[1]} for link in links]
        mark = alt.Chart(alt.InlineData(values=frames)).mark_rect(
            fillOpacity=0, stroke=LIGHT.second, strokeWidth=2, strokeDash=dash
        )
        layers.append(mark.encode(x=x, y=y))
    heading = alt.TitleParams(name, anchor="start", fontSize=LABEL + 1, color=LIGHT.text, offset=4)
    return alt.LayerChart(layer=layers, title=heading).properties(
        width=alt.Step(step), height=alt.Step(step)
    )
