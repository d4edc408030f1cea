"""Where the cells and the labels of a matrix lie."""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnwidget.figures.one_head import OneHead
from attnwidget.figures.text_width import text_width
from attnwidget.figures.theme import LABEL

DENSITY = 2
"""Pixels of an image per pixel of the figure."""
GAP = 6
"""Pixels between labels and cells."""
ANGLE = 60
"""Degrees at which the labels of columns rise."""
READABLE = 8
"""Cells of so many pixels can be counted without rules."""
_LARGEST, _TALLEST, _OBLONG = 40, 600, 4


@dataclass(frozen=True)
class MatrixPlaces:
    """Where the cells lie, in pixels.

    Args:
        x0: left of the first column.
        y0: top of the first row.
        cell: width and height of a cell.
        size: width and height of all cells.
        overhang: what the labels of columns take beyond the last one.
        row_label: room for the label of a row.
        column_label: room for the label of a column, along its slope.
    """

    x0: float
    y0: float
    cell: tuple[float, float]
    size: tuple[float, float]
    overhang: float
    row_label: float
    column_label: float

    @classmethod
    def of(cls, head: OneHead, width: float) -> MatrixPlaces:
        """Places for a figure of a wished width."""
        rows, columns = head.map.values.shape
        widest = [
            max(text_width(text, LABEL, bold=True) for text in axis.labels)
            for axis in (head.map.query, head.map.key)
        ]
        row_label = min(widest[0], max(56, min(160, width * 0.2)))
        column_label = min(widest[1], 110)
        slope = math.radians(ANGLE)
        overhang = math.ceil(column_label * math.cos(slope)) + GAP
        x0 = math.ceil(row_label + 2 * GAP)
        y0 = math.ceil(column_label * math.sin(slope)) + 3 * GAP
        # A pixel a cell at least, however little room long tokens leave.
        room = min(_LARGEST, max(columns, width - x0 - overhang) / columns)
        tall = min(_LARGEST, _TALLEST / rows)
        square = min(room, tall)
        oblong = max(rows, columns) > _OBLONG * min(rows, columns)
        wished = max(square, READABLE) if oblong else square
        across, down = (_crisp(min(most, wished)) for most in (room, tall))
        return cls(
            x0=x0,
            y0=y0,
            cell=(across, down),
            overhang=overhang,
            size=(columns * across, rows * down),
            row_label=row_label,
            column_label=column_label,
        )

    def pixels(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of the image: never more than there is room for."""
        width, height = (max(1, round(side * DENSITY)) for side in self.size)
        return min(shape[0], height), min(shape[1], width)


def _crisp(size: float) -> float:
    return math.floor(size * DENSITY) / DENSITY if size * DENSITY >= 1 else size
