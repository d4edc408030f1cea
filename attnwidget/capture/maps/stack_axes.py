"""Stack: attention layers that read the same sequence, and the axes of their maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.stack_names import default_stack
from attnwidget.text.place_of_token import TokenName, place_of_token
from attnwidget.text.tokens import Tokens


@dataclass(frozen=True)
class Stack:
    """One stack of attention layers, with its map axes.

    Attributes:
        name: "self" for the only stack or the language model, "vision" or "audio" for a tower;
            "encoder", "decoder" or "cross" in an encoder-decoder.
        n_layers: Number of layers in the stack, L, including layers without attention.
        n_heads: Number of attention heads per layer.
        n_key_heads: Number of key heads per layer, smaller than `n_heads` if heads share keys
            (grouped-query attention).
        query: Attending tokens, rows of a map.
        key: Attended tokens, columns of a map.
        layers_without_attention: Layers without attention of a hybrid model; otherwise empty.
        head_names: Names of heads that combine other heads (`Attention.mean`), by layer; empty for
            a model's own heads.
        layer_labels: Short layer names for combined heads, for the margin of a grid.
        head_labels: Short head names for combined heads, in each layer.

    Example:
        >>> from attnwidget import load_model
        >>> stack = load_model().attend("The cat sat.").stacks["self"]
        >>> stack.n_layers, stack.n_heads, len(stack.key)
        (6, 12, 6)
    """

    name: str
    n_layers: int
    n_heads: int
    n_key_heads: int
    # These fields are not printed, because the tokens of a sound would fill pages.
    query: Tokens = field(repr=False)
    key: Tokens = field(repr=False)
    layers_without_attention: tuple[int, ...] = ()
    head_names: tuple[tuple[str, ...], ...] = ()
    layer_labels: tuple[str, ...] = ()
    head_labels: tuple[str, ...] = ()

    @cached_property
    def layers(self) -> LayerNumbers:
        """The numbers of the layers with attention."""
        return LayerNumbers.without(self.layers_without_attention, self.n_layers)

    def head_name(self, layer: int, head: int) -> str:
        """Return the name of a head, for example "L3 H0" or "mean of 12 heads of layer 3"."""
        if self.head_names:
            return self.head_names[layer][head]
        return str(Head(layer, head, self.name))


def chosen_stack(stacks: Mapping[str, Stack], name: str | None, model_name: str) -> Stack:
    """Return the stack with a name, the only stack, or the language model of a model with towers.

    Raises:
        ValueError: The stack does not exist, or there is no name although there are several.
    """
    problem = "say which stack" if name is None else f"there is no stack {name!r}"
    name = default_stack(stacks) if name is None else name
    if name is None or name not in stacks:
        names = ", ".join(map(repr, stacks))
        raise ValueError(f"{problem}: {model_name} has {names}")
    return stacks[name]


def checked_place(stack: Stack, side: str, token: TokenName) -> int:
    """Return a token's position on one side of the stack's maps.

    Raises:
        ValueError: `side` is neither "query" nor "key", or the token does not exist.
    """
    if side not in ("query", "key"):
        raise ValueError(f"side must be 'query' or 'key', got {side!r}")
    tokens = stack.query if side == "query" else stack.key
    return place_of_token(side, token, tokens, repr(stack.name))
