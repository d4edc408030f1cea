"""Heat maps of values by row and column offset, side by side on a common scale."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attnwidget.charts.color_bar import color_bar, color_bar_width
from attnwidget.charts.frame_columns import inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LABEL,
    WIDTH,
    ink_scale,
    panel_width,
    panels_in_row,
    publication,
    text_width,
)

_COLUMNS = 4
"""Maximum number of maps per row."""
_ACROSS = "columns to the right"
_GAP = 12
_PANEL = 40
"""Width of a map's row labels in pixels."""
_LARGEST, _SMALLEST = 12, 2
"""Maximum and minimum size of a cell in pixels."""


def offset_maps(
    values: Mapping[str, ArrayLike], *, title: str, value_title: str, width: int = WIDTH
) -> alt.VConcatChart:
    """Draw one heat map per name, with the offset 0 in the middle cell.

    All maps share one scale from 0, which has the background color, to the largest value. Cells
    with NaN, for offsets that no pair has, stay empty.

    Args:
        values: Non-negative arrays [2R + 1, 2C + 1] of one shape by map name.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit, above the color bar.
        width: Figure width in pixels.

    Raises:
        ValueError: If there is no map, shapes differ or have no middle cell, or a value is negative
            or infinite.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.offset_maps import offset_maps
        >>> chart = offset_maps({"L0 H0": np.eye(3)}, title="Offsets", value_title="weight")
        >>> len(chart.vconcat)
        1
    """
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
    shapes = {array.shape for array in arrays.values()}
    shape = next(iter(shapes), ())
    if len(shapes) != 1 or len(shape) != 2 or any(side % 2 == 0 for side in shape):
        raise ValueError(
            "offset_maps takes one or more arrays [2R + 1, 2C + 1] of equal shape, not "
            f"{ {name: array.shape for name, array in arrays.items()} }"
        )
    finite_values = [array[~np.isnan(array)] for array in arrays.values()]
    if any(np.isinf(array).any() or (array < 0).any() for array in finite_values):
        raise ValueError("offset_maps takes finite values from 0 on, or NaN; there are others")
    top = max((float(array.max()) for array in finite_values if array.size), default=0.0)
    map_width = width - color_bar_width(value_title)
    # The name of a map is above the map and its row labels.
    name_width = max(text_width(name) for name in (_ACROSS, *arrays)) - _PANEL
    min_width = max(name_width, _SMALLEST * shape[1])
    max_columns = min(_COLUMNS, len(arrays))
    columns = panels_in_row(map_width, max_columns, least=min_width, gap=_GAP, axis=_PANEL)
    available = panel_width(map_width, columns, gap=_GAP, axis=_PANEL)
    step = max(_SMALLEST, min(_LARGEST, int(available) // shape[1]))
    scale = ink_scale(top)
    panels = []
    for name, array in arrays.items():
        row, column = (index.ravel() for index in np.indices(shape))
        down, right = row - shape[0] // 2, column - shape[1] // 2
        table = pd.DataFrame({"down": down, "right": right, "value": array.ravel()}).dropna()
        axis = alt.Axis(
            ticks=False, grid=False, domain=False, labelOverlap=True, values=_labels(shape[1])
        )
        row_axis = alt.Axis(
            ticks=False, grid=False, domain=False, labelOverlap=True, values=_labels(shape[0])
        )
        chart = alt.Chart(inline(table)).mark_rect(strokeWidth=0)
        chart = chart.encode(
            x=alt.X("right:O", axis=axis, title=_ACROSS, scale=_places(shape[1])),
            y=alt.Y("down:O", axis=row_axis, title="rows below", scale=_places(shape[0])),
            color=alt.Color("value:Q", scale=scale, legend=color_bar(value_title)),
            tooltip=[
                alt.Tooltip("down:O", title="rows below"),
                alt.Tooltip("right:O", title=_ACROSS),
                alt.Tooltip("value:Q", title=f"{name}: {value_title}", format=NUMBER),
            ],
        )
        header = alt.TitleParams(name, anchor="start", frame="group", fontSize=LABEL + 1, offset=4)
        panels.append(chart.properties(width=alt.Step(step), height=alt.Step(step), title=header))
    rows = [
        alt.hconcat(*panels[i : i + columns], spacing=_GAP) for i in range(0, len(panels), columns)
    ]
    return offline(publication(alt.vconcat(*rows), title, width))


def _places(side: int) -> alt.Scale:
    return alt.Scale(domain=list(range(-(side // 2), side // 2 + 1)))


def _labels(side: int) -> list[int]:
    """Return the offsets that an axis labels: both ends and the middle."""
    half = side // 2
    return sorted({-half, 0, half})
