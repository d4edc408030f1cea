"""Maps of every attention head, with checks for names and memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.combine_heads import Combination
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.stack_axes import Stack, chosen_stack
from attnwidget.capture.maps.tiles import Tiles
from attnwidget.capture.model_lock import ModelLock
from attnwidget.capture.tapping.head import Head, HeadName, head_parts, named_head, names_head
from attnwidget.kernels.array_library import Array, as_numpy, library_of
from attnwidget.kernels.arrays import Float32Array
from attnwidget.kernels.plain_torch import plain_torch
from attnwidget.kernels.word_weights import word_weights
from attnwidget.model_facts.free_memory import refuse_no_room
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.text.counted import counted
from attnwidget.text.near_names import among

_REMEMBERED_BYTES = 64 * 1024 * 1024


class MapCache:
    """Maps of `layers` by stack and number, with a cache of the latest 64 MiB.

    Maps are computed under `lock`.
    """

    def __init__(self, layers: Mapping[str, Mapping[int, Layer]], lock: ModelLock) -> None:
        self.layers = {name: dict(stack_layers) for name, stack_layers in layers.items()}
        self.lock = lock
        self.tiles = self._new_tiles()
        layers_of_all = (
            layer for stack_layers in self.layers.values() for layer in stack_layers.values()
        )
        self._needs_torch = not all(layer.is_numpy for layer in layers_of_all)
        self._latest = _new_cache()

    def _new_tiles(self) -> dict[str, Tiles]:
        return {name: Tiles(stack_layers) for name, stack_layers in self.layers.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles and deep copies, without the lock and the cached maps."""
        left_out = ("lock", "tiles", "_latest")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = ModelLock()
        self.tiles = self._new_tiles()
        self._latest = _new_cache()

    @contextmanager
    def without_gradients(self) -> Iterator[None]:
        """Compute in plain torch mode, and record no gradients."""
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
            cache_key = (quantity, stack, layer, head)
            all_heads = (quantity, stack, layer, None)
            for key, part in ((cache_key, ...), (all_heads, head)):
                latest = self._latest.get(key)
                if latest is not None:
                    return latest[part]
            heads = slice(None) if head is None else slice(head, head + 1)
            maps = self.layers[stack][layer].rows(heads, quantity=quantity)
            values: Float32Array = as_numpy(maps)
            values = values if head is None else values[0]
            return self._latest.add(cache_key, values)

    def known(self, stack: str, layer: int) -> Float32Array | None:
        """Return the weights of a layer [H, Q, K] if they are cached; do not write to them."""
        with self.lock.in_turn():
            return self._latest.get(("weights", stack, layer, None))

    def rows(self, stack: str, layer: int, head: int, queries: Sequence[int]) -> Float32Array:
        """Return some rows of a head's map, [n, K], without computing other rows."""
        with self.lock.in_turn(), self.without_gradients():
            values = self.layers[stack][layer].rows(slice(head, head + 1), queries)[0]
        computed: Float32Array = as_numpy(values)
        return computed

    def top_links(
        self, head: Head, count: int, part: tuple[int, int, int, int], *, diagonal: bool = True
    ) -> list[tuple[int, int, float]]:
        """Return (query, key, weight) of a head's strongest links in a part, strongest first."""
        with self.lock.in_turn(), self.without_gradients():
            tiles = self.tiles[head.stack]
            return tiles.top_links(head.layer, head.head, count, part, diagonal=diagonal)

    def visible(self, stack: str, layer: int, head: int) -> NDArray[np.bool_] | None:
        """Return the keys that each query may see, bool [Q, K]; None for all keys."""
        visible = self.layers[stack][layer].seen(head)
        return None if visible is None else as_numpy(visible).copy()


def _new_cache() -> LatestValues[tuple[str, str, int, int | None], Float32Array]:
    return LatestValues(_REMEMBERED_BYTES, attrgetter("nbytes"))


# Number of layer-map cells in memory at a time, which limits the memory for long texts.
_CELLS_AT_ONCE = 4 * 1024 * 1024


