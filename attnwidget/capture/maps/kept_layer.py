"""The attention of a layer for one input: queries and keys, or the maps themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.capture.maps.combined_heads import CombinedHeads
from attnwidget.capture.maps.layer_parts import part_of, place_of
from attnwidget.capture.tapping.lazy_rows import Index, LazyRows
from attnwidget.kernels.array_library import Array, converted

if TYPE_CHECKING:
    from torch import Tensor

    from attnwidget.capture.maps.layer_blocks import LayerBlocks
    from attnwidget.capture.maps.products import Products, ScoreParts

# Cells of a layer's maps held at a time, so that long texts do not fill the memory.
_CELLS_AT_ONCE = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class KeptLayer:
    """A layer of one input: `products`, maps `kept` [H, Q, K], `combined` heads, or `blocks`.

    Maps are kept if they do not follow from products. Maps of combined heads follow from the maps
    of other layers, and maps of a layer in blocks from the maps of its blocks. Weights that were
    computed elsewhere are kept in the library of their array: maps of arrays of numpy need no
    torch.

    `mask` [1 or H, Q, K] is bool with True = the query may see the key; None = it may see all.
    `n_key_heads` is smaller than `n_heads` where query heads share key heads. `moved` [K, H, H] are
    the inner products of the heads' transformed vectors, f_h(x_j) . f_g(x_j), and `gradients`
    [H, Q, K] the magnitudes |dL/da|, 0 where masked; None where they are not known. A long input
    has `key_norms` [H, K], the lengths ||f_h(x_j)||, in place of `moved`.
    """

    n_heads: int
    n_key_heads: int
    n_query: int
    n_key: int
    products: Products | None = None
    kept: Array | None = None
    mask: Array | LazyRows | None = None
    moved: Tensor | None = None
    gradients: Tensor | None = None
    key_norms: Tensor | None = None
    combined: CombinedHeads | None = None
    blocks: LayerBlocks | None = None

    def maps(
        self, quantity: str, heads: slice, rows: Index | None = None, keys: Index | None = None
    ) -> Array:
        """The maps of a quantity that the layer has: "weights", "norms" or "gradients"."""
        if self.combined is not None:
            return self.combined.maps(quantity, heads, rows, keys)
        if self.blocks is not None:
            return self.blocks.maps(quantity, heads, rows, keys)
        if quantity == "weights":
            return self.weights(heads, rows, keys)
        if quantity == "gradients":
            assert self.gradients is not None
            return self.gradients[heads][:, place_of(rows)][..., place_of(keys)]
        from attnwidget.kernels.norms import norm_maps

        norms = self.value_norms()[heads][:, place_of(keys)]
        return norm_maps(self.weights(heads, rows, keys), norms)

    def with_gradients(self, magnitudes: Tensor) -> KeptLayer:
        """The layer with |dL/da|, which is set to 0 where masked.

        Args:
            magnitudes: [H, Q, K]; for a layer in blocks [blocks, H, Q, K] of each block.
        """
        if self.blocks is not None:
            return replace(self, blocks=self.blocks.with_gradients(magnitudes))
        mask: Any = self.mask
        is_whole = mask is not None and not isinstance(mask, LazyRows)
        return replace(self, gradients=magnitudes.masked_fill(~mask, 0) if is_whole else magnitudes)

    def value_norms(self) -> Tensor:
        """||f(x_j)|| of every head and key, [H, K]."""
        from attnwidget.kernels.norms import norms_of_products

        if self.blocks is not None:
            return self.blocks.value_norms()
        if self.key_norms is not None:
            return self.key_norms
        assert self.moved is not None
        return norms_of_products(self.moved)

    def summed_norms(self) -> Tensor:
        """||sum over heads of a f(x)||, [Q, K]."""
        import torch

        from attnwidget.kernels.norms import summed_norm_maps

        if self.blocks is not None:
            return self.blocks.summed_norms()
        assert self.moved is not None
        step = max(1, _CELLS_AT_ONCE // (self.n_heads * self.n_key))
        blocks = []
        for first in range(0, self.n_query, step):
            rows = range(first, min(first + step, self.n_query))
            blocks.append(summed_norm_maps(self.weights(slice(None), rows), self.moved))
        return torch.cat(blocks)

    def weights(self, heads: slice, rows: Index | None = None, keys: Index | None = None) -> Array:
        """The maps of `heads` (consecutive ones), [heads, Q or rows, K or keys] float32.

        Of a layer that was streamed nothing but the cells asked for is computed.
        """
        if self.combined is not None:
            return self.combined.maps("weights", heads, rows, keys)
        if self.blocks is not None:
            return self.blocks.maps("weights", heads, rows, keys)
        if self.kept is not None:
            part = self.kept[heads][:, place_of(rows)][..., place_of(keys)]
            return converted(part, "float32")
        assert self.products is not None
        return self.products.weights(heads, rows, keys, self.mask)

    def has_weights_of(self, other: KeptLayer) -> bool:
        """Return whether queries and keys show that the weights equal those of another layer."""
        if self.products is None or other.products is None:
            return False
        return self.products.gives_weights_of(other.products, self.mask, other.mask)

    def score_parts(
        self, head: int, rows: Index | None = None, keys: Index | None = None
    ) -> ScoreParts | None:
        """Return the parts of the scores of a head before the softmax; None without products."""
        if self.products is None:
            return None
        return self.products.score_parts(head, rows, keys, self.mask)

    def row_blocks(self, cells: int = _CELLS_AT_ONCE) -> Iterator[tuple[int, Array]]:
        """All weights, some queries at a time: the first of them, and [H, r, K] from it on."""
        step = max(1, cells // (self.n_heads * self.n_key))
        for first in range(0, self.n_query, step):
            rows = slice(first, min(first + step, self.n_query))
            yield first, self.weights(slice(0, self.n_heads), rows)

    def seen(self, head: int, rows: Index | None = None, keys: Index | None = None) -> Array | None:
        """[Q or rows, K or keys] bool: which keys each query of `head` may see; None = all."""
        mask = part_of(self.mask, slice(head, head + 1), place_of(rows), place_of(keys))
        return None if mask is None else mask[0]

    def seen_by(self, heads: slice) -> Array | None:
        """[1 or heads, Q, K] bool: which keys each query may see; None = all keys."""
        return part_of(self.mask, heads, slice(None), slice(None))

    @property
    def is_streamed(self) -> bool:
        """Whether no map of it was ever whole."""
        if self.combined is not None:
            return any(layer.is_streamed for layer in self.combined.layers)
        if self.blocks is not None:
            return self.blocks.is_long
        return self.products is not None and self.products.streamed is not None

    @property
    def keeps_weights(self) -> bool:
        """Whether the layer keeps weights, because they do not follow from queries and keys."""
        if self.blocks is not None:
            return any(part.keeps_weights for part in self.blocks.parts)
        return self.products is None

    @property
    def is_numpy(self) -> bool:
        """Whether the layer has arrays of numpy, so that its maps need no torch."""
        if self.combined is not None:
            return all(layer.is_numpy for layer in self.combined.layers)
        return isinstance(self.kept, np.ndarray)
