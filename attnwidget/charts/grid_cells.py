"""Cell size and axes of heat maps with named rows and columns."""

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
"""Maximum (`_CELL`) and minimum size of a cell in pixels."""
_AXIS = 30
"""Width of the row title in pixels."""
_LONGEST_NAME = 160
"""Maximum width of a row or column name in pixels; longer names are cut."""
_NAMED = 9
"""Minimum cell size in pixels at which names are drawn."""


def cell_size(
    shape: tuple[int, ...], rows: Sequence[str], value_title: str, width: int = WIDTH
) -> int:
    """Return the side length of a heat map cell in pixels.

    Args:
        shape: Number of rows and columns.
        rows: Names of the rows.
        value_title: Title of the color bar.
        width: Figure width in pixels.

    Example:
        >>> from attnwidget.charts.grid_cells import cell_size
        >>> cell_size((5, 8), ["cat"] * 5, "weight"), cell_size((100, 20), ["cat"] * 100, "weight")
        (22, 5)
    """
    label_width = min(_LONGEST_NAME, max(map(text_width, rows), default=0))
    available = width - 2 * PADDING - _AXIS - label_width - color_bar_width(value_title)
    return min(_CELL, max(_SMALLEST, int(available) // max(shape)))


def named_axis(names: Sequence[str], step: int, title: str, **options: Any) -> alt.Axis:
    """Return an axis that labels positions with names, so that names may repeat.

    Args:
        names: Name at each position.
        step: Cell size in pixels; names are not drawn next to very small cells.
        title: Title of the axis.
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
