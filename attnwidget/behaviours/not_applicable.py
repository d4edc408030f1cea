"""The error of a behaviour that a model or its data do not allow."""

from __future__ import annotations


class NotApplicableError(ValueError):
    """A behaviour has no score for this model or data; the message has the reason."""
