"""Exact parts of one head's map at every size: tiles, and the strongest links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from attnwidget.capture.maps.layer import Layer
from attnwidget.kernels.array_library import Array, copied, largest_entries, library_of
from attnwidget.kernels.pooling import block_maxima
from attnwidget.model_facts.latest_values import LatestValues

# Number of map cells in memory at a time.
_CELLS_AT_ONCE = 1024 * 1024
# Whole maps are cached in blocks of this many tokens; larger blocks are computed from these.
_PYRAMID = 8
_REMEMBERED = 4
# Number of queries per tile when an overview without the diagonal is made; a multiple of
# `_PYRAMID`.
_DIAGONAL = 128

#: (from, to) among queries or keys, with the end excluded.
IndexRange = tuple[int, int]


class Tiles:
    """Map tiles for a stack's `layers` by number; a few overviews are cached."""

    def __init__(self, layers: Mapping[int, Layer]) -> None:
        self._layers = layers
        self._overviews: LatestValues[tuple[int, int, bool], Array] = LatestValues(_REMEMBERED)

    def tile(
        self, layer: int, head: int, queries: tuple[int, int], keys: tuple[int, int], step: int
    ) -> Array:
        """Return the largest weight in each `step` by `step` block of tokens; NaN if masked."""
        stack_layer = self._layers[layer]
        edges = [queries[0], keys[0], step]
        # A block at the end of a part may be cut, and then has fewer tokens than a cached block.
        edges += [
            end
            for end in (queries[1], keys[1])
            if end not in (stack_layer.n_query, stack_layer.n_key)
        ]
        if step < _PYRAMID or any(edge % _PYRAMID for edge in edges):
            maxima = _maxima(stack_layer, head, queries, keys, step)
        else:
            part = [slice(low // _PYRAMID, -(-high // _PYRAMID)) for low, high in (queries, keys)]
            maxima = _pooled(self._overview(layer, head)[part[0], part[1]], step // _PYRAMID)
        return library_of(maxima).where(maxima < 0, np.nan, maxima)

    def top_links(
        self,
        layer: int,
        head: int,
        top: int,
        within: tuple[int, int, int, int],
        *,
        diagonal: bool = True,
    ) -> list[tuple[int, int, float]]:
        """Return (query, key, weight) of the strongest links of some queries and keys, in order.

        `within` is (first query, query end, first key, key end), with ends excluded. Without
        `diagonal`, links from a token to itself are left out.
        """
        queries = within[:2]
        keys = within[2:]
        parts = [(queries, keys)]
        if (queries[1] - queries[0]) * (keys[1] - keys[0]) > _CELLS_AT_ONCE:
            parts = self._strongest_parts(layer, head, top, queries, keys, diagonal)
        links: list[tuple[float, int, int]] = []
        for (first, last), (left, right) in parts:
            for rows in _row_blocks((first, last), (left, right), 1):
                values = _values(self._layers[layer], head, rows, slice(left, right))
                if not diagonal:
                    values = _off_diagonal(values, rows.start, left)
                for weight, index in zip(*largest_entries(values.reshape(-1), top), strict=True):
                    row, column = divmod(index, right - left)
                    links += [(weight, rows.start + row, left + column)] if weight >= 0 else []
        links.sort(key=lambda link: (-link[0], link[1], link[2]))
        return [(query, key, weight) for weight, query, key in links[:top]]

    def _strongest_parts(
        self,
        layer: int,
        head: int,
        count: int,
        queries: IndexRange,
        keys: IndexRange,
        diagonal: bool,
    ) -> list[tuple[IndexRange, IndexRange]]:
        """Return parts that contain the `count` strongest links: at most `count` blocks, and edges.

        The edges are the queries and keys outside of complete blocks.
        """
        (top, bottom), (left, right) = (
            (-(-low // _PYRAMID), high // _PYRAMID) for low, high in (queries, keys)
        )
        overview = self._overview(layer, head, diagonal)[top:bottom, left:right]
        _, best = largest_entries(overview.reshape(-1), count)
        parts: list[tuple[IndexRange, IndexRange]] = []
        for index in best:
            row, column = divmod(index, right - left)
            query = (top + row) * _PYRAMID
            key = (left + column) * _PYRAMID
            parts.append(((query, query + _PYRAMID), (key, key + _PYRAMID)))
        complete_blocks = (top * _PYRAMID, bottom * _PYRAMID), (left * _PYRAMID, right * _PYRAMID)
        return parts + edges_around(complete_blocks, queries, keys)

    def _overview(self, layer: int, head: int, diagonal: bool = True) -> Array:
        """Return the whole map in blocks of `_PYRAMID` tokens, -1 where masked."""
        key = layer, head, diagonal
        overview = self._overviews.get(key)
        if overview is None:
            stack_layer = self._layers[layer]
            if diagonal:
                overview = _maxima(
                    stack_layer, head, (0, stack_layer.n_query), (0, stack_layer.n_key), _PYRAMID
                )
            else:
                overview = _without_diagonal(stack_layer, head, self._overview(layer, head))
            self._overviews.add(key, overview)
        return overview


def edges_around(
    whole: tuple[IndexRange, IndexRange], queries: IndexRange, keys: IndexRange
) -> list[tuple[IndexRange, IndexRange]]:
    """Return the parts of a window around its complete blocks, each as queries and keys.

    Args:
        whole: Queries and keys of the complete blocks in the window.
        queries: Queries of the window, with the end excluded.
        keys: Keys of the window, with the end excluded.

    Example:
        >>> from attnwidget.capture.maps.tiles import edges_around
        >>> edges_around(((8, 16), (8, 16)), (6, 16), (8, 17))
        [((6, 8), (8, 17)), ((8, 16), (16, 17))]
    """
    edges = [
        ((queries[0], whole[0][0]), keys),
        ((whole[0][1], queries[1]), keys),
        (whole[0], (keys[0], whole[1][0])),
        (whole[0], (whole[1][1], keys[1])),
    ]
    return [
        (rows, columns) for rows, columns in edges if rows[0] < rows[1] and columns[0] < columns[1]
    ]


def _maxima(
    layer: Layer, head: int, queries: tuple[int, int], keys: tuple[int, int], step: int
) -> Array:
    blocks = _row_blocks(queries, keys, step)
    maxima = [_pooled(_values(layer, head, rows, slice(*keys)), step) for rows in blocks]
    return library_of(maxima[0]).concatenate(maxima)


def _without_diagonal(layer: Layer, head: int, overview: Array) -> Array:
    """Return the overview of a map without its diagonal."""
    overview = copied(overview)
    end = min(layer.n_query, layer.n_key)
    for first in range(0, end, _DIAGONAL):
        rows = slice(first, min(first + _DIAGONAL, layer.n_query))
        columns = slice(first, min(first + _DIAGONAL, layer.n_key))
        values = _values(layer, head, rows, columns)
        maxima = _pooled(_off_diagonal(values, rows.start, columns.start), _PYRAMID)
        index = first // _PYRAMID
        overview[index : index + maxima.shape[0], index : index + maxima.shape[1]] = maxima
    return overview


def _off_diagonal(values: Array, query: int, key: int) -> Array:
    """Return a copy of a tile that starts at `query` and `key`, with -1 on the map's diagonal."""
    values = copied(values)  # `values` may be a view of the stored map.
    n_query, n_key = values.shape
    first = max(query, key)
    positions = np.arange(first, max(first, min(query + n_query, key + n_key)))
    values[positions - query, positions - key] = -1
    return values


def _row_blocks(queries: tuple[int, int], keys: tuple[int, int], step: int) -> Iterator[slice]:
    """Yield query slices, each with complete blocks of `step`."""
    count = max(1, _CELLS_AT_ONCE // max(1, keys[1] - keys[0]) // step) * step
    for first in range(*queries, count):
        yield slice(first, min(first + count, queries[1]))


def _values(layer: Layer, head: int, rows: slice, keys: slice) -> Array:
    """Return weights of one head, [rows, keys], -1 where masked."""
    weights = layer.rows(slice(head, head + 1), rows, keys)[0]
    visible = layer.seen(head, rows, keys)
    return weights if visible is None else library_of(visible).where(visible, weights, -1.0)


def _pooled(values: Array, step: int) -> Array:
    return block_maxima(block_maxima(values, step, axis=-2), step)
