"""Names that are too long for a figure, such as identifiers of sentences."""

from __future__ import annotations

LONGEST_NAME = 40
"""Characters of a name that are drawn."""
_KEPT_AT_END = 10


def short_name(name: str) -> str:
    """Return a name of at most 40 characters: a longer name loses its middle.

    Example:
        >>> from attnwidget.text.short_name import short_name
        >>> short_name("weblog-juancole.com_juancole_20051114075400_ENG_20051114_075400-0003")
        'weblog-juancole.com_juancole_…75400-0003'
    """
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - _KEPT_AT_END - 1]}…{name[-_KEPT_AT_END:]}"
