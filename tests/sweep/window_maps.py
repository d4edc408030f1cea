"""Whole maps of models whose layers compute attention in windows, placed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn


def maps_of_windows(model: Any, inputs: Mapping[str, Tensor]) -> dict[str, list[Tensor]]:
    """The whole maps [B, H, n, n] of each stack of Swin or of SAM's reader of pictures.

    Args:
        model: An eager model, whose windows divide its picture.
        inputs: What it reads.

    Returns:
        The maps by stack; {} for other models.
    """
    layers = _layers(model)
    weights: list[Tensor] = []
    with ExitStack() as undo, torch.no_grad():
        for _, module, _ in layers:
            # Outputs of Swin have the weights of the last layer of each stage alone.
            hook = module.register_forward_hook(lambda _, __, output: weights.append(output[1]))
            undo.callback(hook.remove)
        if layers:
            model(**inputs)
    maps: dict[str, list[Tensor]] = {}
    for (stack, _, places), windows in zip(layers, weights, strict=True):
        if windows.ndim == 3:  # SAM has heads and windows in one dimension
            windows = windows.unflatten(0, (-1, model.config.num_attention_heads))
        of_inputs = windows.unflatten(0, (-1, len(places)))
        n = places.numel()
        whole = windows.new_zeros(len(of_inputs), windows.shape[1], n, n)
        for number, own in enumerate(places):
            whole[:, :, own[:, None], own] = of_inputs[:, number]
        maps.setdefault(stack, []).append(whole)
    return maps


def in_token_order(model: Any, module: nn.Module, rows: Tensor) -> Tensor:
    """Rows of one input that a module with windows reads or writes, by token; else unchanged.

    Args:
        model: The model.
        module: Its attention module.
        rows: A row for each entry of each window, [n, ...].
    """
    for _, other, places in _layers(model):
        if other is module:
            sorted_rows = torch.empty_like(rows)
            sorted_rows[places.flatten()] = rows
            return sorted_rows
    return rows


def _layers(model: Any) -> list[tuple[str, nn.Module, Tensor]]:
    """The stack and the attention module of each layer, and the tokens [W, n] of its windows."""
    config = model.config
    layers = []
    if config.model_type == "swin":
        for number, stage in enumerate(model.encoder.layers):
            side = config.image_size // config.patch_size // 2**number
            for block in stage.blocks:
                places = _windows(side, block.window_size, block.shift_size)
                layers.append((f"stage {number + 1}", block.attention, places))
    elif config.model_type == "sam_vision_model":
        side = config.image_size // config.patch_size
        for layer in model.vision_encoder.layers:
            layers.append(("self", layer.attn, _windows(side, layer.window_size or side, 0)))
    return layers


def _windows(side: int, window: int, shift: int) -> Tensor:
    tokens = torch.arange(side * side).reshape(side, side).roll((-shift, -shift), (0, 1))
    squares = tokens.unfold(0, window, window).unfold(1, window, window)
    return squares.reshape(-1, window * window)
