"""Estimated durations in words."""

from __future__ import annotations

from attnwidget.text.counted import counted


def duration_in_words(seconds: float) -> str:
    """Return a duration in words, rounded to minutes.

    Example:
        >>> from attnwidget.widgets.shared.durations import duration_in_words
        >>> duration_in_words(12), duration_in_words(250)
        ('less than a minute', 'about 4 minutes')
    """
    minutes = round(seconds / 60)
    return "less than a minute" if minutes < 1 else f"about {counted(minutes, 'minute')}"
