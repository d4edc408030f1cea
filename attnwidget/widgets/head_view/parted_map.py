"""Maps that are computed in parts: block maxima, single rows and strongest links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.tiles import IndexRange, edges_around
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.arrays import Float32Array
from attnwidget.widgets.head_view.map_cells import CellPlaces, MapCells

#: (query from, query to, key from, key to), ends excluded.
MapWindow = tuple[int, int, int, int]
#: (query, key, value), counted among the visible queries and keys.
CellValue = tuple[int, int, float]

# Number of cells that are in memory at a time.
_CELLS_AT_ONCE = 1024 * 1024
# Block size of the cached whole map, from which larger blocks are computed.
_PYRAMID = 8


class PartedMap(Protocol):
    """Visible queries and keys of a map that is computed in parts."""

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of visible queries and keys."""

    @property
    def shares(self) -> tuple[float, float]:
        """Shares of the visible rows' weight on hidden keys and on filtered keys."""

    def blocks(self, queries: IndexRange, keys: IndexRange, step: int) -> Float32Array:
        """Return the value farthest from 0 in each `step` x `step` block; NaN where masked."""

    def links(self, within: MapWindow, count: int, *, diagonal: bool) -> list[CellValue]:
        """Return the cells of a part that are farthest from 0, in order."""


