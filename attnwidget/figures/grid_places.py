"""Where the cells of a grid of heads lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DENSITY = 2
"""Pixels of the image of thumbnails per pixel of the figure."""
GAP, MARGIN = 2, 4
"""Pixels between two cells, and beyond the last one."""
BAR, BAR_AND_TEXT = 5, 20
"""Pixels under a cell for a bar alone, and for one with a line of text."""
_LABELS, _NUMBERS, _BANDS = 48, 20, 6
_SMALLEST, _LARGEST, _PRINTED, _NAMED = 28, 64, 40, 36


@dataclass(frozen=True)
class GridPlaces:
    """Where the cells of a grid lie, in pixels.

    Example:
        >>> from attnwidget.figures.grid_places import GridPlaces
        >>> GridPlaces(x0=48, y0=20, cell=47, band=0, rows=6, columns=12).corner(1, 2)
        (146.0, 69.0)
    """

    x0: float
    y0: float
    cell: float
    band: float
    rows: int
    columns: int

    @classmethod
    def of(
        cls, width: float, rows: int, columns: int, *, banded: bool, below: str = "nothing"
    ) -> GridPlaces:
        """Cells as large as a width allows; `below` each is "nothing", a "bar" or a "name"."""
        smallest = _NAMED if below == "name" else _SMALLEST
        room = (width - _LABELS - MARGIN) / max(columns, 1) - GAP
        cell = np.floor(max(smallest, min(_LARGEST, room)) * DENSITY) / DENSITY
        texts = below == "name" or (below == "bar" and cell >= _PRINTED)
        band = 0 if below == "nothing" else BAR_AND_TEXT if texts else BAR
        return cls(_LABELS, _NUMBERS + _BANDS * banded, float(cell), band, rows, columns)

    def corner(self, row: int, column: int) -> tuple[float, float]:
        """The top left of a cell."""
        across, down = self.cell + GAP, self.cell + self.band + GAP
        return float(self.x0 + column * across), float(self.y0 + row * down)
