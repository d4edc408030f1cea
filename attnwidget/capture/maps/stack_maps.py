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

_ALL = slice(None)


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

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> MapPart:
        """Return the given rows and columns of every map."""
        return MapPart(self, np.array(rows, np.int64), np.array(columns, np.int64))


@dataclass(frozen=True, eq=False)
class MapPart:
    """Some rows and columns of the maps of a stack.

    Attributes:
        maps: The whole maps.
        rows: Indices of the rows, in ascending order.
        columns: Indices of the columns, in ascending order.
    """

    maps: StackMaps
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    def __call__(self, layer: int, heads: slice, quantity: str, among: slice = _ALL) -> Array:
        """Return the part of the maps of some heads, [heads, rows, columns].

        Args:
            layer: The place of the layer among the layers with attention.
            heads: The heads.
            quantity: "weights", "norms" or "gradients".
            among: Some of the rows, counted from the first; no further rows are computed.
        """
        tokens, words = self._tokens(among)
        values = self._rows(layer, heads, quantity, tokens)
        if words is not None:
            values = word_weights(values, *words)
        all_columns = len(self.columns) == len(self.maps.key)
        return values if all_columns else take(values, self.columns, -1)

    def key_counts(self, layer: int, heads: slice, among: slice = _ALL) -> NDArray[np.int64]:
        """Return the number of keys that each row may see, hidden keys included.

        Args:
            layer: As for a call.
            heads: The heads.
            among: As for a call.

        Returns:
            Numbers [1 or heads, rows].
        """
        tokens, words = self._tokens(among)
        seen = self.maps.layers[layer].seen_by(heads, tokens)
        if seen is None:
            return np.full((1, len(self.rows[among])), len(self.maps.key))
        if words is not None:
            seen = word_weights(1.0 * seen, *words) > 0
        return as_numpy(seen.sum(-1))

    def _tokens(
        self, among: slice
    ) -> tuple[list[int] | None, tuple[NDArray[np.int64], NDArray[np.int64]] | None]:
        """Return the query tokens of some rows, None for all, and the words of both axes."""
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
        kept = self.maps.layers[layer]
        products = kept.products
        if tokens is None and quantity == "weights" and products is not None:
            known = self.maps.known(layer) if is_on_cpu(products.query) else None
            if known is not None:
                return as_torch(known)[heads]
        return kept.rows(heads, tokens, quantity=quantity)


def word_of_tokens(tokens: Tokens) -> NDArray[np.int64]:
    """Return the word of each token of an axis, [n], 0-based and without gaps."""
    words = np.empty(len(tokens), np.int64)
    for word, group in enumerate(tokens.word_groups()):
        words[group] = word
    return words
