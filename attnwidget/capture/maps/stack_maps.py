"""Maps of one stack: its layers, and map axes in tokens or in words."""

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

_ALL = slice(None)


@dataclass(frozen=True, eq=False)
class StackMaps:
    """Maps of one stack.

    Attributes:
        layers: Layers with attention.
        query: Attending tokens or words, rows of a map.
        key: Attended tokens or words, columns of a map.
        words: Word index of each query token and each key token, int64 [Q] and [K], for maps
            between words; None for maps between tokens.
        known: Function that returns the cached weights of a layer, by its index in `layers`, or
            None.
    """

    layers: Sequence[Layer]
    query: Tokens
    key: Tokens
    words: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    known: Callable[[int], Float32Array | None] = lambda _: None

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> MapPart:
        """Return some rows and columns of every map."""
        return MapPart(self, np.array(rows, np.int64), np.array(columns, np.int64))


@dataclass(frozen=True, eq=False)
class MapPart:
    """Some rows and columns of a stack's maps.

    Attributes:
        maps: Full maps.
        rows: Indices of the rows, in ascending order.
        columns: Indices of the columns, in ascending order.
    """

    maps: StackMaps
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    def __call__(self, layer: int, heads: slice, quantity: str, among: slice = _ALL) -> Array:
        """Return the map part for some heads, [heads, rows, columns].

        Args:
            layer: Index of the layer among the layers with attention.
            heads: Slice of the heads.
            quantity: "weights", "norms" or "gradients".
            among: Slice of the rows, counted from the first; no other rows are computed.
        """
        tokens, words = self._tokens(among)
        values = self._rows(layer, heads, quantity, tokens)
        if words is not None:
            values = word_weights(values, *words)
        all_columns = len(self.columns) == len(self.maps.key)
        return values if all_columns else take(values, self.columns, -1)

    def key_counts(self, layer: int, heads: slice, among: slice = _ALL) -> NDArray[np.int64]:
        """Return the number of keys that each row may see, including hidden keys.

        Args:
            layer: Index of the layer among the layers with attention.
            heads: Slice of the heads.
            among: Slice of the rows, counted from the first.

        Returns:
            Numbers of keys, [1 or heads, rows].
        """
        tokens, words = self._tokens(among)
        visible = self.maps.layers[layer].seen_by(heads, tokens)
        if visible is None:
            return np.full((1, len(self.rows[among])), len(self.maps.key))
        if words is not None:
            visible = word_weights(1.0 * visible, *words) > 0
        return as_numpy(visible.sum(-1))

    def _tokens(
        self, among: slice
    ) -> tuple[list[int] | None, tuple[NDArray[np.int64], NDArray[np.int64]] | None]:
        """Return the query tokens for some rows (None for all), and the words of both axes."""
        rows = self.rows[among]
        is_all = len(rows) == len(self.maps.query)
        if self.maps.words is None:
            return None if is_all else rows.tolist(), None
        query_words, key_words = self.maps.words
        if is_all:
            return None, (query_words, key_words)
        tokens = np.flatnonzero(np.isin(query_words, rows))
        own_words = np.searchsorted(rows, query_words[tokens])
        return tokens.tolist(), (own_words, key_words)

    def _rows(self, layer: int, heads: slice, quantity: str, tokens: list[int] | None) -> Array:
        """Return the maps of some heads between tokens, [heads, tokens, keys]."""
        stack_layer = self.maps.layers[layer]
        products = stack_layer.products
        if tokens is None and quantity == "weights" and products is not None:
            cached = self.maps.known(layer) if is_on_cpu(products.query) else None
            if cached is not None:
                return as_torch(cached)[heads]
        return stack_layer.rows(heads, tokens, quantity=quantity)


def word_of_tokens(tokens: Tokens) -> NDArray[np.int64]:
    """Return the word index of each token on an axis, [n], 0-based and without gaps."""
    words = np.empty(len(tokens), np.int64)
    for word, group in enumerate(tokens.word_groups()):
        words[group] = word
    return words
