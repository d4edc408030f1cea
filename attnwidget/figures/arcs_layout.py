"""Where the words and arcs of a sentence stand: the rules of the live figure, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from attnwidget.figures.text_width import shortened, text_width
from attnwidget.figures.theme import LABEL

WORD = 14
"""Font size of the words."""
NAME = 10
"""Font size of a governor that is named at the edge because it stands in another row."""
_EDGE, _GAP = 12, 14
_PORT = 6
"""Pixels between the ends of arcs at one word."""
_BESIDE = 11
"""Room on both sides of a label on its arc."""
_STEP, _LOWEST, _TOP = 19, 10, 12
_NAME_ROOM = 72


@dataclass(frozen=True)
class Tree:
    """A sentence: its words, the index of each one's governor (-1: none) and its relation."""

    words: tuple[str, ...]
    governors: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def root(self) -> int:
        """The word without governor, -1 if there is none."""
        return self.governors.index(-1) if -1 in self.governors else -1


@dataclass(frozen=True)
class PlacedArc:
    """An annotated arc that ends in a row.

    Attributes:
        dependent: the word it points at.
        x0: its end at the governor, or beside its name at the edge.
        x1: its end at the dependent.
        height: of its flat part, above the words.
        label_x: the middle of its label.
        name: the governor where it stands in another row; "" elsewhere.
        name_x: the middle of that name.
        edge: where an arc without that name begins.
    """

    dependent: int
    x0: float
    x1: float
    height: float
    label_x: float
    name: str = ""
    name_x: float = 0.0
    edge: float = 0.0


@dataclass(frozen=True)
class Row:
    """Words `start` to `end` (exclusive) with the arcs that end there.

    Attributes:
        centres: the middle of each word.
        width: pixels that the row needs.
        height: of all annotated arcs with their labels.
    """

    start: int
    end: int
    centres: tuple[float, ...]
    arcs: tuple[PlacedArc, ...]
    width: float
    height: float

    def __contains__(self, word: int) -> bool:
        return self.start <= word < self.end

    def centre(self, word: int) -> float:
        """The middle of a word of the row."""
        return self.centres[word - self.start]


def arc_levels(arcs: Sequence[tuple[float, float]]) -> list[int]:
    """Levels from 1: an arc lies above all that it spans, so that arcs of a tree never cross.

    Args:
        arcs: the two ends of each, in any order.

    Example:
        >>> from attnwidget.figures.arcs_layout import arc_levels
        >>> arc_levels([(0, 3), (1, 2), (4, 3)])
        [2, 1, 1]
    """
    levels = [0] * len(arcs)
    placed: list[int] = []
    for i in sorted(range(len(arcs)), key=lambda i: abs(arcs[i][0] - arcs[i][1])):
        low, high = sorted(arcs[i])
        met = (levels[j] for j in placed if min(arcs[j]) < high and low < max(arcs[j]))
        levels[i] = max(met, default=0) + 1
        placed.append(i)
    return levels


def rows_of(tree: Tree, width: float) -> list[Row]:
    """The sentence in rows of at most `width` pixels; a word that is wider has a row of its own.

    An arc whose governor stands in another row begins at the edge on that side, where its governor
    is named.

    Example:
        >>> from attnwidget.figures.arcs_layout import Tree, rows_of
        >>> tree = Tree(("Cats", "eat", "fish"), (1, -1, 1), ("nsubj", "root", "obj"))
        >>> [(row.start, row.end) for row in rows_of(tree, 720)]
        [(0, 3)]
        >>> [(row.start, row.end) for row in rows_of(tree, 130)]
        [(0, 2), (2, 3)]
    """
    if _row(tree, 0, len(tree.words)).width <= width:
        return [_row(tree, 0, len(tree.words), width)]
    rows: list[Row] = []
    start = 0
    while start < len(tree.words):
        row = _row(tree, start, start + 1)
        while row.end < len(tree.words):
            longer = _row(tree, start, row.end + 1)
            if longer.width > width:
                break
            row = longer
        rows.append(row)
        start = row.end
    # Arcs that come from the right begin at the edge of the widest.
    common = max(width, *(row.width for row in rows))
    return [_row(tree, row.start, row.end, common) for row in rows]


def edge_name(word: str) -> str:
    """A word as it is named at the edge."""
    return shortened(word, NAME, _NAME_ROOM)


def label_room(relation: str) -> float:
    """Pixels that a relation's label takes on its arc."""
    return text_width(relation, LABEL)


