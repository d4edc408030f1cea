"""Cache of the maps of kept layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.tiles import Tiles
from attnwidget.capture.model_lock import ModelLock
from attnwidget.kernels.array_library import as_numpy
from attnwidget.kernels.arrays import Float32Array
from attnwidget.kernels.plain_torch import plain_torch
from attnwidget.model_facts.latest_values import LatestValues

_REMEMBERED_BYTES = 64 * 1024 * 1024


class MapCache:
    """The maps of `layers` by stack and number; the latest 64 MiB are remembered.

    Maps are computed under `lock`.
    """

    def __init__(self, layers: Mapping[str, Mapping[int, Layer]], lock: ModelLock) -> None:
        self.layers = {name: dict(kept) for name, kept in layers.items()}
        self.lock = lock
        self.tiles = self._new_tiles()
        layers_of_all = (layer for kept in self.layers.values() for layer in kept.values())
        self._needs_torch = not all(layer.is_numpy for layer in layers_of_all)
        self._latest = _new_cache()

    def _new_tiles(self) -> dict[str, Tiles]:
        return {name: Tiles(kept) for name, kept in self.layers.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles and deep copies: without the lock and remembered maps."""
        left_out = ("lock", "tiles", "_latest")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = ModelLock()
        self.tiles = self._new_tiles()
        self._latest = _new_cache()

    @contextmanager
    def without_gradients(self) -> Iterator[None]:
        """Compute plainly, and record no operations of torch for gradients."""
        with plain_torch():
            if not self._needs_torch:
                yield
                return
            import torch

            with torch.no_grad():
                yield

    def get(
        self, stack: str, layer: int, head: int | None = None, quantity: str = "weights"
    ) -> Float32Array:
        """Return the map of a head [Q, K], or of a layer [H, Q, K]; do not write to the result."""
        with self.lock.in_turn(), self.without_gradients():
            cached = (quantity, stack, layer, head)
            all_heads = (quantity, stack, layer, None)
            for key, part in ((cached, ...), (all_heads, head)):
                latest = self._latest.get(key)
                if latest is not None:
                    return latest[part]
            heads = slice(None) if head is None else slice(head, head + 1)
            maps = self.layers[stack][layer].rows(heads, quantity=quantity)
            values: Float32Array = as_numpy(maps)
            values = values if head is None else values[0]
            return self._latest.add(cached, values)

    def known(self, stack: str, layer: int) -> Float32Array | None:
        """Return the weights of a layer [H, Q, K] if they are remembered; do not write to them."""
        with self.lock.in_turn():
            return self._latest.get(("weights", stack, layer, None))

    def rows(self, stack: str, layer: int, head: int, queries: Sequence[int]) -> Float32Array:
        """Return some rows of a head's map, [n, K]; no further rows are computed."""
        with self.lock.in_turn(), self.without_gradients():
            values = self.layers[stack][layer].rows(slice(head, head + 1), queries)[0]
        computed: Float32Array = as_numpy(values)
        return computed

    def visible(self, stack: str, layer: int, head: int) -> NDArray[np.bool_] | None:
        """Return which keys each query may see, bool [Q, K]; None = all keys."""
        seen = self.layers[stack][layer].seen(head)
        return None if seen is None else as_numpy(seen).copy()


def _new_cache() -> LatestValues[tuple[str, str, int, int | None], Float32Array]:
    return LatestValues(_REMEMBERED_BYTES, attrgetter("nbytes"))
