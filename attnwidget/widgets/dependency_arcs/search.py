"""The search for the next sentence with a right or wrong answer."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


def next_index(
    count: int, fits: Callable[[int], bool], *, start: int, step: int, seconds: float
) -> tuple[int | None, int]:
    """Return the next index that fits, and wrap around at the end.

    Args:
        count: Number of sentences.
        fits: Whether the sentence at an index fits.
        start: The index to start from, which is not looked at.
        step: 1 for the next index, -1 for the previous one.
        seconds: The time that the search may take.

    Returns:
        The index or None, and the number of sentences that were looked at.

    Example:
        >>> from attnwidget.widgets.dependency_arcs.search import next_index
        >>> next_index(5, [1, 3].__contains__, start=3, step=1, seconds=1.0)
        (1, 3)
    """
    until = monotonic() + seconds
    for away in range(1, count):
        if monotonic() > until:
            return None, away - 1
        index = (start + step * away) % count
        if fits(index):
            return index, away
    return None, max(0, count - 1)
