"""Color bar of a heat map, and its width."""

from __future__ import annotations

import altair as alt

from attnwidget.charts.theme import text_width, wrapped_text

_TITLE = 96
"""Width of a title line in pixels."""
_NUMBERS = 56
"""Width of the bar with its numbers in pixels."""
_SPACE = 18
"""Gap between the cells and the bar in pixels."""


def color_bar(title: str) -> alt.Legend:
    """Return the legend of a heat map; a long title is wrapped.

    Args:
        title: Quantity and unit.

    Example:
        >>> from attnwidget.charts.color_bar import color_bar
        >>> color_bar("change of the logit difference").title
        ['change of the', 'logit difference']
    """
    return alt.Legend(title=wrapped_text(title, _TITLE))


def color_bar_width(title: str) -> float:
    """Return the width that `color_bar` needs next to the cells, in pixels.

    Example:
        >>> from attnwidget.charts.color_bar import color_bar_width
        >>> color_bar_width("weight")
        74.0
    """
    lines = wrapped_text(title, _TITLE)
    return _SPACE + max(float(_NUMBERS), *map(text_width, lines))
