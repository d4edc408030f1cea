"""Shares as percentages, such as "98 %"."""

from __future__ import annotations


def percent(share: float) -> str:
    """Return a share as a whole percentage.

    Args:
        share: Share from 0 to 1.

    Example:
        >>> from attnwidget.text.percent import percent
        >>> percent(0.984)
        '98 %'
    """
    return f"{100 * share:.0f} %"
