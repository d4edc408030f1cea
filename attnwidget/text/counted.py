"""A count with its noun, such as "3 tokens"."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """Return a count and its noun, singular or plural, with commas for thousands.

    Args:
        count: Number of items.
        what: Singular of the noun.

    Example:
        >>> from attnwidget.text.counted import counted
        >>> counted(1, "token"), counted(2400, "sentence")
        ('1 token', '2,400 sentences')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"
