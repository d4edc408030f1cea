"""Default replacement for the outputs of disabled heads."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.edits import Edits
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.model_facts.plain_forward import uncompiled
from attnwidget.model_facts.weight_placement import device_of

# Cached answers to `is_causal_model`, because each answer needs a pass of the model.
_known: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


def default_method(hf_model: Any) -> EditMethod:
    """Return the default replacement for the outputs of disabled heads.

    In models whose tokens see all tokens, the default is "uniform", as in Kovaleva et al. 2019. In
    causal models and encoder-decoders, it is "zero". Many heads of these models rest on the first
    token. Its value is nearly zero, so these heads add almost nothing. "uniform" would replace this
    output by the mean value, and the prediction would change because of this mean.

    Args:
        hf_model: Transformers model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.default_method import default_method
        >>> default_method(load_model().hf_model)
        'uniform'
        >>> default_method(load_model("attnwidget/induction").hf_model)
        'zero'
    """
    return "zero" if _has_decoder(hf_model) or is_causal_model(hf_model) else "uniform"


def is_causal_model(hf_model: Any) -> bool:
    """Return whether the tokens of a model see no later tokens, from a pass over two tokens.

    Studies of an encoder-decoder measure only its encoder, which is not causal. A model that reads
    pictures or sound is not causal. A model may need a picture in addition to the text, and fail on
    a two-token text. Its attention modules then say whether the model is causal.

    Args:
        hf_model: Transformers model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.default_method import is_causal_model
        >>> models = [load_model("attnwidget/induction"), load_model()]
        >>> [is_causal_model(model.hf_model) for model in models]
        [True, False]
    """
    model = uncompiled(hf_model)
    if model not in _known:
        _known[model] = _reads_causally(hf_model)
    return _known[model]


def _has_decoder(hf_model: Any) -> bool:
    """Return whether a model is an encoder-decoder, not just an encoder or a decoder of one."""
    is_named = getattr(hf_model.config, "is_encoder_decoder", False)
    sites = find_sites(uncompiled(hf_model)) if is_named else []
    return any(site.stack == "decoder" for site in sites)


def _reads_causally(hf_model: Any) -> bool:
    if _has_decoder(hf_model):
        return False
    if getattr(hf_model, "main_input_name", "input_ids") != "input_ids":
        return False
    # Some models treat padding tokens as invisible.
    padding = getattr(hf_model.config.get_text_config(), "pad_token_id", None)
    ids = [number for number in range(3) if number != padding][:2]
    sees_later = False

    def look(seen: LayerAttention) -> None:
        nonlocal sees_later
        if seen.stack != "cross":
            sees_later = sees_later or bool(seen.weights.triu(1).any())

    try:
        # Empty edits switch all heads on, also in a block of `disabled`.
        with torch.no_grad(), tap(hf_model, look, Edits()):
            device = device_of(hf_model)
            hf_model(input_ids=torch.tensor([ids], dtype=torch.long, device=device))
    except Exception:
        sites = find_sites(uncompiled(hf_model))
        return any(getattr(site.module, "is_causal", False) is True for site in sites)
    return not sees_later
