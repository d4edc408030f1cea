"""How arrays and axes cross to the page: the only place in Python that knows the wire."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.maps.word_attention import WordAttention
from attnwidget.capture.tapping.head import Head
from attnwidget.text.tokens import Tokens

# Masked tokens that a caption names.
_MASKED_NAMED = 6


def to_wire(array: NDArray[Any]) -> dict[str, Any]:
    """An array as its shape, its dtype and its bytes (little endian, C order).

    The bytes travel as a binary buffer.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.wire.values import to_wire
        >>> wire = to_wire(np.ones((2, 3), "f4"))
        >>> wire["shape"], wire["dtype"], wire["view"].nbytes
        ([2, 3], '<f4', 24)
    """
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    # A memoryview of zero items cannot be cast: bytes can be empty.
    view = memoryview(array).cast("B") if array.size else b""
    return {"shape": list(array.shape), "dtype": array.dtype.str, "view": view}


def in_unit(attention: Attention, unit: str) -> Attention | WordAttention:
    """The attention itself, or its view between words if `unit` is "words"."""
    return attention.words if unit == "words" else attention


def axes_in(stack: Stack, unit: str) -> tuple[Tokens, Tokens]:
    """Queries and keys of a stack, in tokens or in words.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.wire.values import axes_in
        >>> query, key = axes_in(load_model().attend("The otters purred.").stacks["self"], "words")
        >>> len(query)
        6
    """
    if unit == "tokens":
        return stack.query, stack.key
    return _words_of(stack.query), _words_of(stack.key)


@lru_cache(maxsize=8)
def _words_of(tokens: Tokens) -> Tokens:
    """The words of an axis: spelt once, and not for every part that is asked for."""
    return tokens.to_words()


def masked_map(attention: Attention, quantity: str, head: Head, unit: str) -> NDArray[np.float32]:
    """One head's map, float32 [query, key] with NaN where a query may not see a key.

    The maps of layers without attention are NaN everywhere.
    """
    layer, number, stack = head
    shown = in_unit(attention, unit)
    axes = shown.stacks[stack]
    if layer in axes.layers_without_attention:
        return np.full((len(axes.query), len(axes.key)), np.nan, np.float32)
    values = shown.map(quantity, layer, number, stack=stack)
    visible = shown.visible(layer, number, stack=stack)
    if visible is not None:
        values[~visible] = np.nan
    return values


def axis_to_wire(tokens: Tokens) -> dict[str, Any]:
    """What the page must know of an axis: an entry a token (or word)."""
    wire: dict[str, Any] = {
        "text": list(tokens.text),
        "raw": list(tokens.raw),
        "special": list(tokens.special),
        "segments": list(tokens.segments),
    }
    if tokens.roles:
        wire |= {"roles": list(tokens.roles), "turns": list(tokens.turns)}
    if any(tokens.places):
        wire["placed"] = [place is not None for place in tokens.places]
    return wire


def axes_to_wire(stack: Stack, unit: str, n_prompt: int | None = None) -> dict[str, Any]:
    """Both axes of a stack's maps, in tokens or in words.

    `n_prompt` tokens are a prompt, where a model wrote the rest; a word that both have part in is
    the prompt's.
    """
    axes = {"query": stack.query, "key": stack.key}
    wire: dict[str, Any] = {"stack": stack.name, "unit": unit}
    for side, tokens in axes.items():
        shown = tokens.to_words() if unit == "words" else tokens
        wire[side] = axis_to_wire(shown)
        # A decoder is given its start token alone: there a line would say nothing.
        if n_prompt is not None and stack.name == "self":
            starts = [group[0] for group in tokens.word_groups()]
            parts = starts if unit == "words" else range(len(tokens))
            wire[side]["prompt"] = sum(start < n_prompt for start in parts)
    return wire


def stacks_to_wire(attention: Attention) -> list[dict[str, Any]]:
    """The stacks of a model with their layer, head and token counts."""
    return [
        {
            "name": stack.name,
            "n_layers": stack.n_layers,
            "layers_without_attention": list(stack.layers_without_attention),
            "n_heads": stack.n_heads,
            "n_key_heads": stack.n_key_heads,
            "n_query": len(stack.query),
            "n_key": len(stack.key),
            "names": _names_to_wire(stack),
        }
        for stack in attention.stacks.values()
    ]


def _names_to_wire(stack: Stack) -> dict[str, Any] | None:
    """Return the names of heads that combine other heads; None for the heads of a model."""
    if not stack.head_names:
        return None
    return {
        "heads": stack.head_names,
        "rows": stack.layer_labels,
        "columns": stack.head_labels,
    }


def loss_to_wire(attention: Attention) -> str:
    """What gradients are of, for a caption, with the tokens that were masked; "" without any."""
    loss = attention.loss
    if loss is None:
        return ""
    masked = [attention.tokens[i] for i in loss.masked[:_MASKED_NAMED]]
    more = ", …" if len(loss.masked) > _MASKED_NAMED else ""
    return f"{loss}{': ' if masked else ''}{', '.join(masked)}{more}"
