"""Ticks of an axis whose labels do not touch, the first and the last always among them."""

from __future__ import annotations

from collections.abc import Sequence

from attnwidget.charts.theme import text_width

_GAP = 6
"""Pixels between two labels."""


def spaced_ticks(labels: Sequence[str], places: Sequence[float]) -> list[int]:
    """Return the indices of the labels to draw.

    The first and the last label are drawn, and of the others as many as fit, from the first on.

    Args:
        labels: The labels in the order of the axis.
        places: Pixel of each label, which is its middle.

    Example:
        >>> from attnwidget.charts.spaced_ticks import spaced_ticks
        >>> spaced_ticks(["0", "100", "200", "4,000"], [0, 60, 70, 125])
        [0, 1, 3]
        >>> spaced_ticks(["0"], [0])
        [0]
    """
    halves = [text_width(label) / 2 for label in labels]

    def is_free(left: int, right: int) -> bool:
        return places[left] + halves[left] + _GAP <= places[right] - halves[right]

    last = len(labels) - 1
    chosen = [0]
    for index in range(1, last):
        if is_free(chosen[-1], index) and is_free(index, last):
            chosen.append(index)
    return [*chosen, last] if last else chosen


def evenly_placed(count: int, width: float) -> list[float]:
    """Return the middles of `count` equal parts of an axis of `width` pixels.

    Example:
        >>> from attnwidget.charts.spaced_ticks import evenly_placed
        >>> evenly_placed(2, 100)
        [25.0, 75.0]
    """
    return [(index + 0.5) * width / count for index in range(count)]
