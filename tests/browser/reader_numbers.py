"""Numbers as the figures print them for readers."""

from __future__ import annotations

_SPACE = "\N{NO-BREAK SPACE}"


def in_per_cent(share: float) -> str:
    """A share of 1: whole from 10 % on, one decimal below."""
    return f"{_number(share)}{_SPACE}%"


def in_points(change: float) -> str:
    """A difference of shares, with its sign."""
    sign = "−" if change < 0 else "+"
    return f"{sign}{_number(abs(change))}{_SPACE}points"


def _number(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.0995 else 1}f}"
