"""Heads' outputs replaced by plain hooks on a model's own layers: what edits are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

N_HEADS = 4
SIZE = 8
Split = Callable[[Tensor], Tensor]


def _together(values: Tensor) -> Tensor:
    """[B, K, H * Dv] as [B, H, K, Dv]."""
    return values.unflatten(-1, (-1, SIZE)).transpose(1, 2)


@dataclass(frozen=True)
class Layer:
    """The output projection of one attention layer, what gives its values, and how to cut these."""

    projection: nn.Module
    values: nn.Module
    split: Split = _together


def layers(name: str, model: Any, stack: str) -> list[Layer]:
    """The attention layers of a zoo model's stack."""
    if name == "bert":
        own = [layer.attention for layer in model.bert.encoder.layer]
        return [Layer(a.output.dense, a.self.value) for a in own]
    if name == "gpt2":
        return [
            Layer(b.attn.c_proj, b.attn.c_attn, lambda v: _together(v.chunk(3, -1)[2]))
            for b in model.transformer.h
        ]
    if name == "llama":
        return [Layer(b.self_attn.o_proj, b.self_attn.v_proj) for b in model.model.layers]
    if name == "gpt-neox":
        return [
            Layer(
                b.attention.dense,
                b.attention.query_key_value,
                lambda v: v.unflatten(-1, (N_HEADS, 3, SIZE))[..., 2, :].transpose(1, 2),
            )
            for b in model.gpt_neox.layers
        ]
    if name == "modernbert":
        return [
            Layer(
                b.attn.Wo,
                b.attn.Wqkv,
                lambda v: v.unflatten(-1, (3, N_HEADS, SIZE))[..., 2, :, :].transpose(1, 2),
            )
            for b in model.layers
        ]
    if name == "mpnet":
        return [Layer(b.attention.attn.o, b.attention.attn.v) for b in model.encoder.layer]
    if name == "deberta-v2":
        own = [b.attention for b in model.encoder.layer]
        return [Layer(a.output.dense, a.self.value_proj) for a in own]
    side = model.get_decoder() if stack in ("decoder", "cross") else model.get_encoder()
    if name == "bart":
        attribute = "encoder_attn" if stack == "cross" else "self_attn"
        own = [getattr(b, attribute) for b in side.layers]
        return [Layer(a.out_proj, a.v_proj) for a in own]
    assert name == "t5"
    own = [
        b.layer[1].EncDecAttention if stack == "cross" else b.layer[0].SelfAttention
        for b in side.block
    ]
    return [Layer(a.o, a.v) for a in own]


@contextmanager
def hooked(layer: Layer, on_outputs: Callable[[Tensor, Tensor], Tensor | None]) -> Iterator[None]:
    """Hand a layer's outputs [B, H, Q, Dv] and values [B, Hkv, K, Dv] over, to be replaced."""
    values: list[Tensor] = []

    def keep(_: nn.Module, __: Any, output: Tensor) -> None:
        values[:] = [layer.split(output)]

    def replace(_: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        outputs = on_outputs(_together(given[0]), values[0])
        return given if outputs is None else (outputs.transpose(1, 2).flatten(2), *given[1:])

    hooks = [
        layer.values.register_forward_hook(keep),
        layer.projection.register_forward_pre_hook(replace),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def outputs_of(layer: Layer, model: Any, given: dict[str, Tensor]) -> Tensor:
    """What the heads of a layer put out in the intact model, [B, H, Q, Dv]."""
    found: list[Tensor] = []
    with torch.no_grad(), hooked(layer, lambda outputs, _: found.append(outputs)):
        model(**given)
    return found[0]
