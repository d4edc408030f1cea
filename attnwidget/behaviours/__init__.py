"""What heads do: behaviours with controls, and examples of heads. `attnwidget` has `atlas`.

Example:
    >>> from attnwidget import load_model, make_segments
    >>> from attnwidget.behaviours import head_examples
    >>> model = load_model()
    >>> segments = make_segments(["The captain told his men to wait."], model)
    >>> len(head_examples(model, segments, k=2, progress=False).of(1, 3, "strongest"))
    2
"""

from attnwidget.public_names import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
