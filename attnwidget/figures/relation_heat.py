"""Every head on one relation: layers down, heads across, as shades of accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.figures.paths import disc, rectangle
from attnwidget.figures.printed import percent
from attnwidget.figures.sheet import Sheet
from attnwidget.figures.sheet_layers import TITLE
from attnwidget.figures.text_width import in_lines, wrapped

_LABELS, _NUMBERS, _GAP, _MARGIN = 28, 18, 2, 4
_SMALLEST, _LARGEST = 8, 30
# From this size on every layer and head is numbered.
_NUMBERED = 16
_BAR = 120
_MEANING = "accuracy % · dot: better than the offset, corrected p ≤ 0.05"


@dataclass(frozen=True)
class RelationHeat:
    """The heads of a model on one relation, in one direction.

    Attributes:
        relation: its name.
        direction: who attends to whom.
        accuracy: float64 [L, H], 0 to 1.
        better: bool [L, H], whether a head is significantly better than the best offset.
        selected: (layer, head) of the selected heads.
        readout: the shown head's numbers, in words.
    """

    relation: str
    direction: str
    accuracy: NDArray[np.float64]
    better: NDArray[np.bool_]
    selected: Sequence[tuple[int, int]]
    readout: str

    def cell(self, width: float) -> int:
        """Pixels of a cell where the map may be `width` pixels wide."""
        room = (width - _LABELS - _MARGIN) / self.accuracy.shape[1] - _GAP
        return int(max(_SMALLEST, min(_LARGEST, room)))

    def width(self, room: float) -> float:
        """Pixels that the map takes of a room."""
        return _LABELS + _MARGIN + self.accuracy.shape[1] * (self.cell(room) + _GAP)


def draw_heat(sheet: Sheet, heat: RelationHeat, x: float, y: float, room: float) -> float:
    """Draw the map with its title, legend and readout, at most `room` wide; the y where it ends."""
    relation = "all words" if heat.relation == "all" else heat.relation
    for line in wrapped(f"every head on {relation}", TITLE, room, bold=True):
        sheet.text(x, y + 13, line, size=TITLE, bold=True)
        y += 17
    sheet.text(x, y + 15, heat.direction, "muted", size=12)
    y += 26
    cell = heat.cell(room)
    pitch = cell + _GAP
    left, top = x + _LABELS, y + _NUMBERS
    n_layers, n_heads = heat.accuracy.shape
    every = 1 if cell >= _NUMBERED else 5
    for layer in range(0, n_layers, every):
        place = top + layer * pitch + cell / 2 + 4
        sheet.text(left - 6, place, str(layer), "muted", align="right")
    for head in range(0, n_heads, every):
        middle = left + head * pitch + cell / 2
        sheet.text(middle, top - 5, str(head), "muted", align="center")
    most = float(heat.accuracy.max())
    shade = heat.accuracy / most if most > 0 else heat.accuracy
    corners = {
        (layer, head): (left + head * pitch, top + layer * pitch)
        for layer in range(n_layers)
        for head in range(n_heads)
    }
    square = rectangle(0, 0, cell, cell)
    for at, corner in corners.items():
        sheet.area(square, ("ramp", float(shade[at])), at=corner)
    radius = max(1.5, cell / 10)
    for at in zip(*np.nonzero(heat.better), strict=True):
        middle_x, middle_y = (place + cell / 2 for place in corners[at])
        # The scale starts at the page's ground and ends near the colour of its text.
        colour = "text" if shade[at] < 0.5 else "ground"
        sheet.area(disc(radius), colour, at=(middle_x, middle_y))
    for at in heat.selected:
        frame = rectangle(-1, -1, cell + 2, cell + 2)
        sheet.line(frame, "accent", at=corners[at], width=2)
    end = top + n_layers * pitch + 4
    return _legend(sheet, heat, most, left, end, x, room)


def _legend(
    sheet: Sheet, heat: RelationHeat, most: float, left: float, y: float, x: float, room: float
) -> float:
    sheet.colour_bar(left, y, _BAR, 8)
    for share, place, align in ((0, 0, "left"), (0.5, 60, "center"), (1, 120, "right")):
        number = percent(share * most, 100) if share else "0"
        sheet.text(left + place, y + 20, number, "muted", align=align)  # type: ignore[arg-type]
    y += 26
    beside = left + _BAR + 12
    lines = wrapped(_MEANING, 11, x + room - beside)
    if len(lines) <= 2:
        for i, line in enumerate(lines):
            sheet.text(beside, y - 18 + 14 * i, line, "muted")
    else:
        for line in wrapped(_MEANING, 11, room):
            sheet.text(x, y + 12, line, "muted")
            y += 14
    y += 8
    for line in in_lines(heat.readout.split(" · "), 12, room):
        sheet.text(x, y + 12, line, size=12)
        y += 16
    return y
