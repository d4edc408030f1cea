"""Replacement and patching of heads, with the effect on the model's answers.

`ablate` is in `attnwidget`.

Example:
    >>> from attnwidget import load_model
    >>> from attnwidget.interventions import head_importance
    >>> examples = [("The woman washed [MASK] hands.", "her")]
    >>> head_importance(load_model(), examples, progress=False).values.shape
    (6, 12)
"""

from attnwidget.public_names import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
