"""How large a page may be, and what is said where it would be larger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Bytes are written as text: four characters for three of them.
AS_TEXT = 4 / 3
#: What sentences or documents beside the one shown may take of the room.
NEIGHBOURS_SHARE = 0.25

# What each part of a page is called, and what makes it smaller.
_PARTS = {
    "code": ("the figures' own code", ""),
    "maps": ("the maps of all heads", "shorten the text (the size grows with its square)"),
    "sentences": ("the sentence with every head's map", "show a shorter sentence"),
    "windows": ("the document with every head's choices", "show a shorter document"),
}


def refuse_above(limit_mb: float, sizes: Mapping[str, float]) -> None:
    """ValueError where the parts of a page are more than `limit_mb` megabytes together.

    `sizes` are bytes in the file by the part's name.

    Example:
        >>> from attnwidget.widgets.pages.room import refuse_above
        >>> refuse_above(1.0, {"maps": 400_000, "code": 90_000})
    """
    total = sum(sizes.values())
    if total <= limit_mb * 1e6:
        return
    largest = max(sizes, key=lambda name: sizes[name])
    name, remedy = _PARTS.get(largest, (f"what the {largest} shows", ""))
    raise ValueError(
        f"the page would be {megabytes(total)}, over limit_mb={limit_mb:g}; the largest part is "
        f"{name}, {megabytes(sizes[largest])}: {f'{remedy}, or ' if remedy else ''}raise limit_mb"
    )


def megabytes(size: float) -> str:
    """A size in bytes for readers.

    Example:
        >>> from attnwidget.widgets.pages.room import megabytes
        >>> megabytes(2_130_000), megabytes(48_200)
        ('2.1 MB', '48 kB')
    """
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1.0, size / 1e3):.0f} kB"


def held_around(index: int, sizes: Sequence[float], room: float, most: int | None = None) -> range:
    """The longest run around `index` whose sizes fit into `room`, grown evenly; one at least.

    `most` is how long it may be; None = as long as there is room.

    Example:
        >>> from attnwidget.widgets.pages.room import held_around
        >>> held_around(2, [1, 1, 1, 1, 5, 1], 3.5)
        range(1, 4)
    """
    start, stop, used = index, index + 1, sizes[index]
    limit = len(sizes) if most is None else most
    grows = True
    while grows:
        grows = False
        if stop < len(sizes) and stop - start < limit and used + sizes[stop] <= room:
            used += sizes[stop]
            stop, grows = stop + 1, True
        if start > 0 and stop - start < limit and used + sizes[start - 1] <= room:
            used += sizes[start - 1]
            start, grows = start - 1, True
    return range(start, stop)


def held_note(held: range, count: int, name: str) -> str:
    """Which of `count` things a page holds, for its caption."""
    if len(held) == count:
        return f"holds {'the' if count == 1 else f'all {count:,}'} {name}{'s' * (count > 1)}"
    which = f"{held[0]:,}" if len(held) == 1 else f"{held[0]:,} to {held[-1]:,}"
    return f"holds {name}{'s' * (len(held) > 1)} {which} of {count:,} (counted from 0)"
