"""A layer of one input: one interface to its maps, whatever they are computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attnwidget.capture.maps.layer_parts import part_of, place_of
from attnwidget.capture.maps.map_source import MapSource
from attnwidget.capture.tapping.lazy_rows import Index, LazyRows
from attnwidget.kernels.array_library import Array

if TYPE_CHECKING:
    from attnwidget.capture.maps.layer_blocks import LayerBlocks
    from attnwidget.capture.maps.norm_maps import NormMaps
    from attnwidget.capture.maps.products import Products
    from attnwidget.kernels.streaming import Streamed

# Cells of a layer's maps in memory at a time, which limits the memory for long inputs.
_CELLS_AT_ONCE = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer of one input.

    Attributes:
        n_heads: Number of heads, H.
        n_key_heads: Number of key heads, smaller than `n_heads` if query heads share key heads.
        n_query: Number of queries, Q.
        n_key: Number of keys, K.
        weights: Source of the attention weights.
        mask: Bool [1 or H, Q, K] with True = the query may see the key; None = it may see all.
        norms: Source of the norms ||a f(x)||; None if they are unknown.
        gradients: Source of the magnitudes |dL/da|, 0 where masked; None if they are unknown.
        blocks: The tokens of each block, for a layer that attends in windows or tiles; else None.
        maxima: What a pass over a long input has kept of the rows of the maps; else None.
        by_rows: Whether whole maps of all heads cost too much, so that the layer was read some
            rows at a time.
    """

    n_heads: int
    n_key_heads: int
    n_query: int
    n_key: int
    weights: MapSource
    mask: Array | LazyRows | None = None
    norms: MapSource | None = None
    gradients: MapSource | None = None
    blocks: LayerBlocks | None = None
    maxima: Streamed | None = None
    by_rows: bool = False

    def rows(
        self,
        heads: slice,
        rows: Index | None = None,
        keys: Index | None = None,
        quantity: str = "weights",
    ) -> Array:
        """Return maps of consecutive heads, float32 [heads, Q or rows, K or keys].

        Args:
            heads: The heads.
            rows: The queries; None = all.
            keys: The keys; None = all.
            quantity: "weights", "norms" or "gradients", if the layer has it.
        """
        source: MapSource | None = getattr(self, quantity)
        assert source is not None
        return source.rows(heads, rows, keys)

    def row_slices(self, cells: int = _CELLS_AT_ONCE) -> Iterator[slice]:
        """Yield all queries, as many at a time as have `cells` cells in the maps of all heads."""
        step = max(1, cells // (self.n_heads * self.n_key))
        for first in range(0, self.n_query, step):
            yield slice(first, min(first + step, self.n_query))

    def row_blocks(self, cells: int = _CELLS_AT_ONCE) -> Iterator[tuple[int, Array]]:
        """Yield all weights, some queries at a time: the first query, and its rows [H, r, K]."""
        for rows in self.row_slices(cells):
            yield rows.start, self.rows(slice(0, self.n_heads), rows)

    def n_keys_seen(self, rows: slice) -> int:
        """Return the number of keys up to the last one that a query of these rows sees."""
        seen = self.seen_by(slice(0, self.n_heads), rows)
        # A query that sees no key attends to all keys.
        if seen is None or not bool(seen.any(-1).all()):
            return self.n_key
        return int(seen.flatten(0, -2).any(0).nonzero()[-1]) + 1

    def seen(self, head: int, rows: Index | None = None, keys: Index | None = None) -> Array | None:
        """Return which keys queries of a head may see, bool [Q or rows, K or keys]; None = all."""
        mask = part_of(self.mask, slice(head, head + 1), place_of(rows), place_of(keys))
        return None if mask is None else mask[0]

    def seen_by(self, heads: slice, rows: Index | None = None) -> Array | None:
        """Return which keys queries may see, bool [1 or heads, Q or rows, K]; None = all keys."""
        return part_of(self.mask, heads, place_of(rows), slice(None))

    @property
    def is_numpy(self) -> bool:
        """Whether the maps are arrays of numpy, which need no torch."""
        return self.weights.is_numpy

    @property
    def products(self) -> Products | None:
        """The queries and keys from which the weights are computed; None for other weights."""
        return self.weights.products

    @property
    def norm_maps(self) -> NormMaps:
        """The norms of a layer of a model, with the lengths of its vectors."""
        from attnwidget.capture.maps.norm_maps import NormMaps

        assert isinstance(self.norms, NormMaps)
        return self.norms

    def without_norms(self) -> Layer:
        """Return the layer without norms."""
        return replace(self, norms=None)
