"""What stands under a figure of one head: the locked token's values, the colour bar."""

from __future__ import annotations

from attnwidget.figures.colour_bars import bar_values, colour_bar
from attnwidget.figures.map_numbers import symbol
from attnwidget.figures.one_head import OneHead
from attnwidget.figures.sheet import Sheet
from attnwidget.figures.text_width import wrapped

_LINE, _TOKEN = 16, 12


def head_legend(sheet: Sheet, x: float, y: float, end: float, head: OneHead, second: str) -> None:
    """Draw it with its top left at (x, y), up to `end`; `second` is what the second colour is."""
    for line in wrapped(head.readout(), _TOKEN, end - x):
        sheet.text(x, y + _LINE / 2, line, size=_TOKEN, middle=True)
        y += _LINE
    if head.readout():
        y += 8
    words = " · ".join(filter(None, [symbol(head.quantity), head.scale, "this head"]))
    colour_bar(sheet, x, y, bar_values(head.scale, head.map.maximum, head.quantity), words)
    y += 40
    for line in wrapped(second, 11, end - x):
        sheet.text(x, y, line, "second", middle=True)
        y += 14
