"""The maps of every head of an attention: which heads there are, and how much may be computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.combine_heads import Combination
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.map_cache import MapCache
from attnwidget.capture.maps.stack_axes import Stack, chosen_stack
from attnwidget.capture.maps.weights_of_token import one_token
from attnwidget.capture.model_lock import ModelLock
from attnwidget.capture.tapping.head import Head, named_head
from attnwidget.kernels.array_library import as_numpy
from attnwidget.kernels.arrays import Float32Array
from attnwidget.model_facts.free_memory import refuse_no_room
from attnwidget.text.counted import counted

QUANTITIES = ("weights", "norms", "gradients")

# Bytes that are computed without a look at the free memory.
_UNCHECKED_BYTES = 2**24


class HeadMaps(MapCache):
    """The maps of every head, between tokens. Names, quantities and sizes are checked first.

    Args:
        layers: The kept layers of each stack by number.
        stacks: The stacks by name.
        lock: Held while maps are computed.
        model_name: Name of the model for error messages.
        missing: For each quantity that the attention does not have, the reason; "" if it has it.
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
        """The quantities that have maps."""
        return tuple(name for name in QUANTITIES if not self.missing.get(name))

    @property
    def is_long(self) -> bool:
        """Whether whole maps of all heads cost too much, so that layers were read by rows."""
        return any(layer.by_rows for layer in self.all_layers())

    def all_layers(self) -> Iterator[Layer]:
        """All layers with attention, in every stack."""
        for layers in self.layers.values():
            yield from layers.values()

    def stack(self, name: str | None) -> Stack:
        """The stack of this name, or the only stack.

        Raises:
            ValueError: no such stack, or no name although there are several stacks.
        """
        return chosen_stack(self.stacks, name, self._model_name)

    def head(self, value: Head | Sequence[Any]) -> Head:
        """The head that (layer, head) or (layer, head, stack) names.

        Raises:
            ValueError: no such head, or no stack although there are several stacks.
        """
        shapes = {name: (stack.n_layers, stack.n_heads) for name, stack in self.stacks.items()}
        layers = {name: stack.layers for name, stack in self.stacks.items()}
        return named_head(value, shapes, layers)

    def head_in(self, stack: str | None, layer: int, head: int) -> Head:
        """The head of this layer and number; `stack` may be None in a model with a single stack."""
        return self.head((layer, head, self.stack(stack).name))

    def layer(self, layer: int, stack: str | None) -> Layer:
        """The kept layer of this number; `stack` may be None in a model with a single stack."""
        number, _, name = self.head_in(stack, layer, 0)
        return self.layers[name][number]

    def of(
        self, quantity: str, layer: int | None, head: int | None, stack: str | None
    ) -> Float32Array:
        """Copies of maps: [Q, K] of one head, [H, Q, K] of a layer, [L, H, Q, K] of a stack.

        Raises:
            ValueError: no such quantity, layer, head or stack; a head without a layer; maps that
                are too large.
        """
        self.check_quantity(quantity)
        axes = self.stack(stack)
        if layer is None:
            if head is not None:
                raise ValueError(f"head {head} of which layer? pass layer= too, or neither of them")
            return axes.layers.spread(self.of_all_layers(quantity, axes.name))
        layer, number, name = self.head((layer, 0 if head is None else head, axes.name))
        if head is None:
            return self.of_layer(name, layer, quantity).copy()
        self.refuse_whole(name, 1)
        return self.get(name, layer, number, quantity).copy()

    def of_layer(self, stack: str, layer: int, quantity: str = "weights") -> Float32Array:
        """Return the maps of a layer [H, Q, K]; do not write to the result.

        Raises:
            ValueError: Maps that are too large.
        """
        self.refuse_whole(stack, self.stacks[stack].n_heads)
        return self.get(stack, layer, None, quantity)

    def of_all_layers(self, quantity: str, stack: str) -> Float32Array:
        """The maps of every layer with attention, [layers, H, Q, K]."""
        axes = self.stacks[stack]
        self.refuse_whole(stack, axes.n_heads * len(axes.layers.numbers), copies=2)
        return np.stack([self.of(quantity, layer, None, stack) for layer in axes.layers.numbers])

    def of_tokens(
        self,
        side: str,
        tokens: Sequence[int],
        quantity: str,
        layer: int | None,
        stack: str,
        words: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> Float32Array:
        """All values from a query, or to a key: [H, n] of a layer, [L, H, n] of a stack.

        With `words`, `tokens` are the tokens of one word, as `one_token` describes.
        """
        axes = self.stacks[stack]
        kept = self.layers[stack]
        layers = list(kept.values())
        if layer is not None:
            layers = [kept[self.head((layer, 0, stack)).layer]]
        with self.lock.in_turn(), self.without_gradients():
            from_token = one_token(layers, side=side, tokens=tokens, quantity=quantity, words=words)
        values: Float32Array = as_numpy(from_token)
        return axes.layers.spread(values) if layer is None else values[0]

    def check_quantity(self, quantity: str) -> None:
        """Raise ValueError for a quantity that does not exist, or that the attention lacks."""
        if quantity not in QUANTITIES:
            listed = ", ".join(map(repr, QUANTITIES))
            raise ValueError(f"a quantity is one of {listed}, got {quantity!r}")
        if reason := self.missing.get(quantity):
            raise ValueError(f"this attention has no {quantity}: {reason}")

    def refuse_whole(self, stack: str, heads: int, copies: int = 1) -> None:
        """Raise ValueError for whole maps that do not fit the memory.

        Args:
            stack: The stack.
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
        """Raise ValueError if the heads combine heads; the error names the missing `what`."""
        if self.combination is not None:
            raise ValueError(
                f"a {self.combination} of heads has no {what}: ask the attention of which it was "
                "made for a single head"
            )

    def refuse_no_shares(self, what: str) -> None:
        """Raise ValueError if rows of weights are no shares; the error says they are not `what`."""
        if self.combination == "maximum":
            raise ValueError(
                f"the rows of a maximum of heads do not sum to 1 and are not {what}: use "
                "attention.mean(...), or the attention of which it was made"
            )


def check_room(needed: int, what: str, instead: str) -> None:
    """Raise ValueError if `needed` bytes are not free; small amounts are not checked.

    The error names `what`, which does not fit, and the alternative `instead`.
    """
    if needed > _UNCHECKED_BYTES:
        refuse_no_room(needed, what, lambda _: instead)
