"""Head statistics from the gradient of a score with respect to attention weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.answers.losses import LossTask
from attnwidget.capture.maps.gradient_numbers import gradient_numbers
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.numbered_layers import layer_numbers
from attnwidget.capture.tapping.tap import LayerAttention
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.kernels.arrays import Float64Array
from attnwidget.model_facts.plain_forward import uncompiled


def head_gradients(
    hf_model: Any,
    inputs: Mapping[str, Tensor],
    score: Callable[[Any], Tensor],
    number_of: Callable[[LayerAttention, Tensor], Tensor],
    *,
    stack: str = "self",
) -> tuple[Float64Array, Tensor]:
    """Return statistics of all heads of a stack from a forward and a backward pass.

    Args:
        hf_model: Transformers model.
        inputs: Inputs of the model, [B, ...].
        score: Function from the output to the score of each input, [B].
        number_of: Function from a layer's attention and the gradient of the sum of scores with
            respect to its weights, [B, H, Q, K], to numbers [..., H].
        stack: Stack of the heads.

    Returns:
        Statistics, float64 [..., L, H], NaN for layers without attention; and the scores, [B].

    Raises:
        ValueError: If no gradient reaches a layer's weights, or there is no such stack.
    """
    task = LossTask("score", inputs, score)
    numbers, scores = gradient_numbers(
        hf_model, task, number_of, without_cache(hf_model), stack=stack
    )
    # The layers of a model may be on several devices.
    rows = [row.to(scores.device) for row in numbers.values()]
    if not rows:
        raise ValueError(f"there is no stack {stack!r} in {type(hf_model).__name__}")
    by_layer: Float64Array = torch.stack(rows, -2).cpu().numpy()
    layers = layer_numbers(uncompiled(hf_model), find_sites(uncompiled(hf_model)))
    if stack in layers:
        by_layer = layers[stack].spread(by_layer, axis=-2)
    return by_layer, scores


def output_times_gradient(seen: LayerAttention, gradient: Tensor) -> Tensor:
    """Return the sums over tokens of z . dS/dz and |z . dS/dz| of each head: float64 [2, B, H].

    Here z is the output of a head at a token, before the output projection, and S is the score. z
    is the sum over keys of a v, so dS/da = dS/dz . v, and the sum over keys of a dS/da is z .
    dS/dz.
    """
    products = torch.linalg.vecdot(seen.weights.float(), gradient.float())  # [B, H, Q]
    signed = products.sum(-1, dtype=torch.float64)
    return torch.stack([signed, products.abs().sum(-1, dtype=torch.float64)])