def _row(tree: Tree, start: int, end: int, width: float | None = None) -> Row:
    """The words from `start` to `end`, as far apart as they and the labels of their arcs need.

    Without the figure's `width` there are no arcs: that is enough to see whether they fit.
    """
    governor = tree.governors
    own = [word for word in range(start, end) if governor[word] >= 0]
    # By word, each arc with its end there: the arc is known by its dependent.
    closing: dict[int, list[int]] = {word: [] for word in range(start, end)}
    for word in own:
        if governor[word] < end:
            closing[max(word, governor[word])].append(word)
    offsets, reach = _ports(tree, start, end, own)
    name_end = {
        word: 4 + text_width(edge_name(tree.words[governor[word]]), NAME)
        for word in own
        if not start <= governor[word] < end
    }
    centres: list[float] = []
    taken: float = _EDGE - _GAP
    for word in range(start, end):
        half = ceil(text_width(tree.words[word], WORD)) / 2
        left, right = reach[word]
        x = taken + _GAP + max(half, left)
        for arc in closing[word]:
            low = min(arc, governor[arc])
            needed = label_room(tree.relations[arc]) + 2 * _BESIDE
            if low < start:
                x = max(x, name_end[arc] + needed - offsets[arc, arc])
            else:
                x = max(x, centres[low - start] + offsets[arc, low] - offsets[arc, word] + needed)
        centres.append(round(x))
        taken = round(x) + max(half, right)
    needed_width = taken + _EDGE
    for word in own:
        if governor[word] >= end:
            at = centres[word - start] + offsets[word, word]
            label = label_room(tree.relations[word]) + 2 * _BESIDE
            needed_width = max(needed_width, at + label + name_end[word])
    if start <= tree.root < end:
        label = text_width("root", LABEL) / 2
        needed_width = max(needed_width, centres[tree.root - start] + label, taken + _EDGE)
    if width is None:
        return Row(start, end, tuple(centres), (), needed_width, 0)
    levels = arc_levels([(word, min(max(governor[word], start - 1), end)) for word in own])
    right_edge = max(width, needed_width)
    arcs = []
    for word, level in zip(own, levels, strict=True):
        x1, height = centres[word - start] + offsets[word, word], _LOWEST + level * _STEP
        if start <= governor[word] < end:
            x0 = centres[governor[word] - start] + offsets[word, governor[word]]
            arcs.append(PlacedArc(word, x0, x1, height, (x0 + x1) / 2))
            continue
        edge, way = (0.0, 1) if governor[word] < start else (right_edge, -1)
        room = name_end[word]
        # The label near the arrow, away from the name.
        middle = x1 - way * (label_room(tree.relations[word]) / 2 + _BESIDE)
        name, name_x = edge_name(tree.words[governor[word]]), edge + way * (room - 4) / 2
        arcs.append(PlacedArc(word, edge + way * room, x1, height, middle, name, name_x, edge))
    has_root = start <= tree.root < end
    most = max(levels, default=0) + has_root
    height = _LOWEST + most * _STEP + (_TOP if most else 0)
    return Row(start, end, tuple(centres), tuple(arcs), needed_width, height)


def _ports(
    tree: Tree, start: int, end: int, own: Sequence[int]
) -> tuple[dict[tuple[int, int], float], dict[int, tuple[float, float]]]:
    """Where arcs end at each word, by (arc, word), and how far the ends of a word's arcs reach.

    The longer an arc, the nearer to the middle of all; the one that comes in points at the middle
    of the word.
    """
    before: dict[int, list[int]] = {word: [] for word in range(start, end)}
    after: dict[int, list[int]] = {word: [] for word in range(start, end)}
    for arc in own:
        low, high = sorted((arc, tree.governors[arc]))
        if low >= start:
            after[low].append(arc)
        if high < end:
            before[high].append(arc)

    def length(arc: int) -> int:
        return abs(arc - tree.governors[arc])

    offsets: dict[tuple[int, int], float] = {}
    reach: dict[int, tuple[float, float]] = {}
    for word in range(start, end):
        order = sorted(before[word], key=length)
        order += [-1] if word == tree.root else []
        order += sorted(after[word], key=length, reverse=True)
        incoming = next(i for i, arc in enumerate(order) if arc in (-1, word))
        for i, arc in enumerate(order):
            offsets[arc, word] = (i - incoming) * _PORT
        reach[word] = (
            _PORT / 2 + incoming * _PORT,
            _PORT / 2 + (len(order) - 1 - incoming) * _PORT,
        )
    return offsets, reach
