"""Comparison of two attentions: a check that their maps fit, and maps on common axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.text.alignment import SharedAxis
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    from torch import Tensor


def refuse_incomparable(stacks: Mapping[str, Stack], others: Mapping[str, Stack]) -> None:
    """Raise ValueError if the numbers of layers or heads differ, or the inputs share no token."""
    shapes = [
        {name: (stack.n_layers, stack.n_heads) for name, stack in side.items()}
        for side in (stacks, others)
    ]
    if shapes[0] != shapes[1]:
        dims = [
            ", ".join(f"{name} {layers} × {heads}" for name, (layers, heads) in shape.items())
            for shape in shapes
        ]
        raise ValueError(
            f"attentions of as many layers and heads are compared, head by head; got {dims[0]} and "
            f"{dims[1]}"
        )
    for name, stack in stacks.items():
        other = others[name]
        for own_axis, other_axis in ((stack.query, other.query), (stack.key, other.key)):
            # Two tokenizers may share words even if they share no token.
            axis_pairs = (
                SharedAxis(own_axis, other_axis),
                SharedAxis(own_axis.to_words(), other_axis.to_words()),
            )
            kinds = [axis.first.special[i] for axis in axis_pairs for i, _ in axis.pairs]
            if all(kind in ("cls", "sep") for kind in kinds):
                raise ValueError(
                    "the inputs have no common token and cannot be compared: "
                    f"{_beginning(own_axis)} and {_beginning(other_axis)}"
                )


def has_same_axes(stack: Stack, other: Stack) -> bool:
    """Return whether two stacks have the same query tokens and the same key tokens."""
    pairs = ((stack.query, other.query), (stack.key, other.key))
    return all(SharedAxis(own_axis, other_axis).is_same for own_axis, other_axis in pairs)


def on_common_axes(maps: tuple[Tensor, Tensor], stack: Stack, other: Stack) -> list[Tensor]:
    """Return the maps of two inputs, [H, Q, K] each, from common queries to all keys of both.

    A missing key has weight 0.
    """
    query = SharedAxis(stack.query, other.query)
    key = SharedAxis(stack.key, other.key)
    joint = []
    for map_of_layer, rows, columns in zip(
        maps, zip(*query.pairs, strict=True), key.places, strict=True
    ):
        cells = map_of_layer.new_zeros(len(map_of_layer), len(rows), len(key.tokens))
        cells[..., columns] = map_of_layer[:, list(rows)]
        joint.append(cells)
    return joint


def _beginning(axis: Tokens) -> str:
    return " ".join(axis.text[:5]) + (" …" if len(axis) > 5 else "")
