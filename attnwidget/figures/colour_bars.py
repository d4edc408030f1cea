"""The colour bar of the widgets: a strip, three values under it, and the scale in use."""

from __future__ import annotations

from collections.abc import Sequence

from attnwidget.figures.levels import inverse
from attnwidget.figures.map_numbers import printer, share
from attnwidget.figures.sheet import Sheet
from attnwidget.figures.text_width import text_width
from attnwidget.figures.theme import LABEL

HEIGHT = 26
"""Pixels of a bar with its values."""
_WIDTH, _STRIP = 160, 8


def bar_values(scale: str, maximum: float, quantity: str = "weights") -> list[str]:
    """The values at the start, the middle and the end of a bar.

    Example:
        >>> from attnwidget.figures.colour_bars import bar_values
        >>> bar_values("log", 0.5)
        ['≤0.0005', '0.0158', '0.5']
    """
    show = printer(quantity)
    start = f"≤{show(inverse(0, scale) * maximum)}" if scale == "log" else "0"
    return [start, show(inverse(0.5, scale) * maximum), show(maximum)]


def head_values(scale: str) -> list[str]:
    """The values of a bar where every head has its own: parts of the head's maximum.

    Example:
        >>> from attnwidget.figures.colour_bars import head_values
        >>> head_values("sqrt")
        ['0', '25 %', 'head max']
    """
    start = f"≤{share(100 * inverse(0, scale))} %" if scale == "log" else "0"
    return [start, f"{share(100 * inverse(0.5, scale))} %", "head max"]


def colour_bar(sheet: Sheet, x: float, y: float, values: Sequence[str], words: str) -> float:
    """Draw a bar with its top left at (x, y), `words` beside it; returns its right end."""
    sheet.colour_bar(x, y, _WIDTH, _STRIP)
    under = y + _STRIP + 9
    sheet.text(x, under, values[0], "muted", middle=True)
    sheet.text(x + _WIDTH / 2, under, values[1], "muted", align="center", middle=True)
    sheet.text(x + _WIDTH, under, values[2], "muted", align="right", middle=True)
    sheet.text(x + _WIDTH + 12, y + _STRIP / 2, words, "muted", middle=True)
    return x + _WIDTH + 12 + text_width(words, LABEL)
