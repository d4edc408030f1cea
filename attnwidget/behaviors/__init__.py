"""Behaviors of attention heads with their controls, and examples of heads.

`atlas` is in `attnwidget`.

Example:
    >>> from attnwidget import load_model, make_segments
    >>> from attnwidget.behaviors import head_examples
    >>> model = load_model()
    >>> segments = make_segments(["The captain told his men to wait."], model)
    >>> len(head_examples(model, segments, n_examples=2, progress=False).links(1, 3, "strongest"))
    2
"""

from attnwidget.public_names import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
