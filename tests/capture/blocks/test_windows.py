"""Layers with windows are whole maps over all tokens, exactly."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attnwidget.capture.maps.skipped_layers import layer_of
from attnwidget.capture.tapping.attention_sites import find_sites
from fixtures.block_models import BlockModel, build_blocks
from fixtures.zoo import TRANSFORMERS_4

SMALL = 1e-6

built = cache(build_blocks)


@cache
def read(name: str) -> Any:
    """The attention of random pixels."""
    family = built(name)
    return family.reader.attend(family.pixels())


class Recorded:
    """The states that each layer reads, and what its attention adds to them, in token order."""

    def __init__(self, family: BlockModel, last_norm: str) -> None:
        self.read: dict[str, Tensor] = {}
        self.added: dict[str, Tensor] = {}
        hooks = []
        for site in find_sites(family.model):
            layer = layer_of(family.model, site)

            def before(_: Any, args: Any, path: str = site.path) -> None:
                self.read[path] = args[0].reshape(-1, args[0].shape[-1])

            def inside(_: Any, args: Any, path: str = site.path) -> None:
                self.added[path] = args[0].reshape(-1, args[0].shape[-1]) - self.read[path]

            hooks.append(layer.register_forward_pre_hook(before))
            hooks.append(getattr(layer, last_norm).register_forward_pre_hook(inside))
        with torch.no_grad():
            family.model(**family.pixels())
        for hook in hooks:
            hook.remove()


def swin_map(layer: Any, x: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """The map of a layer of Swin over its padded grid, [H, n, n], and the values, [H, n, Dv]."""
    window, shift = layer.window_size, layer.shift_size
    down, across = -(-rows // window) * window, -(-columns // window) * window
    grid = torch.zeros(down, across, x.shape[-1])
    grid[:rows, :columns] = layer.layernorm_before(x).reshape(rows, columns, -1)
    attention = layer.attention
    n = down * across
    query, key, value = (
        project(grid).reshape(n, attention.num_attention_heads, -1).transpose(0, 1)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    scores = torch.full((len(query), n, n), -torch.inf)
    table = attention.relative_position_bias.relative_position_bias_table
    for q in range(n):
        for k in range(n):
            places = [((p // across - shift) % down, (p % across - shift) % across) for p in (q, k)]
            (y, x_), (v, u) = places
            if y // window != v // window or x_ // window != u // window:
                continue
            bias = table[(y - v + window - 1) * (2 * window - 1) + x_ - u + window - 1]
            scores[:, q, k] = (query[:, q] * key[:, k]).sum(-1) * attention.scaling + bias
            # Tokens that the shift has brought together from opposite edges are apart.
            regions = [
                (_edge(p, down, window, shift), _edge(r, across, window, shift)) for p, r in places
            ]
            if shift and regions[0] != regions[1]:
                scores[:, q, k] -= 100
    return scores.softmax(-1), value


def _edge(place: int, size: int, window: int, shift: int) -> int:
    return int(place >= size - window) + int(place >= size - shift)


def sam_map(layer: Any, x: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """The map of a layer of SAM over its padded grid, [H, n, n], and the values, [H, n, Dv]."""
    window = layer.window_size or rows
    down, across = -(-rows // window) * window, -(-columns // window) * window
    grid = torch.zeros(down, across, x.shape[-1])
    grid[:rows, :columns] = layer.layer_norm1(x).reshape(rows, columns, -1)
    attention = layer.attn
    n = down * across
    query, key, value = (
        attention.qkv(grid).reshape(n, 3, attention.num_attention_heads, -1).permute(1, 2, 0, 3)
    )
    scores = torch.full((len(query), n, n), -torch.inf)
    for q in range(n):
        for k in range(n):
            (y, x_), (v, u) = divmod(q, across), divmod(k, across)
            if y // window != v // window or x_ // window != u // window:
                continue
            bias = (
                attention.rel_pos_h[y - v + window - 1] + attention.rel_pos_w[x_ - u + window - 1]
            )
            product = attention.scale * key[:, k] + bias
            scores[:, q, k] = (query[:, q] * product).sum(-1)
    return scores.softmax(-1), value


REFERENCES = {
    "Swin": (swin_map, "layernorm_after", {"stage 1": (8, 8), "stage 2": (4, 4)}),
    "Swin with padding": (swin_map, "layernorm_after", {"stage 1": (8, 10), "stage 2": (4, 5)}),
    "SAM": (sam_map, "layer_norm2", {"self": (6, 6)}),
    "SAM with padding": (sam_map, "layer_norm2", {"self": (6, 6)}),
}


@torch.no_grad()
@pytest.mark.parametrize("name", REFERENCES)
def test_a_whole_map_is_the_map_of_a_slow_reference(name: str) -> None:
    if TRANSFORMERS_4 and name.startswith("Swin"):
        pytest.skip("the reference reads modules by their names in transformers 5")
    reference, last_norm, shapes = REFERENCES[name]
    family = built(name)
    attention = read(name)
    recorded = Recorded(family, last_norm)
    for stack, (rows, columns) in shapes.items():
        sites = [site for site in find_sites(family.model) if site.stack == stack]
        for number, site in enumerate(sites):
            layer: Any = layer_of(family.model, site)
            maps, value = reference(layer, recorded.read[site.path], rows, columns)
            down = -(-rows // (layer.window_size or rows)) * (layer.window_size or rows)
            across = maps.shape[-1] // down
            real = [y * across + x for y in range(rows) for x in range(columns)]
            weights = torch.from_numpy(attention.weights(number, stack=stack))
            count = len(real)
            assert (
                float((weights[:, :count, :count] - maps[:, real][..., real]).abs().max()) < SMALL
            )
            rest = sorted(set(range(down * across)) - set(real))
            padding = weights[:, :count, count:].sum(-1)
            assert float((padding - maps[:, real][..., rest].sum(-1)).abs().max()) < SMALL
            # The map times the values is what the attention adds to the states of the tokens.
            values = value[:, real]
            if weights.shape[-1] > count:  # every token of padding has the same value
                filler = value[:, rest[:1]] if rest else value[:, :1] * 0
                values = torch.cat([values, filler.expand(-1, weights.shape[-1] - count, -1)], 1)
            summed = (weights[:, :count] @ values).transpose(0, 1).reshape(count, -1)
            attention_module: Any = site.module
            project = attention_module.proj if name.startswith("SAM") else attention_module.o_proj
            added = recorded.added[site.path]
            error = (project(summed) - added).abs().max() / added.abs().max()
            assert float(error) < SMALL


@pytest.mark.parametrize("name", [*REFERENCES, "Swin 2"])
def test_rows_sum_to_one_and_other_windows_are_masked(name: str) -> None:
    attention = read(name)
    for stack in attention.stacks.values():
        for layer in range(stack.n_layers):
            weights = attention.weights(layer, stack=stack.name)
            seen = attention.visible(layer, 0, stack=stack.name)
            count = sum(kind != "padding" for kind in stack.query.special)
            assert np.abs(weights[:, :count].sum(-1) - 1).max() < SMALL
            if seen is not None:
                assert not weights[:, ~seen].any()
                assert np.array_equal(seen, seen.T)