@dataclass(frozen=True)
class HeadParts:
    """Weights of a head between all tokens, for which the attention caches the block maxima."""

    attention: Attention
    head: Head

    shares = (0.0, 0.0)

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of queries and keys of the stack."""
        axes = self.attention.stacks[self.head.stack]
        return len(axes.query), len(axes.key)

    def blocks(self, queries: IndexRange, keys: IndexRange, step: int) -> Float32Array:
        """Return the largest weight of each block."""
        layer, head, stack = self.head
        return self.attention.tile(layer, head, queries, keys, step=step, stack=stack)

    def links(self, within: MapWindow, count: int, *, diagonal: bool) -> list[CellValue]:
        """Return the largest weights of a part, in order."""
        return self.attention.head_maps.top_links(self.head, count, within, diagonal=diagonal)


@dataclass(frozen=True, eq=False)
class ShownParts:
    """Visible rows and columns of a map.

    Attributes:
        cells: Cells of the map.
        rows: Visible queries, in ascending order.
        columns: Visible keys, in ascending order.
        hidden: Hidden keys; all other invisible keys are filtered out.
    """

    cells: MapCells
    rows: CellPlaces
    columns: CellPlaces
    hidden: CellPlaces

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of visible queries and keys."""
        return len(self.rows), len(self.columns)

    @property
    def shares(self) -> tuple[float, float]:
        """Shares of the visible rows' weight on hidden keys and on filtered keys."""
        return self._pass.shares

    def blocks(self, queries: IndexRange, keys: IndexRange, step: int) -> Float32Array:
        """Return the value farthest from 0 in each block."""
        ends = [
            end for end, count in zip((queries[1], keys[1]), self.size, strict=True) if end != count
        ]
        if step < _PYRAMID or any(
            boundary % _PYRAMID for boundary in (step, queries[0], keys[0], *ends)
        ):
            parts = [
                _farthest(self._values(rows, keys), step)
                for rows in _chunks(queries, keys[1] - keys[0], step)
            ]
            return np.concatenate(parts)
        rows, columns = (
            slice(low // _PYRAMID, -(-high // _PYRAMID)) for low, high in (queries, keys)
        )
        return _farthest(self._pass.blocks[rows, columns], step // _PYRAMID)

    def links(self, within: MapWindow, count: int, *, diagonal: bool) -> list[CellValue]:
        """Return the cells of a part that are farthest from 0, in order."""
        queries = within[:2]
        keys = within[2:]
        parts = [(queries, keys)]
        if (queries[1] - queries[0]) * (keys[1] - keys[0]) > _CELLS_AT_ONCE:
            parts = self._strongest_parts(queries, keys, count, diagonal)
        links: list[CellValue] = []
        for rows, columns in parts:
            for chunk in _chunks(rows, columns[1] - columns[0], 1):
                values = self._values(chunk, columns)
                if not diagonal:
                    values[self._is_diagonal(chunk, columns)] = np.nan
                links += _largest(values, count, chunk[0], columns[0])
        links.sort(key=lambda link: (-abs(link[2]), link[0], link[1]))
        return links[:count]

    def _values(self, queries: IndexRange, keys: IndexRange) -> Float32Array:
        return self.cells(self.rows[slice(*queries)], self.columns[slice(*keys)])

    def _is_diagonal(self, queries: IndexRange, keys: IndexRange) -> NDArray[np.bool_]:
        rows = self.rows[slice(*queries), None]
        same: NDArray[np.bool_] = rows == self.columns[None, slice(*keys)]
        return same

    def _strongest_parts(
        self, queries: IndexRange, keys: IndexRange, count: int, diagonal: bool
    ) -> list[tuple[IndexRange, IndexRange]]:
        """Return parts that contain the `count` strongest links.

        These links are in at most `count` cached blocks, or in the edges around the whole blocks.
        """
        blocks = self._pass.blocks if diagonal else self._pass.off_diagonal
        (top, bottom), (left, right) = (
            (-(-low // _PYRAMID), high // _PYRAMID) for low, high in (queries, keys)
        )
        size = _PYRAMID
        parts: list[tuple[IndexRange, IndexRange]] = []
        for row, column, _ in _largest(blocks[top:bottom, left:right], count, top, left):
            rows = (size * row, size * row + size)
            parts.append((rows, (size * column, size * column + size)))
        inner = (top * size, bottom * size), (left * size, right * size)
        return parts + edges_around(inner, queries, keys)

    @cached_property
    def _pass(self) -> _Pass:
        """Block maxima and shares from one pass over all rows."""
        n_query, n_key = self.size
        all_keys = np.arange(self.cells.size[1])
        blocks: list[Float32Array] = []
        off_diagonal: list[Float32Array] = []
        total = hidden = visible = 0.0
        for first, last in _chunks((0, n_query), len(all_keys), _PYRAMID):
            rows = self.cells(self.rows[first:last], all_keys)
            values = rows[:, self.columns]
            total += float(np.nansum(np.maximum(rows, 0)))
            hidden += float(np.nansum(np.maximum(rows[:, self.hidden], 0)))
            visible += float(np.nansum(np.maximum(values, 0)))
            blocks.append(_farthest(values, _PYRAMID))
            diagonal = self._is_diagonal((first, last), (0, n_key))
            off_diagonal.append(_farthest(np.where(diagonal, np.nan, values), _PYRAMID))
        shares = (hidden / total, max(0.0, 1 - (hidden + visible) / total)) if total else (0.0, 0.0)
        return _Pass(np.concatenate(blocks), np.concatenate(off_diagonal), shares)


@dataclass(frozen=True)
class _Pass:
    """Block maxima with and without links from a token to itself, and the invisible shares."""

    blocks: Float32Array
    off_diagonal: Float32Array
    shares: tuple[float, float]


def _chunks(queries: IndexRange, width: int, step: int) -> Iterator[IndexRange]:
    """Yield ranges of queries that consist of whole blocks."""
    count = max(1, _CELLS_AT_ONCE // max(1, width) // step) * step
    for first in range(*queries, count):
        yield first, min(first + count, queries[1])


def _farthest(values: Float32Array, step: int) -> Float32Array:
    """Return the value farthest from 0 in each block; NaN if the whole block is masked."""
    if step == 1:
        return values
    rows, columns = (range(0, count, step) for count in values.shape)
    maxima: Float32Array = np.fmax.reduceat(np.fmax.reduceat(values, rows, 0), columns, 1)
    if not np.nanmin(values, initial=0) < 0:
        return maxima
    minima = np.fmin.reduceat(np.fmin.reduceat(values, rows, 0), columns, 1)
    farthest: Float32Array = np.where(-minima > maxima, minima, maxima)
    return farthest


def _largest(values: Float32Array, count: int, query: int, key: int) -> list[CellValue]:
    """Return the cells farthest from 0 in a part that begins at `query` and `key`."""
    sizes = np.abs(values).ravel()
    sizes[np.isnan(sizes)] = -1
    count = min(count, len(sizes))
    best: list[int] = np.argpartition(-sizes, count - 1)[:count].tolist() if count else []
    width = values.shape[1]
    return [
        (query + index // width, key + index % width, float(values.flat[index]))
        for index in best
        if sizes[index] >= 0
    ]
