"""The color bar beside a heat map, and the room that it takes."""

from __future__ import annotations

import altair as alt

from attnwidget.charts.theme import text_width, wrapped_text

_TITLE = 96
"""Pixels of a line of the title."""
_NUMBERS = 56
"""Pixels of the bar with its numbers."""
_SPACE = 18
"""Pixels between the cells and the bar."""


def color_bar(title: str) -> alt.Legend:
    """Return the legend of a heat map. A long title has several lines.

    Args:
        title: Quantity and unit.

    Example:
        >>> from attnwidget.charts.color_bar import color_bar
        >>> color_bar("change of the logit difference").title
        ['change of the', 'logit difference']
    """
    return alt.Legend(title=wrapped_text(title, _TITLE))


def color_bar_width(title: str) -> float:
    """Return the pixels that `color_bar` takes beside the cells.

    Example:
        >>> from attnwidget.charts.color_bar import color_bar_width
        >>> color_bar_width("weight")
        74.0
    """
    lines = wrapped_text(title, _TITLE)
    return _SPACE + max(float(_NUMBERS), *map(text_width, lines))
