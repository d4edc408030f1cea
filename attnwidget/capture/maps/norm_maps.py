"""Norms ||a f(x)|| of a layer, and the lengths of the vectors that its heads transport."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnwidget.capture.maps.layer_parts import place_of
from attnwidget.capture.maps.map_source import MapSource
from attnwidget.capture.tapping.lazy_rows import Index
from attnwidget.kernels.norms import norm_maps, norms_of_products, summed_norm_maps

# Number of layer-map cells in memory at a time, which limits the memory for long inputs.
_CELLS_AT_ONCE = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class NormMaps:
    """Norms of a model layer (Kobayashi et al. 2020, section 3).

    Attributes:
        weights: Source of the attention weights.
        pairs: Inner products f_h(x_j) . f_g(x_j) of the heads' vectors, [K, H, H]; None if only
            the lengths are known, as for long inputs.
        lengths: Lengths ||f_h(x_j)||, [H, K]; None if they follow from `pairs`.
    """

    weights: MapSource
    pairs: Tensor | None = None
    lengths: Tensor | None = None

    keeps_maps = False
    is_numpy = False
    products = None

    def rows(self, heads: slice, rows: Index | None = None, keys: Index | None = None) -> Tensor:
        """Return norms of consecutive heads, float32 [heads, Q or rows, K or keys]."""
        lengths = self.key_norms()[heads][:, place_of(keys)]
        return norm_maps(self.weights.rows(heads, rows, keys), lengths)

    def key_norms(self) -> Tensor:
        """Return ||f(x_j)|| of every head and key, [H, K]."""
        if self.lengths is not None:
            return self.lengths
        assert self.pairs is not None
        return norms_of_products(self.pairs)

    def summed(self, n_query: int) -> Tensor:
        """Return ||sum over heads of a f(x)||, [Q, K], for a number of queries Q."""
        assert self.pairs is not None
        n_key, n_heads, _ = self.pairs.shape
        step = max(1, _CELLS_AT_ONCE // (n_heads * n_key))
        parts = []
        for first in range(0, n_query, step):
            rows = range(first, min(first + step, n_query))
            parts.append(summed_norm_maps(self.weights.rows(slice(None), rows), self.pairs))
        return torch.cat(parts)
