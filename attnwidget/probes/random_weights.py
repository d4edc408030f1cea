"""The control of a probe: the same architecture, its layers as they are before any training."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING

import torch

from attnwidget.capture.load import load_model

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

_EMBEDDING = re.compile(r"(^|\.)(\w*embed\w*|wte|wpe|shared)(\.|$)")
"""How the parts of transformers' models that turn ids into vectors are called."""


def with_random_weights(model: AttentionModel, seed: int = 0) -> AttentionModel:
    """A model of the same architecture whose weights are random but for its embeddings.

    What a probe finds on it is known from words and their order alone. Weights are drawn as
    transformers draws them before training; embeddings of words, positions and token types, with
    their normalisation, are those of `model`.

    Raises:
        ValueError: no part of the model is called an embedding.

    Example:
        >>> import torch
        >>> from attnwidget import load_model
        >>> from attnwidget.probes.random_weights import with_random_weights
        >>> model = load_model()
        >>> control = with_random_weights(model)
        >>> same = {
        ...     name.split(".")[1]
        ...     for name, own in control.hf_model.named_parameters()
        ...     if own.ndim > 1 and torch.equal(own, model.hf_model.get_parameter(name))
        ... }
        >>> same, control.name
        ({'embeddings'}, 'small BERT (in the package), random weights')
    """
    given = model.hf_model
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        fresh = type(given)(copy.deepcopy(given.config)).to(model.device, given.dtype)
        own = fresh.state_dict()
        kept = [name for name in own if _EMBEDDING.search(name)]
        for name in kept:
            own[name].copy_(given.state_dict()[name])
    if not kept:
        raise ValueError(
            f"{type(given).__name__} has no part that is called an embedding: without them random "
            "weights are no control"
        )
    return load_model(fresh, model.tokenizer, name=f"{model.own_name}, random weights")
