"""Every head of a stack as a small picture: the bytes a grid of heads draws."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.maps.kept_layer import KeptLayer
from attnwidget.capture.maps.tiles import pooled_places
from attnwidget.kernels.pooling import farthest_pool, max_pool, quantise, quantise_signed
from attnwidget.kernels.streaming import SIDE
from attnwidget.kernels.word_maps import word_weights
from attnwidget.text.alignment import SharedAxis
from attnwidget.text.tokens import Tokens

# Number of cells of a layer's maps in memory at a time, which limits the memory for long texts.
_CELLS_AT_ONCE = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class Thumbnails:
    """Small maps of all heads of one stack.

    Attributes:
        values: uint8 [L, H, R, C] of round(255 sqrt(value / head maximum)), max-pooled to at most
            64 rows and columns (of a long input in blocks of equal length); of differences
            128 + sign round(127 sqrt(|value| / largest)), the value farthest from 0 in each cell.
        maxima: float32 [L, H], the largest value of each head, of differences the one farthest
            from 0.
        strongest: int32 [L, H, 2], query and key of that value on the full axis; -1 where every
            token is hidden.
    """

    values: NDArray[np.uint8]
    maxima: NDArray[np.float32]
    strongest: NDArray[np.int32]


def word_index(tokens: Tokens) -> Tensor:
    """The word of each token of an axis, int64 [n], 0-based and without gaps."""
    index = torch.empty(len(tokens), dtype=torch.int64)
    for word, group in enumerate(tokens.word_groups()):
        index[group] = word
    return index


@dataclass(frozen=True)
class StackMaps:
    """The maps of a stack: its layers, and the axes that all of them have."""

    layers: Sequence[KeptLayer]
    query: Tokens
    key: Tokens

    def axes(self, *, words: bool) -> tuple[Tokens, Tokens]:
        """Queries and keys, or the words that they are."""
        return (self.query.to_words(), self.key.to_words()) if words else (self.query, self.key)

    def part(self, rows: Sequence[int], columns: Sequence[int], *, words: bool) -> _Part:
        """Some rows and columns of every map, between tokens or words."""
        held = _device(self.layers[0])
        queries, keys = (torch.tensor(at, dtype=torch.int64, device=held) for at in (rows, columns))
        owners = (word_index(self.query).to(held), word_index(self.key).to(held))
        return _Part(self, queries, keys, owners if words else None)


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows and columns of maps that are shown."""

    of: StackMaps
    rows: Tensor
    columns: Tensor
    words: tuple[Tensor, Tensor] | None

    def __call__(self, layer: int, heads: slice, quantity: str) -> Tensor:
        kept = self.of.layers[layer]
        if self.words is not None:
            maps = word_weights(kept.maps(quantity, heads), *self.words)
            maps = maps.index_select(-2, self.rows)
        else:  # rows that are not shown need not be computed
            every = len(self.rows) == len(self.of.query)
            maps = kept.maps(quantity, heads, None if every else self.rows.tolist())
        every = len(self.columns) == maps.shape[-1]
        return maps if every else maps.index_select(-1, self.columns)


def draw_thumbnails(
    shown: StackMaps,
    *,
    words: bool,
    hidden: Collection[str],
    quantity: str = "weights",
    minus: StackMaps | None = None,
) -> Thumbnails:
    """Thumbnails of a quantity of all heads of a stack.

    With `words`, maps are between words; tokens whose kind is in `hidden` are left out. With
    `minus`, of the differences from the maps of a stack of as many layers and heads, between the
    tokens that both have.
    """
    if shown.layers[0].is_streamed:
        return _of_long(shown, hidden)
    axes = shown.axes(words=words)
    places = [[i for i, kind in enumerate(axis.special) if kind not in hidden] for axis in axes]
    other: _Part | None = None
    if minus is not None:
        pairs = [
            [(i, j) for i, j in SharedAxis(own, its).pairs if i in left]
            for own, its, left in zip(axes, minus.axes(words=words), map(set, places), strict=True)
        ]
        places = [[i for i, _ in of] for of in pairs]
        other = minus.part(*([j for _, j in of] for of in pairs), words=words)
    part = shown.part(*places, words=words)
    n_layers = len(shown.layers)
    n_heads = shown.layers[0].n_heads
    if not len(part.rows) or not len(part.columns):
        return _nothing(n_layers, n_heads)
    group = n_heads // shown.layers[0].n_key_heads
    step = max(1, _CELLS_AT_ONCE // (len(shown.query) * len(shown.key) * group)) * group
    values = []
    maxima = []
    strongest = []
    for layer in range(n_layers):
        for first in range(0, n_heads, step):
            heads = slice(first, min(first + step, n_heads))
            maps = part(layer, heads, quantity)
            if other is None:
                best = maps.flatten(-2).argmax(-1)
                small, largest = quantise(max_pool(maps))
            else:
                maps = maps - other(layer, heads, quantity).to(maps.device)
                best = maps.abs().flatten(-2).argmax(-1)
                small, largest = quantise_signed(farthest_pool(maps))
            count = len(part.columns)
            where = (part.rows[best // count], part.columns[best % count])
            strongest.append(torch.stack(where, -1).cpu())
            values.append(small.cpu())
            maxima.append(largest.cpu())
    shape = (n_layers, n_heads)
    all_values = torch.cat(values).numpy()
    return Thumbnails(
        all_values.reshape(*shape, *all_values.shape[1:]),
        torch.cat(maxima).numpy().reshape(shape),
        torch.cat(strongest).numpy().astype(np.int32).reshape(*shape, 2),
    )


def _nothing(*size: int) -> Thumbnails:
    return Thumbnails(
        np.zeros((*size, 0, 0), np.uint8),
        np.zeros(size, np.float32),
        np.full((*size, 2), -1, np.int32),
    )


def _of_long(shown: StackMaps, hidden: Collection[str]) -> Thumbnails:
    """Thumbnails of streamed layers, from the means that the pass has kept if there are any."""
    rows, columns = (
        [i for i, kind in enumerate(axis.special) if kind not in hidden]
        for axis in (shown.query, shown.key)
    )
    shape = (len(shown.layers), shown.layers[0].n_heads)
    if not rows or not columns:
        return _nothing(*shape)
    everything = len(rows) == len(shown.query) and len(columns) == len(shown.key)
    values = []
    maxima = []
    strongest = []
    for layer in shown.layers:
        assert layer.products is not None and layer.products.streamed is not None
        streamed = layer.products.streamed
        for head in range(shape[1]):
            if everything:
                blocks = streamed.blocks[head]
                query = int(streamed.largest[head].argmax())
                row = layer.weights(slice(head, head + 1), [query])[0, 0]
                link = query, int(row.argmax())
            else:
                step = -(-max(len(rows), len(columns)) // SIDE)
                blocks, link = pooled_places(layer, head, rows, columns, step)
            small, largest = quantise(blocks)
            values.append(small.cpu())
            maxima.append(largest.cpu())
            strongest.append(link)
    return Thumbnails(
        torch.stack(values).numpy().reshape(*shape, *values[0].shape),
        torch.stack(maxima).numpy().reshape(shape),
        np.array(strongest, np.int32).reshape(*shape, 2),
    )


def _device(layer: KeptLayer) -> torch.device:
    held = layer.kept if layer.products is None else layer.products.query
    assert held is not None
    return held.device
