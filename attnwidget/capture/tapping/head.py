"""The name of one attention head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attnwidget.capture.tapping.stack_names import default_stack
from attnwidget.text.index_among import index_among
from attnwidget.text.near_names import among
from attnwidget.text.whole_number import is_whole_number

if TYPE_CHECKING:
    from attnwidget.capture.tapping.layer_numbers import LayerNumbers


class Head(NamedTuple):
    """One attention head: layer and head, counted from 0, and the stack of its layer.

    `stack` is "self" in models with one stack, and for the language model beside its towers
    ("vision", "audio"); "encoder", "decoder" or "cross" in encoder-decoders.

    Example:
        >>> from attnwidget import Head
        >>> head = Head(7, 9)
        >>> str(head), head.paper_name
        ('L7 H9', '8-10')
    """

    layer: int
    head: int
    stack: str = "self"

    @property
    def paper_name(self) -> str:
        """The name in papers, "layer-head", counted from 1."""
        return f"{self.layer + 1}-{self.head + 1}"

    def __str__(self) -> str:
        name = f"L{self.layer} H{self.head}"
        return name if self.stack == "self" else f"{self.stack} {name}"


def named_head(
    value: Head | Sequence[Any],
    shapes: Mapping[str, tuple[int, int]],
    layers: Mapping[str, LayerNumbers] | None = None,
) -> Head:
    """Return the head that (layer, head) or (layer, head, stack) names.

    Args:
        value: The layer and head, and the stack if there are several. Without a stack, the head
            belongs to the only stack, or to the language model beside its towers.
        shapes: Layers and heads per layer of each stack.
        layers: The layers with attention, for stacks in which some layers have none.

    Raises:
        ValueError: There is no such head, its stack is not named, or its layer has no attention.
        TypeError: The layer or the head is no integer.

    Example:
        >>> from attnwidget.capture.tapping.head import named_head
        >>> named_head((3, 5), {"encoder": (6, 12)})
        Head(layer=3, head=5, stack='encoder')
    """
    is_list = hasattr(value, "__len__") and not isinstance(value, (str, Mapping))
    if not is_list or not 2 <= len(value) <= 3:
        raise ValueError(f"a head is (layer, head) or (layer, head, stack), got {value!r}")
    names = ", ".join(map(repr, shapes))
    stack = str(value[2]) if len(value) == 3 else default_stack(shapes)
    if stack is None:
        raise ValueError(f"say which stack, (layer, head, stack): one of {names}")
    if stack not in shapes:
        raise ValueError(f"there is no stack {stack!r}: {among(stack, shapes)}")
    given = (value[0], value[1])
    if not all(map(is_whole_number, given)):
        raise TypeError(f"layer and head are integers, counted from 0, got {given!r}")
    n_layers, n_heads = shapes[stack]
    layer = index_among("layer", given[0], n_layers, repr(stack))
    head = index_among("head", given[1], n_heads, repr(stack))
    if layers and stack in layers:
        layers[stack].check(layer)
    return Head(layer, head, stack)
