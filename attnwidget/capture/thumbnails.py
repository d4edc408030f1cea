"""Every head of a stack as a small picture: the bytes a grid of heads draws."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.kept_layer import KeptLayer
from attnwidget.kernels.pooling import farthest_pool, max_pool, quantise, quantise_signed
from attnwidget.kernels.word_maps import word_weights
from attnwidget.text.tokens import Tokens

# Cells of one layer's maps held at a time, so that long texts do not fill the memory.
_CELLS_AT_ONCE = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class Thumbnails:
    """Small maps of all heads of one stack.

    Attributes:
        values: uint8 [L, H, R, C] of round(255 sqrt(value / head maximum)), max-pooled to at most
            64 rows and columns; of differences 128 + sign round(127 sqrt(|value| / largest)),
            the value farthest from 0 in each cell.
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


def draw_thumbnails(
    layers: Sequence[KeptLayer],
    query: Tokens,
    key: Tokens,
    *,
    words: bool,
    hidden: Collection[str],
    quantity: str = "weights",
    minus: Sequence[KeptLayer] | None = None,
) -> Thumbnails:
    """Thumbnails of a quantity of `layers`, whose maps have the axes `query` and `key`.

    With `words`, maps are between words; tokens whose kind is in `hidden` are left out. With
    `minus`, of the differences from the maps of those layers, which have the same axes.
    """
    device = _device(layers[0])
    shown = [axis.to_words() if words else axis for axis in (query, key)]
    rows, columns = (
        torch.tensor(
            [i for i, kind in enumerate(axis.special) if kind not in hidden], device=device
        )
        for axis in shown
    )
    n_heads = layers[0].n_heads
    if not len(rows) or not len(columns):
        size = (len(layers), n_heads)
        return Thumbnails(
            np.zeros((*size, 0, 0), np.uint8),
            np.zeros(size, np.float32),
            np.full((*size, 2), -1, np.int32),
        )
    shown_rows = rows.tolist() if len(rows) < len(shown[0]) else None
    words_of = (word_index(query).to(device), word_index(key).to(device)) if words else None
    group = n_heads // layers[0].n_key_heads
    step = max(1, _CELLS_AT_ONCE // (len(query) * len(key) * group)) * group

    def shown_part(layer: KeptLayer, heads: slice) -> Tensor:
        if words_of is not None:
            maps = word_weights(layer.maps(quantity, heads), *words_of).index_select(-2, rows)
        else:  # rows that are not shown need not be computed
            maps = layer.maps(quantity, heads, shown_rows)
        return maps if len(columns) == maps.shape[-1] else maps.index_select(-1, columns)

    values, maxima, strongest = [], [], []
    for index, layer in enumerate(layers):
        for first in range(0, n_heads, step):
            heads = slice(first, min(first + step, n_heads))
            maps = shown_part(layer, heads)
            if minus is None:
                best = maps.flatten(-2).argmax(-1)
                small, largest = quantise(max_pool(maps))
            else:
                maps = maps - shown_part(minus[index], heads)
                best = maps.abs().flatten(-2).argmax(-1)
                small, largest = quantise_signed(farthest_pool(maps))
            where = (rows[best // len(columns)], columns[best % len(columns)])
            strongest.append(torch.stack(where, -1).cpu())
            values.append(small.cpu())
            maxima.append(largest.cpu())
    shape = (len(layers), n_heads)
    all_values = torch.cat(values).numpy()
    return Thumbnails(
        all_values.reshape(*shape, *all_values.shape[1:]),
        torch.cat(maxima).numpy().reshape(shape),
        torch.cat(strongest).numpy().astype(np.int32).reshape(*shape, 2),
    )


def _device(layer: KeptLayer) -> torch.device:
    held = layer.kept if layer.products is None else layer.products.query
    assert held is not None
    return held.device
