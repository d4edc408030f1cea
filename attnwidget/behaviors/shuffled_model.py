"""A model with shuffled weights: the same numbers in every matrix, in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from attnwidget.probes.untrained_model import (
    is_of_positions,
    untrained_like,
    with_other_weights,
)

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def shuffled_like(model: AttentionModel, *, seed: int = 0) -> AttentionModel:
    """Return a model of the same architecture with the model's weights in random order.

    Each matrix and each bias is shuffled on its own, so the magnitudes of its numbers stay the
    same. The bias of queries and keys is shuffled too, because rotary embeddings turn it into a
    pattern of distances. Word embeddings, position embeddings and norms are unchanged. Quantized
    matrices cannot be shuffled, so they get new random weights as at initialization.

    Args:
        model: Model from `load_model`.
        seed: Seed of the random orders.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors.shuffled_model import shuffled_like
        >>> shuffled_like(load_model())
        AttentionModel(BertForMaskedLM 'small BERT (in the package), shuffled', 6×12 heads, cpu)
    """
    trained = model.hf_model
    untrained = untrained_like(model, seed=seed).hf_model
    # The input embeddings of a vision model embed patches, and consist of several modules.
    words = set(trained.get_input_embeddings().modules())
    parameters = dict(untrained.named_parameters())
    random = torch.Generator(device="cpu").manual_seed(seed)
    with torch.no_grad():
        for path, module in trained.named_modules():
            weights = dict(module.named_parameters(recurse=False))
            is_norm = all(weight.ndim < 2 for weight in weights.values())
            for name, weight in weights.items():
                copy = parameters.get(f"{path}.{name}" if path else name)
                if copy is None or copy.shape != weight.shape or not weight.is_floating_point():
                    continue
                positions = is_of_positions(path if isinstance(module, nn.Embedding) else name)
                if not (is_norm or positions or module in words):
                    order = torch.randperm(
                        weight.numel(), generator=random, dtype=torch.long, device="cpu"
                    )
                    weight = weight.flatten()[order.to(weight.device)].view_as(weight)
                copy.copy_(weight)
    return with_other_weights(model, untrained, "shuffled")
