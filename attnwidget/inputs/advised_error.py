"""Errors shown on pages, whose readers cannot follow advice about Python arguments."""

from __future__ import annotations


class AdvisedError(ValueError):
    """An error message in two parts: the problem, and how to solve it in Python.

    Example:
        >>> from attnwidget.inputs.advised_error import AdvisedError, on_page
        >>> error = AdvisedError("too long: 600 tokens", "pass truncate=True")
        >>> str(error), on_page(error)
        ('too long: 600 tokens: pass truncate=True', 'too long: 600 tokens')
    """

    def __init__(self, said: str, advice: str) -> None:
        super().__init__(said, advice)

    def __str__(self) -> str:
        return ": ".join(self.args)


def on_page(error: Exception) -> str:
    """Return the message of an error for a page, without advice about Python."""
    message = error.args[0] if isinstance(error, AdvisedError) else str(error)
    return message or type(error).__name__
