"""Rows of bar charts whose names may repeat."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from attnwidget.text.xml_text import xml_texts

# Number of digits before each name, which are the bar's row number.
_DIGITS = 4


def row_keys(names: Sequence[str]) -> list[str]:
    """Return a unique key for each row, even if two rows have the same name.

    Example:
        >>> from attnwidget.charts.named_rows import row_keys
        >>> row_keys(["the", "the"])
        ['0000the', '0001the']
    """
    return [f"{row:0{_DIGITS}d}{name}" for row, name in enumerate(xml_texts(names))]


def rows_by_key(limit: int) -> alt.Y:
    """Return the axis of the column "row", which contains `row_keys` and is labeled with names.

    Args:
        limit: Maximum width of a name in pixels.
    """
    axis = alt.Axis(ticks=False, labelExpr=f"slice(datum.value, {_DIGITS})", labelLimit=limit)
    return alt.Y("row:N", sort=None, title=None, axis=axis)
