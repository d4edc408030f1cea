"""Whether a model is causal: whether its tokens see no later tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnwidget.capture.maps.stack_axes import chosen_stack

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def is_causal_model(model: AttentionModel) -> bool:
    """Return whether tokens of a model see no later tokens, from a short input.

    Of an encoder-decoder only the encoder is measured, which is not causal.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.metrics.causal_model import is_causal_model
        >>> is_causal_model(load_model("attnwidget/induction")), is_causal_model(load_model())
        (True, False)
    """
    if getattr(model.hf_model.config, "is_encoder_decoder", False):
        return False
    attention = model.attend([*range(4)])
    stack = chosen_stack(attention.stacks, None, attention.model_name)
    weights = attention.weights(stack.layers.numbers[0])
    return not np.triu(weights, 1).any()
