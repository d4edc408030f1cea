"""Indices that a caller passes."""

from __future__ import annotations

from typing import SupportsIndex

from attnwidget.text.whole_number import whole_number


def index_among(name: str, index: SupportsIndex, count: int, of: str = "") -> int:
    """Return an index, if it is one of 0 to `count` - 1.

    Args:
        name: What is counted, for the error message: "layer" or "query".
        index: The index.
        count: Number of what is counted.
        of: What has this number, for the error message, or "".

    Raises:
        TypeError: The index is no whole number.
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