def one_token(
    layers: Sequence[Layer],
    *,
    side: str,
    tokens: Sequence[int],
    quantity: str,
    words: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> Array:
    """Return a query's row, or a key's column, for every head of `layers`.

    No whole map is in memory: only the row is computed, or the column some rows at a time.

    Args:
        layers: Layers with the same axes.
        side: "query" for a row, "key" for a column.
        tokens: Index of the token, in a list; for values between words, one word's tokens.
        quantity: "weights", "norms" or "gradients".
        words: Word index of each query and key, int64, for values between words. On `side`, all
            `tokens` have word 0.

    Returns:
        Values, float32 [layers, H, n] over the other axis, NaN where masked.
    """
    read_values = _rows if side == "query" else _columns
    rows = []
    for layer in layers:
        values, visible = read_values(layer, tokens, quantity)
        if words is not None:
            values = word_weights(values, *words)
            visible = None if visible is None else word_weights(1.0 * visible, *words) > 0
        if visible is not None:
            values = library_of(values).where(visible, values, np.nan)
        rows.append(values[:, 0] if side == "query" else values[..., 0])
    return library_of(rows[0]).stack(rows)


def _rows(layer: Layer, tokens: Sequence[int], quantity: str) -> tuple[Array, Array | None]:
    """Return values [H, tokens, K], and the mask of visible cells."""
    visible = None if layer.mask is None else layer.mask[:, list(tokens)]
    return layer.rows(slice(None), tokens, quantity=quantity), visible


def _columns(layer: Layer, tokens: Sequence[int], quantity: str) -> tuple[Array, Array | None]:
    """Return values [H, Q, tokens], and the mask of visible cells."""
    visible = None if layer.mask is None else layer.mask[..., list(tokens)]
    step = max(1, _CELLS_AT_ONCE // (layer.n_heads * layer.n_key))
    blocks = []
    for first in range(0, layer.n_query, step):
        rows = range(first, min(first + step, layer.n_query))
        blocks.append(layer.rows(slice(None), rows, tokens, quantity))
    return library_of(blocks[0]).concatenate(blocks, 1), visible


QUANTITIES = ("weights", "norms", "gradients")

# Number of bytes up to which the free memory is not checked.
_UNCHECKED_BYTES = 2**24


class HeadMaps(MapCache):
    """Maps of every head between tokens, with checks for names, quantities and sizes.

    Args:
        layers: Layers of each stack by number.
        stacks: Stacks by name.
        lock: Lock that is held while maps are computed.
        model_name: Name of the model for error messages.
        missing: Reason for each quantity that the attention lacks; "" for the others.
        combination: "mean" or "maximum" if each head combines heads; None for heads of a model.
    """

    def __init__(
        self,
        layers: Mapping[str, Mapping[int, Layer]],
        stacks: Mapping[str, Stack],
        lock: ModelLock,
        *,
        model_name: str,
        missing: Mapping[str, str],
        combination: Combination | None = None,
    ) -> None:
        super().__init__(layers, lock)
        self.stacks = dict(stacks)
        self._model_name = model_name
        self.missing = dict(missing)
        self.combination = combination

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities that have maps."""
        return tuple(name for name in QUANTITIES if not self.missing.get(name))

    @property
    def is_long(self) -> bool:
        """Whether layers were read row by row, because whole maps of all heads cost too much."""
        return any(layer.by_rows for layer in self.all_layers())

    def all_layers(self) -> Iterator[Layer]:
        """Yield all layers with attention, in every stack."""
        for layers in self.layers.values():
            yield from layers.values()

    def stack(self, name: str | None) -> Stack:
        """Return the stack with a name, or the only stack.

        Raises:
            ValueError: The stack does not exist, or there is no name and there are several stacks.
        """
        return chosen_stack(self.stacks, name, self._model_name)

    def head(self, value: HeadName) -> Head:
        """Return the head with a name in any form.

        Raises:
            ValueError: The head does not exist, or the name has no stack although there are several
                stacks.
        """
        shapes = {name: (stack.n_layers, stack.n_heads) for name, stack in self.stacks.items()}
        layers = {name: stack.layers for name, stack in self.stacks.items()}
        return named_head(value, shapes, layers)

    def head_in(
        self, stack: str | None, layer: int | HeadName | None, head: int | HeadName | None
    ) -> Head:
        """Return the head with a layer and number, or with a name in their place.

        `stack` may be None if the model has a single stack, or if the name has the stack.
        """
        parts = head_parts(layer, head, stack)
        return self.head((*parts[:2], self.stack(parts[2] if len(parts) == 3 else None).name))

    def layer(self, layer: int, stack: str | None) -> Layer:
        """Return the layer with a number; `stack` may be None if the model has a single stack."""
        number, _, name = self.head_in(stack, layer, 0)
        return self.layers[name][number]

    def maps(
        self,
        quantity: str,
        layer: int | HeadName | None,
        head: int | HeadName | None,
        stack: str | None,
    ) -> Float32Array:
        """Return copies of maps: [Q, K] of a head, [H, Q, K] of a layer, [L, H, Q, K] of a stack.

        Raises:
            ValueError: The quantity, layer, head or stack does not exist; there is a head without a
                layer; or the maps are too large.
        """
        self.check_quantity(quantity)
        if layer is None and head is None:
            axes = self.stack(stack)
            return axes.layers.spread(self.of_all_layers(quantity, axes.name))
        if head is None and not names_head(layer):
            layer_number, _, name = self.head_in(stack, layer, 0)
            return self.of_layer(name, layer_number, quantity).copy()
        head_name = self.head_in(stack, layer, head)
        self.refuse_whole(head_name.stack, 1)
        return self.get(head_name.stack, head_name.layer, head_name.head, quantity).copy()

    def of_layer(self, stack: str, layer: int, quantity: str = "weights") -> Float32Array:
        """Return the maps of a layer [H, Q, K]; do not write to the result.

        Raises:
            ValueError: The maps are too large.
        """
        self.refuse_whole(stack, self.stacks[stack].n_heads)
        return self.get(stack, layer, None, quantity)

    def of_all_layers(self, quantity: str, stack: str) -> Float32Array:
        """Return the maps of every layer with attention, [layers, H, Q, K]."""
        axes = self.stacks[stack]
        self.refuse_whole(stack, axes.n_heads * len(axes.layers.numbers), copies=2)
        return np.stack([self.maps(quantity, layer, None, stack) for layer in axes.layers.numbers])

    def of_tokens(
        self,
        side: str,
        tokens: Sequence[int],
        quantity: str,
        layer: int | None,
        stack: str,
        words: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> Float32Array:
        """Return all values from a query, or to a key: [H, n] of a layer, [L, H, n] of a stack.

        With `words`, `tokens` are the tokens of one word, as in `one_token`.
        """
        axes = self.stacks[stack]
        stack_layers = self.layers[stack]
        layers = list(stack_layers.values())
        if layer is not None:
            layers = [stack_layers[self.head((layer, 0, stack)).layer]]
        with self.lock.in_turn(), self.without_gradients():
            from_token = one_token(layers, side=side, tokens=tokens, quantity=quantity, words=words)
        values: Float32Array = as_numpy(from_token)
        return axes.layers.spread(values) if layer is None else values[0]

    def check_quantity(self, quantity: str) -> None:
        """Raise ValueError if a quantity does not exist, or if the attention lacks it."""
        if quantity not in QUANTITIES:
            raise ValueError(f"there is no quantity {quantity!r}: {among(quantity, QUANTITIES)}")
        if reason := self.missing.get(quantity):
            raise ValueError(f"this attention has no {quantity}: {reason}")

    def refuse_whole(self, stack: str, heads: int, copies: int = 1) -> None:
        """Raise ValueError if whole maps do not fit the memory.

        Args:
            stack: Name of the stack.
            heads: Number of heads whose maps are requested.
            copies: Number of copies that are in memory together.
        """
        axes = self.stacks[stack]
        check_room(
            copies * 4 * heads * len(axes.query) * len(axes.key),
            f"{counted(heads, 'whole map')} of {len(axes.query):,} queries and {len(axes.key):,} "
            "keys",
            "request one layer, one head, a part (`tile`), some queries (`rows`), or a metric of "
            "`measure`",
        )

    def refuse_combined(self, what: str) -> None:
        """Raise ValueError if each head combines heads; the error names the missing `what`."""
        if self.combination is not None:
            raise ValueError(
                f"a {self.combination} of heads has no {what}: ask the attention of which it was "
                "made for a single head"
            )

    def refuse_no_shares(self, what: str) -> None:
        """Raise ValueError if rows do not sum to 1; the error says that they are not `what`."""
        if self.combination == "maximum":
            raise ValueError(
                f"the rows of a maximum of heads do not sum to 1 and are not {what}: use "
                "attention.mean(...), or the attention of which it was made"
            )


def check_room(needed: int, what: str, instead: str) -> None:
    """Raise ValueError if `needed` bytes are not free; small amounts are not checked.

    The error names `what`, the object that does not fit, and the alternative `instead`.
    """
    if needed > _UNCHECKED_BYTES:
        refuse_no_room(needed, what, lambda _: instead)
