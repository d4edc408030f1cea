"""Maps of a layer that are arrays in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnwidget.capture.maps.layer_parts import place_of
from attnwidget.capture.tapping.lazy_rows import Index
from attnwidget.kernels.array_library import Array, converted


@dataclass(frozen=True, eq=False)
class GivenMaps:
    """Maps that do not follow from queries and keys, as arrays of any library.

    Attributes:
        maps: Maps of all heads, [H, Q, K].
    """

    maps: Array

    keeps_maps = True
    products = None

    @property
    def is_numpy(self) -> bool:
        """Whether the maps are a numpy array."""
        return isinstance(self.maps, np.ndarray)

    def rows(self, heads: slice, rows: Index | None = None, keys: Index | None = None) -> Array:
        """Return maps of consecutive heads, float32 [heads, Q or rows, K or keys]."""
        return converted(self.maps[heads][:, place_of(rows)][..., place_of(keys)], "float32")
