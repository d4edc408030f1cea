"""Maps of heads that are the mean or the maximum of other heads, computed on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np

from attnwidget.capture.maps.layer_parts import part_of, place_of
from attnwidget.capture.tapping.lazy_rows import Index, LazyRows
from attnwidget.kernels.array_library import Array, beside, library_of

Combination: TypeAlias = Literal["mean", "maximum"]


class MapLayer(Protocol):
    """The part of a `KeptLayer` that is combined."""

    @property
    def n_query(self) -> int: ...

    @property
    def n_key(self) -> int: ...

    @property
    def mask(self) -> Array | LazyRows | None: ...

    @property
    def is_streamed(self) -> bool: ...

    @property
    def is_numpy(self) -> bool: ...

    def maps(
        self, quantity: str, heads: slice, rows: Index | None = None, keys: Index | None = None
    ) -> Array: ...


#: The layers of the heads that one map combines, each with its heads.
Members: TypeAlias = tuple[tuple[MapLayer, tuple[int, ...]], ...]

# Cells of the maps of single heads in memory at a time.
_CELLS_AT_ONCE = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class CombinedHeads:
    """The heads of a layer: means or maxima of heads of other layers.

    Attributes:
        combination: "mean" or "maximum".
        members: For each head, the layers and heads that its map combines.
    """

    combination: Combination
    members: tuple[Members, ...]

    def maps(
        self, quantity: str, heads: slice, rows: Index | None = None, keys: Index | None = None
    ) -> Array:
        """Return the maps of `heads`, [heads, Q or rows, K or keys] float32.

        The maps of single heads are computed some at a time, and are not kept.
        """
        maps = [self._map(quantity, members, rows, keys) for members in self.members[heads]]
        if not maps:
            layer = self.members[0][0][0]
            return layer.maps(quantity, slice(0, 0), rows, keys)
        return library_of(maps[0]).stack(maps)

    def mask(self) -> Array | LazyRows | None:
        """Return the mask [1 or H, Q, K]: a key is visible if one of the heads sees it."""
        seen = [_distinct_masks(members) for members in self.members]
        names = [None if masks is None else sorted(masks) for masks in seen]
        if all(name == names[0] for name in names):
            seen = seen[:1]
        if all(masks is None for masks in seen):
            return None
        example = next(mask for masks in seen if masks for mask, _ in masks.values())
        library = library_of(example[:, :1, :1])
        layer = self.members[0][0][0]
        shape = layer.n_query, layer.n_key

        def part(rows: Index, keys: Index) -> Array:
            unions = [_union(masks, rows, keys, shape, example) for masks in seen]
            return library.concatenate(unions)

        if isinstance(example, LazyRows):
            return LazyRows(len(seen), part)
        return part(slice(None), slice(None))

    @cached_property
    def layers(self) -> tuple[MapLayer, ...]:
        """All layers of the combined heads, each once."""
        layers = {id(layer): layer for members in self.members for layer, _ in members}
        return tuple(layers.values())

    def _map(
        self, quantity: str, members: Members, rows: Index | None, keys: Index | None
    ) -> Array:
        """Return one map, [Q or rows, K or keys]."""
        total: Array = None
        count = 0
        for layer, heads in members:
            for run in _runs(heads, max(1, _CELLS_AT_ONCE // _cells(layer, rows, keys))):
                maps = layer.maps(quantity, run, rows, keys)
                count += run.stop - run.start
                if self.combination == "mean":
                    part = maps.sum(0)
                    total = part if total is None else total + beside(part, total)
                else:
                    part = library_of(maps).amax(maps, 0)
                    library = library_of(part)
                    total = part if total is None else library.maximum(total, beside(part, total))
        return total / count if self.combination == "mean" else total


def _runs(heads: Sequence[int], most: int) -> Iterator[slice]:
    """Yield slices of consecutive heads, each of at most `most` heads."""
    first = 0
    for i in range(1, len(heads) + 1):
        ends = i == len(heads) or heads[i] != heads[i - 1] + 1 or i - first == most
        if ends:
            yield slice(heads[first], heads[i - 1] + 1)
            first = i


def _cells(layer: MapLayer, rows: Index | None, keys: Index | None) -> int:
    """Return the number of cells of a part of a map."""
    counts = [
        len(range(*at.indices(n))) if isinstance(at, slice) else n if at is None else len(at)
        for at, n in ((rows, layer.n_query), (keys, layer.n_key))
    ]
    return max(1, counts[0] * counts[1])


_Masks: TypeAlias = dict[tuple[int, int], tuple["Array | LazyRows", int]]


def _distinct_masks(members: Members) -> _Masks | None:
    """Return the masks of heads with the place of the head in each; None if a head sees all keys.

    Layers of a model share masks, so there are only a few.
    """
    masks: _Masks = {}
    for layer, heads in members:
        if layer.mask is None:
            return None
        places = [0] if layer.mask.shape[0] == 1 else heads
        for place in places:
            masks[id(layer.mask), place] = layer.mask, place
    return masks


def _union(
    masks: _Masks | None, rows: Index, keys: Index, shape: tuple[int, int], example: Array
) -> Array:
    """Return the keys that one of the masks shows, bool [1, rows, keys]."""
    seen: Array = None
    for mask, place in (masks or {}).values():
        shown = part_of(mask, slice(place, place + 1), place_of(rows), place_of(keys))
        seen = shown if seen is None else seen | beside(shown, seen)
    if seen is not None:
        return seen
    n_rows, n_keys = (
        len(np.arange(count)[place_of(at)]) for at, count in zip((rows, keys), shape, strict=True)
    )
    everything = np.ones((1, n_rows, n_keys), bool)
    return beside(everything, example[:, :1, :1])
