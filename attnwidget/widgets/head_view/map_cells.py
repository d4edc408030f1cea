"""Cells of a map between any queries and keys, computed on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.arrays import Float32Array
from attnwidget.text.tokens import Tokens

#: Positions on an axis, in ascending order.
CellPlaces = NDArray[np.int64]


class MapCells(Protocol):
    """Map whose cells are computed on request: float32 [queries, keys], NaN where masked."""

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of queries and keys of the whole map."""

    def __call__(self, queries: CellPlaces, keys: CellPlaces) -> Float32Array:
        """Return the cells between one or more queries and keys, both in ascending order."""


@dataclass(frozen=True)
class TokenCells:
    """Weights or norms of one head between tokens.

    Norms ||a f(x)|| are weights times the norms of the transformed values (Kobayashi et al. 2020).

    Example:
        >>> import numpy as np
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.widgets.head_view.map_cells import TokenCells
        >>> cells = TokenCells(load_model().attend("The cat sat."), Head(2, 1), "weights")
        >>> cells(np.array([1, 3]), np.array([0, 2, 4])).shape
        (2, 3)
    """

    attention: Attention
    head: Head
    quantity: str

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of queries and keys of the stack."""
        axes = self.attention.stacks[self.head.stack]
        return len(axes.query), len(axes.key)

    @cached_property
    def _lengths(self) -> Float32Array | None:
        """Norms of the transformed values [K]; None if the quantity is "weights"."""
        if self.quantity == "weights":
            return None
        layer, head, stack = self.head
        lengths: Float32Array = self.attention.value_norms(layer, stack=stack)[head]
        return lengths

    def __call__(self, queries: CellPlaces, keys: CellPlaces) -> Float32Array:
        """Return the cells between some tokens."""
        layer, head, stack = self.head
        if layer in self.attention.stacks[stack].layers_without_attention:
            return np.full((len(queries), len(keys)), np.nan, np.float32)
        rows, columns = (
            (int(positions[0]), int(positions[-1]) + 1) for positions in (queries, keys)
        )
        values = self.attention.tile(layer, head, rows, columns, stack=stack)
        if len(queries) < rows[1] - rows[0]:
            values = values[queries - rows[0]]
        if len(keys) < columns[1] - columns[0]:
            values = values[:, keys - columns[0]]
        if self._lengths is not None:
            values = values * self._lengths[keys]
        return values


@dataclass(frozen=True)
class WordCells:
    """Map between words: sums over a word's key tokens and means over a word's query tokens.

    A query word sees a key word if any of its tokens sees any token of the key word.
    """

    cells: MapCells
    query: Tokens
    key: Tokens

    @cached_property
    def _starts(self) -> tuple[CellPlaces, CellPlaces]:
        """First token of each word and the end, for both axes."""
        starts = [
            np.array([*(group[0] for group in axis.word_groups()), len(axis)], np.int64)
            for axis in (self.query, self.key)
        ]
        return starts[0], starts[1]

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of words on both axes."""
        rows, columns = self._starts
        return len(rows) - 1, len(columns) - 1

    def __call__(self, queries: CellPlaces, keys: CellPlaces) -> Float32Array:
        """Return the cells between some words."""
        (rows, row_starts), (columns, column_starts) = (
            _tokens_of(starts, words)
            for starts, words in zip(self._starts, (queries, keys), strict=True)
        )
        values = self.cells(rows, columns)
        is_visible = ~np.isnan(values)
        sums = np.add.reduceat(np.where(is_visible, values, 0), column_starts, axis=1)
        counts = np.diff([*row_starts, len(rows)])[:, None]
        means = np.add.reduceat(sums, row_starts, axis=0) / counts
        word_is_visible = np.logical_or.reduceat(
            np.logical_or.reduceat(is_visible, column_starts, axis=1), row_starts, axis=0
        )
        merged: Float32Array = np.where(word_is_visible, means, np.nan).astype(np.float32)
        return merged


@dataclass(frozen=True)
class SharedCells:
    """Map on common axes with another map; NaN for tokens that only the other map has.

    Attributes:
        cells: Cells of the map on its own axes.
        size: Numbers of queries and keys on the common axes.
        places: Positions of the map's queries and keys on the common axes.
    """

    cells: MapCells
    size: tuple[int, int]
    places: tuple[Sequence[int], Sequence[int]]

    @cached_property
    def _own(self) -> list[CellPlaces]:
        """Own index of each common position; -1 for tokens that only the other map has."""
        indices = [np.full(count, -1, np.int64) for count in self.size]
        for own_index, positions in zip(indices, self.places, strict=True):
            own_index[list(positions)] = np.arange(len(positions))
        return indices

    def __call__(self, queries: CellPlaces, keys: CellPlaces) -> Float32Array:
        """Return the cells between some positions on the common axes."""
        rows = self._own[0][queries]
        columns = self._own[1][keys]
        values = np.full((len(rows), len(columns)), np.nan, np.float32)
        has_row = rows >= 0
        has_column = columns >= 0
        if has_row.any() and has_column.any():
            values[np.ix_(has_row, has_column)] = self.cells(rows[has_row], columns[has_column])
        return values


@dataclass(frozen=True)
class DifferenceCells:
    """Difference of two maps on the same axes; NaN if either map has no value."""

    first: MapCells
    second: MapCells

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of queries and keys of both maps."""
        return self.first.size

    def __call__(self, queries: CellPlaces, keys: CellPlaces) -> Float32Array:
        """Return the differences between some positions."""
        difference: Float32Array = self.first(queries, keys) - self.second(queries, keys)
        return difference


def cells_of(attention: Attention, head: Head, quantity: str, unit: str) -> MapCells:
    """Return the map of a head between tokens or words.

    Example:
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.widgets.head_view.map_cells import cells_of
        >>> attention = load_model().attend("The otters purred.")
        >>> cells_of(attention, Head(2, 8), "weights", "words").size
        (6, 6)
    """
    cells = TokenCells(attention, head, quantity)
    axes = attention.stacks[head.stack]
    return WordCells(cells, axes.query, axes.key) if unit == "words" else cells


def whole_of(cells: MapCells) -> Float32Array:
    """Return all cells of a map."""
    n_query, n_key = cells.size
    return cells(np.arange(n_query), np.arange(n_key))


def _tokens_of(starts: CellPlaces, words: CellPlaces) -> tuple[CellPlaces, CellPlaces]:
    """Return the tokens of some words, and each word's start among these tokens."""
    lengths = starts[words + 1] - starts[words]
    word_starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    tokens = np.arange(lengths.sum()) + np.repeat(starts[words] - word_starts, lengths)
    return tokens, word_starts
