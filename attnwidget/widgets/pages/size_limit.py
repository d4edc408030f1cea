"""Size limit of pages, with the error for a page that is too large."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: Maximum share of a page for sentences or documents other than the current one.
NEIGHBORS_SHARE = 0.25


class ContentSize(NamedTuple):
    """Part of a page's content with its size in bytes and advice on how to make it smaller."""

    what: str
    size: float
    remedy: str = ""


def refuse_above(limit_mb: float, things: Sequence[ContentSize]) -> None:
    """Raise ValueError if the content of a page exceeds the limit.

    Args:
        limit_mb: Maximum total size in megabytes (10^6 bytes).
        things: Parts of the content.

    Raises:
        ValueError: If the total size is above the limit.

    Example:
        >>> from attnwidget.widgets.pages.size_limit import ContentSize, refuse_above
        >>> refuse_above(1.0, [ContentSize("the maps", 400_000), ContentSize("the code", 90_000)])
    """
    total = sum(thing.size for thing in things)
    if total <= limit_mb * 1e6:
        return
    what, size, remedy = max(things, key=lambda thing: thing.size)
    raise ValueError(
        f"the page would be {megabytes(total)}, over limit_mb={limit_mb:g}; the largest part is "
        f"{what}, {megabytes(size)}: {f'{remedy}, or ' if remedy else ''}raise limit_mb"
    )


def megabytes(size: float) -> str:
    """Return a size in bytes as readable text.

    Example:
        >>> from attnwidget.widgets.pages.size_limit import megabytes
        >>> megabytes(2_130_000), megabytes(48_200)
        ('2.1 MB', '48 kB')
    """
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1.0, size / 1e3):.0f} kB"


def held_around(index: int, sizes: Sequence[float], room: float, most: int | None = None) -> range:
    """Return the longest range around `index` whose sizes fit into `room`.

    The range grows evenly in both directions and includes at least `index`.

    Args:
        index: Index in the range.
        sizes: Sizes of all items.
        room: Maximum total size.
        most: Maximum length of the range; None = no limit.

    Example:
        >>> from attnwidget.widgets.pages.size_limit import held_around
        >>> held_around(2, [1, 1, 1, 1, 5, 1], 3.5)
        range(1, 4)
    """
    start = index
    stop = index + 1
    total = sizes[index]
    limit = len(sizes) if most is None else most
    grows = True
    while grows:
        grows = False
        if stop < len(sizes) and stop - start < limit and total + sizes[stop] <= room:
            total += sizes[stop]
            stop, grows = stop + 1, True
        if start > 0 and stop - start < limit and total + sizes[start - 1] <= room:
            total += sizes[start - 1]
            start, grows = start - 1, True
    return range(start, stop)


def held_note(held: range, count: int, name: str) -> str:
    """Return a caption note about the items that a page contains.

    Args:
        held: Indices of the items in the page.
        count: Number of all items.
        name: Name of an item, in the singular.
    """
    if len(held) == count:
        return f"holds {'the' if count == 1 else f'all {count:,}'} {name}{'s' * (count > 1)}"
    which = f"{held[0]:,}" if len(held) == 1 else f"{held[0]:,} to {held[-1]:,}"
    return f"holds {name}{'s' * (len(held) > 1)} {which} of {count:,} (counted from 0)"
