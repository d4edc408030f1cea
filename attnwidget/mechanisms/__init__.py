"""Mechanisms of heads: decompositions, with exact sums, of what they attend to and write.

Example:
    >>> from attnwidget import load_model
    >>> from attnwidget.mechanisms import logit_lens
    >>> attention = load_model(device="cpu").attend("The woman washed [MASK] hands.")
    >>> logit_lens(attention).to_frame().query("layer == 5")["answer"].iloc[0]
    'her'
"""

from attnwidget.public_names import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
