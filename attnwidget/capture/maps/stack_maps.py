"""The maps of one stack: its layers, and the axes of their maps in tokens or in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.layer import Layer
from attnwidget.kernels.array_library import Array, as_numpy, as_torch, is_on_cpu, take
from attnwidget.kernels.arrays import Float32Array
from attnwidget.kernels.word_weights import word_weights
from attnwidget.text.tokens import Tokens


@dataclass(frozen=True, eq=False)
class StackMaps:
    """The maps of one stack.

    Attributes:
        layers: The layers with attention.
        query: The attending tokens or words, rows of a map.
        key: The attended tokens or words, columns of a map.
        words: For maps between words, the word of each query token and of each key token, int64
            [Q] and [K]; None for maps between tokens.
        known: Returns the weights of a layer, by its place in `layers`, if they are remembered.
    """

    layers: Sequence[Layer]
    query: Tokens
    key: Tokens
    words: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    known: Callable[[int], Float32Array | None] = lambda _: None

    def whole(self, place: int, heads: slice, quantity: str) -> Array:
        """The maps of some heads of a layer between tokens, by the place of the layer."""
        layer = self.layers[place]
        is_computed = layer.products is not None and is_on_cpu(layer.products.query)
        known = self.known(place) if is_computed and quantity == "weights" else None
        return layer.rows(heads, quantity=quantity) if known is None else as_torch(known)[heads]

    @property
    def cells(self) -> int:
        """Number of cells of one map between tokens."""
        return self.layers[0].n_query * self.layers[0].n_key

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> MapPart:
        """The given rows and columns of every map."""
        return MapPart(self, np.array(rows, np.int64), np.array(columns, np.int64))


@dataclass(frozen=True, eq=False)
class MapPart:
    """Some rows and columns of the maps of a stack.

    Attributes:
        maps: The whole maps.
        rows: Indices of the rows.
        columns: Indices of the columns.
    """

    maps: StackMaps
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    def __call__(self, layer: int, heads: slice, quantity: str) -> Array:
        """The part of the maps of some heads, [heads, rows, columns]."""
        kept = self.maps.layers[layer]
        all_rows = len(self.rows) == len(self.maps.query)
        all_columns = len(self.columns) == len(self.maps.key)
        if self.maps.words is None:  # Rows that are not shown need not be computed.
            if all_rows:
                values = self.maps.whole(layer, heads, quantity)
            else:
                values = kept.rows(heads, self.rows.tolist(), quantity=quantity)
        else:
            values = word_weights(kept.rows(heads, quantity=quantity), *self.maps.words)
            values = values if all_rows else take(values, self.rows, -2)
        return values if all_columns else take(values, self.columns, -1)

    def key_counts(self, layer: int, heads: slice) -> NDArray[np.int64]:
        """The number of keys that each row may see, hidden keys included, [1 or heads, rows]."""
        seen = self.maps.layers[layer].seen_by(heads)
        if seen is None:
            return np.full((1, len(self.rows)), len(self.maps.key))
        if self.maps.words is not None:
            seen = word_weights(1.0 * seen, *self.maps.words) > 0
        return as_numpy(seen.sum(-1))[..., self.rows]


def word_of_tokens(tokens: Tokens) -> NDArray[np.int64]:
    """The word of each token of an axis, [n], 0-based and without gaps."""
    words = np.empty(len(tokens), np.int64)
    for word, group in enumerate(tokens.word_groups()):
        words[group] = word
    return words
