"""Numbers of the layers with attention in hybrid models, which also have other layers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.index_among import index_among

# Maximum number of layers that a message lists.
_LISTED = 12


@dataclass(frozen=True)
class LayerNumbers:
    """Attention layers of one stack, by the model's layer numbers.

    Attributes:
        numbers: Numbers of the layers with attention, in computation order.
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
        """Layers that have no attention; empty in most models."""
        return tuple(sorted({*range(self.n_layers)} - {*self.numbers}))

    def place(self, layer: int) -> int:
        """Return the number of attention layers before a layer with attention.

        Raises:
            ValueError: The layer has no attention, or does not exist.
        """
        if layer in self.numbers:
            return self.numbers.index(layer)
        index_among("layer", layer, self.n_layers)
        numbers = ", ".join(map(str, self.numbers[:_LISTED]))
        more = len(self.numbers) - _LISTED
        numbers += f" and {more} more" if more > 0 else ""
        raise ValueError(
            f"layer {layer} of this model has no attention; its attention layers are {numbers}"
        )

    def check(self, layer: int) -> None:
        """Raise ValueError if a layer has no attention, as in `place`."""
        if layer in self.layers_without_attention:
            self.place(layer)

    def said(self, stack: str) -> str:
        """Return a note about the layers without attention; "" if every layer has attention."""
        numbers = self.layers_without_attention
        if not numbers:
            return ""
        stack_label = "" if stack == "self" else f" of {stack!r}"
        if len(numbers) > _LISTED:
            return f"{len(numbers)} of {self.n_layers} layers{stack_label} have no attention"
        number_list = ", ".join(map(str, numbers))
        have = "layer {}{} has" if len(numbers) == 1 else "layers {}{} have"
        return f"{have.format(number_list, stack_label)} no attention"

    def nearest(self, layer: int) -> int:
        """Return the layer with attention that is nearest to a layer, the earlier one in a tie."""
        return min(self.numbers, key=lambda number: (abs(number - layer), number))

    def spread(self, values: NDArray[Any], axis: int = 0, fill: float = np.nan) -> NDArray[Any]:
        """Spread values of the layers with attention over all layers.

        Args:
            values: Array with one entry along `axis` for each layer with attention.
            axis: Axis of the layers.
            fill: Value for layers without attention.

        Returns:
            `values` itself if every layer has attention; otherwise a copy with L entries along
            `axis`.
        """
        if len(self.numbers) == self.n_layers:
            return values
        layers_first = np.moveaxis(values, axis, 0)
        all_layers = np.full((self.n_layers, *layers_first.shape[1:]), fill, values.dtype)
        all_layers[list(self.numbers)] = layers_first
        return np.moveaxis(all_layers, 0, axis)
