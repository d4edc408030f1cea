"""Checks of indices that a caller passes."""

from __future__ import annotations

from typing import SupportsIndex

from attnwidget.text.whole_number import whole_number


def index_among(name: str, index: SupportsIndex, count: int, of: str = "") -> int:
    """Return an index if it is between 0 and `count` - 1.

    Args:
        name: Noun for the items, for the error message, such as "layer" or "query".
        index: Index to check.
        count: Number of items.
        of: Noun for the object that has the items, for the error message, or "".

    Raises:
        TypeError: The index is not an integer.
        ValueError: There is no such index.

    Example:
        >>> from attnwidget.text.index_among import index_among
        >>> index_among("layer", 3, 4)
        3
    """
    number = whole_number(name, index)
    if not 0 <= number < count:
        raise ValueError(
            f"{name} {number} is not among 0 to {count - 1}{f' of {of}' if of else ''}"
        )
    return number
