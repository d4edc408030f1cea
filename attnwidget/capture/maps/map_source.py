"""Interface of the sources that compute a layer's maps for one quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attnwidget.capture.tapping.lazy_rows import Index
from attnwidget.kernels.array_library import Array

if TYPE_CHECKING:
    from attnwidget.capture.maps.products import Products


class MapSource(Protocol):
    """A layer's maps for one quantity, computed for the requested heads, queries and keys.

    `Products` computes maps from queries and keys, `GivenMaps` holds arrays, `BlockMaps` joins maps
    of windows or tiles, and `NormMaps` multiplies weights by vector lengths.
    """

    @property
    def keeps_maps(self) -> bool:
        """Whether the maps themselves are in memory, at least for a part of the tokens."""
        ...

    @property
    def is_numpy(self) -> bool:
        """Whether the maps are numpy arrays, which need no torch."""
        ...

    @property
    def products(self) -> Products | None:
        """The queries and keys from which the maps are computed; None if there are none."""
        ...

    def rows(self, heads: slice, rows: Index | None = None, keys: Index | None = None) -> Array:
        """Return maps of consecutive heads, float32 [heads, Q or rows, K or keys]."""
        ...
