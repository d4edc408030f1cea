"""Cells of heat maps whose rows and columns have names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt

from attnwidget.charts.color_bar import color_bar_width
from attnwidget.charts.theme import LABEL, PADDING, WIDTH, text_width
from attnwidget.text.xml_text import xml_texts

_CELL = 22
_SMALLEST = 4
"""Pixels of a cell at most and at least."""
_AXIS = 30
"""Pixels of the title of the rows."""
_LONGEST_NAME = 160
"""Pixels of a name of a row or column; the rest is cut."""
_NAMED = 9
"""Pixels of a cell from which on names are written beside it."""


def cell_size(
    shape: tuple[int, ...], rows: Sequence[str], value_title: str, width: int = WIDTH
) -> int:
    """Return the pixels of a side of each cell of a heat map with this shape.

    Args:
        shape: Rows and columns.
        rows: Names of the rows.
        value_title: Title of the color bar.
        width: Pixels of the whole figure.

    Example:
        >>> from attnwidget.charts.grid_cells import cell_size
        >>> cell_size((5, 8), ["cat"] * 5, "weight"), cell_size((100, 20), ["cat"] * 100, "weight")
        (22, 5)
    """
    names = min(_LONGEST_NAME, max(map(text_width, rows), default=0))
    room = width - 2 * PADDING - _AXIS - names - color_bar_width(value_title)
    return min(_CELL, max(_SMALLEST, int(room) // max(shape)))


def named_axis(names: Sequence[str], step: int, title: str, **options: Any) -> alt.Axis:
    """Return an axis whose scale has the places of names, which may repeat.

    Args:
        names: The name at each place.
        step: Pixels of a cell; smaller cells have no names.
        title: Meaning of the axis.
        options: Further options of `alt.Axis`.

    Example:
        >>> from attnwidget.charts.grid_cells import named_axis
        >>> named_axis(["the", "the"], 22, "key").labelExpr
        '["the", "the"][datum.value]'
    """
    return alt.Axis(
        title=title,
        labels=step >= _NAMED,
        labelExpr=f"{json.dumps(xml_texts(names), ensure_ascii=False)}[datum.value]",
        labelOverlap=False,
        labelLimit=_LONGEST_NAME,
        labelFontSize=min(LABEL, step),
        ticks=False,
        grid=False,
        domain=False,
        **options,
    )
