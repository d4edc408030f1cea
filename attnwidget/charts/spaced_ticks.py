"""Axis ticks whose labels do not touch and which include the first and the last label."""

from __future__ import annotations

from collections.abc import Sequence

from attnwidget.charts.theme import text_width

_GAP = 6
"""Minimum gap between two labels in pixels."""


def spaced_ticks(labels: Sequence[str], places: Sequence[float]) -> list[int]:
    """Return the indices of the labels to draw.

    The first and the last label are always drawn. The labels between them are drawn from left to
    right if they fit.

    Args:
        labels: Labels in the order of the axis.
        places: Center of each label in pixels.

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
    ticks = [0]
    for index in range(1, last):
        if is_free(ticks[-1], index) and is_free(index, last):
            ticks.append(index)
    return [*ticks, last] if last else ticks


def evenly_placed(count: int, width: float) -> list[float]:
    """Return the centers of `count` equal parts along `width` pixels.

    Example:
        >>> from attnwidget.charts.spaced_ticks import evenly_placed
        >>> evenly_placed(2, 100)
        [25.0, 75.0]
    """
    return [(index + 0.5) * width / count for index in range(count)]
