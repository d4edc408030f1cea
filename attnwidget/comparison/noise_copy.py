"""Noise of the size of a training, as a control of comparisons before and after it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from attnwidget.capture.load import load_model
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.kernels.arrays import Float64Array
from attnwidget.model_facts.plain_forward import uncompiled

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

# Smallest singular value of a change, as a share of the largest: smaller values are rounding.
_ROUNDING = 1e-4
_ADVICE = (
    "the control needs two models whose weights have the same names and shapes, such as a model "
    "and its fine-tuned copy (merge adapters first), or control=None"
)


def noise_copy(model: AttentionModel, tuned: AttentionModel, *, seed: int = 0) -> AttentionModel:
    """Return a copy of a model whose weights move as far as a training moved them, at random.

    Each matrix moves by a random matrix with the same singular values as its change, and therefore
    with the same size (Frobenius norm) and the same rank. Each vector moves by a random vector of
    the same length.

    Args:
        model: Model before the training.
        tuned: Model after the training.
        seed: Seed of the noise.

    Raises:
        ValueError: The attention layers of the models do not have the same floating-point weights
            by name and shape, or the weights are equal.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.comparison.noise_copy import noise_copy
        >>> noise_copy(load_model(), load_model("attnwidget/genre")).name
        'small BERT (in the package), with noise'
    """
    copy = deepcopy(uncompiled(model.hf_model))
    weights = dict(_backbone(copy).named_parameters())
    random = torch.Generator(device="cpu").manual_seed(seed)
    moved = False
    with torch.no_grad():
        for name, change in _changes(model, tuned):
            if change.any():
                moved = True
                weight = weights[name]
                weight.add_(_noise_like(change, random).to(weight.device, weight.dtype))
    if not moved:
        raise ValueError(
            f"the weights of {model.own_name} and {tuned.own_name} are equal, so there is no noise "
            "of the size of their change: leave control out"
        )
    processor = model.tokenizer if model.processor is None else model.processor
    return load_model(copy, processor, name=f"{model.own_name}, with noise")


def weight_change(model: AttentionModel, tuned: AttentionModel, stack: str) -> Float64Array:
    """Return the change of the weights of each layer as a share of their size, [L].

    Sizes are Frobenius norms over all weights of a layer. Only layers with attention count.

    Args:
        model: Model before the training.
        tuned: Model after the training.
        stack: Stack of the layers.

    Raises:
        ValueError: The attention layers of the models do not have the same floating-point weights
            by name and shape.
    """
    hf_model = uncompiled(model.hf_model)
    weights = dict(_backbone(hf_model).named_parameters())
    layers = [
        set(hf_model.get_submodule(_layer_path(site.path)).parameters())
        for site in find_sites(hf_model)
        if site.stack == stack
    ]
    squares = np.zeros((2, len(layers)))
    for name, change in _changes(model, tuned):
        for layer, of_layer in enumerate(layers):
            if weights[name] in of_layer:
                weight = weights[name].detach().cpu().double()
                squares[0, layer] += float(change.double().square().sum())
                squares[1, layer] += float(weight.square().sum())
    with np.errstate(invalid="ignore"):
        shares: Float64Array = np.sqrt(squares[0] / squares[1])
    return shares


def _changes(model: AttentionModel, tuned: AttentionModel) -> Iterator[tuple[str, Tensor]]:
    """Yield the change of each weight that both models have, by its name in the backbone."""
    before = dict(_backbone(uncompiled(model.hf_model)).named_parameters())
    after = dict(_backbone(uncompiled(tuned.hf_model)).named_parameters())
    shared = [
        name
        for name, weight in before.items()
        if name in after
        and after[name].shape == weight.shape
        and weight.is_floating_point()
        and after[name].is_floating_point()
    ]
    in_attention = {
        weight
        for site in find_sites(uncompiled(model.hf_model))
        for weight in site.module.parameters()
    }
    if not in_attention <= {before[name] for name in shared}:
        raise ValueError(
            f"{model.own_name} and {tuned.own_name} do not have the same weights in their "
            f"attention layers: {_ADVICE}"
        )
    for name in shared:
        first, second = (w[name].detach().cpu().float() for w in (before, after))
        yield name, second - first


def _backbone(hf_model: nn.Module) -> nn.Module:
    """Return a transformers model without the modules for its answers."""
    backbone = getattr(hf_model, "base_model", hf_model)
    return backbone if isinstance(backbone, nn.Module) else hf_model


def _layer_path(path: str) -> str:
    """Return the path of the layer that contains an attention module."""
    parts = path.split(".")
    numbers = [index for index, part in enumerate(parts) if part.isdigit()]
    return ".".join(parts[: numbers[-1] + 1]) if numbers else path


def _noise_like(change: Tensor, random: torch.Generator) -> Tensor:
    """Return noise of the size and the rank of a change."""
    if change.ndim != 2:
        noise = torch.randn(change.shape, generator=random, dtype=torch.float32, device="cpu")
    else:
        values = torch.linalg.svdvals(change)
        values = values[values > _ROUNDING * values[0]]
        left, right = (
            torch.linalg.qr(
                torch.randn(n, len(values), generator=random, dtype=torch.float32, device="cpu")
            ).Q
            for n in change.shape
        )
        noise = (left * values) @ right.T
    return noise * (torch.linalg.vector_norm(change) / torch.linalg.vector_norm(noise))
