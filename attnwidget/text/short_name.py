"""Shortening of names that are too long for a figure, such as sentence identifiers."""

from __future__ import annotations

LONGEST_NAME = 40
"""Largest number of characters drawn for a name without spaces; twice as many with spaces."""
_KEPT_AT_END = 10


def short_name(name: str) -> str:
    """Return a name, without its middle if it has over 40 characters (80 if it has spaces).

    Args:
        name: Name.

    Example:
        >>> from attnwidget.text.short_name import short_name
        >>> short_name("weblog-juancole.com_juancole_20051114075400_ENG_20051114_075400-0003")
        'weblog-juancole.com_juancole_…75400-0003'
    """
    longest = LONGEST_NAME * (2 if " " in name else 1)
    if len(name) <= longest:
        return name
    return f"{name[: longest - _KEPT_AT_END - 1]}…{name[-_KEPT_AT_END:]}"
