"""Predicted arcs, hanging from the words of a row, and the paths of arcs and their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign, sqrt

from attnwidget.figures.arcs_layout import NAME, PlacedArc, Row, Tree, arc_levels, edge_name
from attnwidget.figures.text_width import text_width

_CORNER, _BEND = 7, 24
_BESIDE_MIDDLE = 6
"""Pixels from the middle of the governor to its end of an arc."""
_LEVEL = 13
"""Pixels between arcs from other rows."""


@dataclass(frozen=True)
class Prediction:
    """A predicted arc between two words, the weight behind it, and whether it is right."""

    dependent: int
    governor: int
    weight: float
    right: bool


@dataclass(frozen=True)
class Hanging:
    """A predicted arc in its row; every place is counted from the row's own line of arc ends.

    Attributes:
        arc: what is drawn.
        x: its end at the dependent.
        low: how far it hangs down.
        name: its governor, where that stands in another row; "" elsewhere.
        name_x: the middle of that name.
    """

    arc: Prediction
    x: float
    low: float
    x0: float
    name: str = ""
    name_x: float = 0.0

    def path(self, y: float) -> str:
        """The arc, its ends at the height `y`."""
        x, x0 = self.x, self.x0
        if not self.name:
            bend = y + self.low * 4 / 3
            return f"M{x0:g} {y:g}C{x0:g} {bend:.1f} {x:g} {bend:.1f} {x:g} {y:g}"
        if x0 == x:
            return f"M{x:g} {y + self.low - 7:g}V{y:g}"
        bend = x + copysign(min(_BEND, abs(x0 - x)), x0 - x)
        return f"M{x0:.1f} {y + self.low:g}H{bend:.1f}Q{x:g} {y + self.low:g} {x:g} {y:g}"


def hanging(tree: Tree, row: Row, arcs: Sequence[Prediction], across: float) -> list[Hanging]:
    """The predicted arcs of a row; those from other rows begin at the edges 0 and `across`.

    Example:
        >>> from attnwidget.figures.arcs_hanging import Prediction, hanging
        >>> from attnwidget.figures.arcs_layout import Tree, rows_of
        >>> tree = Tree(("Cats", "eat", "fish"), (1, -1, 1), ("nsubj", "root", "obj"))
        >>> arc = Prediction(dependent=2, governor=0, weight=0.5, right=False)
        >>> [row, other] = rows_of(tree, 130)
        >>> hanging(tree, other, [arc], 130)[0].name
        'Cats'
    """
    ends = [
        (arc.dependent, row.start - 1 if arc.governor < row.start else row.end)
        for arc in arcs
        if arc.governor not in row
    ]
    levels = iter(arc_levels(ends))
    return [
        _within(row, arc)
        if arc.governor in row
        else _from_other(tree, row, arc, across, next(levels))
        for arc in arcs
    ]


def _within(row: Row, arc: Prediction) -> Hanging:
    x, governor = row.centre(arc.dependent), row.centre(arc.governor)
    low = 10 + 15 * sqrt(abs(arc.dependent - arc.governor))
    return Hanging(arc, x, low, governor + copysign(_BESIDE_MIDDLE, x - governor))


def _from_other(tree: Tree, row: Row, arc: Prediction, across: float, level: int) -> Hanging:
    x, name = row.centre(arc.dependent), edge_name(tree.words[arc.governor])
    room, low = text_width(name, NAME), 8 + _LEVEL * level
    edge, way = (0.0, 1) if arc.governor < row.start else (across, -1)
    if abs(x - edge) < room + 12:
        # Too near for a bend: the name stands below the end of a straight line.
        middle = min(max(x, room / 2), across - room / 2)
        return Hanging(arc, x, low, x, name, middle)
    return Hanging(arc, x, low, edge + way * (room + 4), name, edge + way * room / 2)


def standing_path(arc: PlacedArc, y: float) -> str:
    """An annotated arc from its beginning up, over, and down to the dependent at the height `y`."""
    top, x0, x1 = y - arc.height + 2, arc.x0, arc.x1
    way = copysign(1, x1 - x0)
    corner = min(_CORNER, abs(x1 - x0) / 2)
    over = f"H{x1 - way * corner:g}Q{x1:g} {top:g} {x1:g} {top + corner:g}V{y:g}"
    if arc.name:
        return f"M{x0:.1f} {top:g}{over}"
    return f"M{x0:g} {y:g}V{top + corner:g}Q{x0:g} {top:g} {x0 + way * corner:g} {top:g}{over}"


def arrow_path(x: float, y: float, way: int) -> str:
    """An arrow head at a dependent, pointing down (`way` 1) or up (-1)."""
    return f"M{x - 3.5:g} {y - 6 * way:g}h7L{x:g} {y:g}z"


def verdict_path(x: float, y: float, right: bool) -> str:
    """A tick or a cross of 6 pixels, its top at `y`."""
    return f"M{x - 4:g} {y + 4:g}l3 3l5 -6" if right else f"M{x - 3:g} {y + 1:g}l6 6m0 -6l-6 6"
