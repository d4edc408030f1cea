"""The layers with attention in hybrid models, in which some layers have no attention."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.index_among import index_among

# Number of layers that a message lists.
_LISTED = 12


@dataclass(frozen=True)
class LayerNumbers:
    """The attention layers of one stack, by the model's layer numbers.

    Attributes:
        numbers: The layers with attention, from 0, in the order of computation.
        n_layers: Number of all layers, L, including layers without attention.

    Example:
        >>> import numpy as np
        >>> from attnwidget.capture.tapping.layer_numbers import LayerNumbers
        >>> layers = LayerNumbers((1, 3), 4)
        >>> layers.layers_without_attention, layers.place(3)
        ((0, 2), 1)
        >>> layers.spread(np.array([0.5, 0.25]))
        array([ nan, 0.5 ,  nan, 0.25])
    """

    numbers: tuple[int, ...]
    n_layers: int

    @classmethod
    def without(cls, layers_without_attention: Collection[int], n_layers: int) -> LayerNumbers:
        """Make the layer numbers of a stack from its layers without attention."""
        numbers = (number for number in range(n_layers) if number not in layers_without_attention)
        return cls(tuple(numbers), n_layers)

    @property
    def layers_without_attention(self) -> tuple[int, ...]:
        """The layers that have no attention; empty in most models."""
        return tuple(sorted({*range(self.n_layers)} - {*self.numbers}))

    def place(self, layer: int) -> int:
        """Return how many layers with attention come before a layer with attention.

        Raises:
            ValueError: The layer has no attention, or there is no such layer.
        """
        if layer in self.numbers:
            return self.numbers.index(layer)
        index_among("layer", layer, self.n_layers)
        listed = ", ".join(map(str, self.numbers[:_LISTED]))
        more = len(self.numbers) - _LISTED
        listed += f" and {more} more" if more > 0 else ""
        raise ValueError(
            f"layer {layer} of this model has no attention; its attention layers are {listed}"
        )

    def check(self, layer: int) -> None:
        """Refuse a layer that has no attention; ValueError as `place`."""
        if layer in self.layers_without_attention:
            self.place(layer)

    def said(self, stack: str) -> str:
        """Describe the layers without attention in a note; "" if every layer has attention."""
        without = self.layers_without_attention
        if not without:
            return ""
        of_stack = "" if stack == "self" else f" of {stack!r}"
        if len(without) > _LISTED:
            return f"{len(without)} of {self.n_layers} layers{of_stack} have no attention"
        listed = ", ".join(map(str, without))
        have = "layer {}{} has" if len(without) == 1 else "layers {}{} have"
        return f"{have.format(listed, of_stack)} no attention"

    def nearest(self, layer: int) -> int:
        """Return the layer with attention that is nearest to a layer; the earlier of two."""
        return min(self.numbers, key=lambda number: (abs(number - layer), number))

    def spread(self, values: NDArray[Any], axis: int = 0, fill: float = np.nan) -> NDArray[Any]:
        """Spread values of the layers with attention over all layers.

        Args:
            values: One entry along `axis` for each layer with attention.
            axis: The axis of the layers.
            fill: The value of layers without attention.

        Returns:
            `values` itself if every layer has attention; else a copy with L entries along `axis`.
        """
        if len(self.numbers) == self.n_layers:
            return values
        by_layer = np.moveaxis(values, axis, 0)
        spread = np.full((self.n_layers, *by_layer.shape[1:]), fill, values.dtype)
        spread[list(self.numbers)] = by_layer
        return np.moveaxis(spread, 0, axis)
