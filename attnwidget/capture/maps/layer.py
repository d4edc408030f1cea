"""A layer of one input, with one interface to its maps for every source."""

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

# Number of layer-map cells in memory at a time, which limits the memory for long inputs.
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
        mask: True where the query may see the key, bool [1 or H, Q, K]; None if it may see all.
        norms: Source of the norms ||a f(x)||; None if they are unknown.
        gradients: Source of the magnitudes |dL/da|, 0 where masked; None if they are unknown.
        blocks: Tokens of each block, for a layer that attends in windows or tiles; otherwise None.
        maxima: Row data of the maps that a pass over a long input has stored; otherwise None.
        by_rows: Whether the layer was read some rows at a time, because whole maps of all heads
            cost too much.
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
            heads: Slice of the heads.
            rows: Indices of the queries; None for all.
            keys: Indices of the keys; None for all.
            quantity: "weights", "norms" or "gradients", if the layer has it.
        """
        source: MapSource | None = getattr(self, quantity)
        assert source is not None
        return source.rows(heads, rows, keys)

    def row_slices(self, cells: int = _CELLS_AT_ONCE) -> Iterator[slice]:
        """Yield slices of all queries, each with at most `cells` map cells over all heads."""
        step = max(1, cells // (self.n_heads * self.n_key))
        for first in range(0, self.n_query, step):
            yield slice(first, min(first + step, self.n_query))

    def row_blocks(self, cells: int = _CELLS_AT_ONCE) -> Iterator[tuple[int, Array]]:
        """Yield all weights, some queries at a time: the first query, and the rows [H, r, K]."""
        for rows in self.row_slices(cells):
            yield rows.start, self.rows(slice(0, self.n_heads), rows)

    def n_keys_seen(self, rows: slice) -> int:
        """Return the number of keys up to the last key that a query in these rows sees.

        A mask in memory is not searched, so that all keys count.
        """
        if not isinstance(self.mask, LazyRows):
            return self.n_key
        seen, _ = self.mask.span(rows, slice(0, self.n_key), (self.n_query, self.n_key))
        return seen.stop

    def seen(self, head: int, rows: Index | None = None, keys: Index | None = None) -> Array | None:
        """Return the keys that a head's queries may see, bool [Q or rows, K or keys], or None."""
        mask = part_of(self.mask, slice(head, head + 1), place_of(rows), place_of(keys))
        return None if mask is None else mask[0]

    def seen_by(self, heads: slice, rows: Index | None = None) -> Array | None:
        """Return the keys that queries may see, bool [1 or heads, Q or rows, K]; None: all."""
        return part_of(self.mask, heads, place_of(rows), slice(None))

    @property
    def is_numpy(self) -> bool:
        """Whether the maps are numpy arrays, which need no torch."""
        return self.weights.is_numpy

    @property
    def products(self) -> Products | None:
        """The queries and keys from which the weights are computed; None if there are none."""
        return self.weights.products

    @property
    def norm_maps(self) -> NormMaps:
        """The norms of a model layer, with the lengths of its vectors."""
        from attnwidget.capture.maps.norm_maps import NormMaps

        assert isinstance(self.norms, NormMaps)
        return self.norms

    def without_norms(self) -> Layer:
        """Return the layer without norms."""
        return replace(self, norms=None)
