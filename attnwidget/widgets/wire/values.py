"""Encoding of arrays and axes for the page. No other Python module defines this format."""

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

# Maximum number of masked tokens in a caption.
_MASKED_NAMED = 6


def to_wire(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as its shape, its dtype and its bytes (little endian, C order).

    The bytes are sent as a binary buffer.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.wire.values import to_wire
        >>> wire = to_wire(np.ones((2, 3), "f4"))
        >>> wire["shape"], wire["dtype"], wire["view"].nbytes
        ([2, 3], '<f4', 24)
    """
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    # An empty memoryview cannot be cast, so use empty bytes.
    view = memoryview(array).cast("B") if array.size else b""
    return {"shape": list(array.shape), "dtype": array.dtype.str, "view": view}


def in_unit(attention: Attention, unit: str) -> Attention | WordAttention:
    """Return the attention, or its view between words if `unit` is "words"."""
    return attention.words if unit == "words" else attention


def axes_in(stack: Stack, unit: str) -> tuple[Tokens, Tokens]:
    """Return the queries and keys of a stack, in tokens or in words.

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
    """Return the words of an axis, cached because every part of a map needs them."""
    return tokens.to_words()


def masked_map(attention: Attention, quantity: str, head: Head, unit: str) -> NDArray[np.float32]:
    """Return one head's map, float32 [query, key] with NaN if a query may not see a key.

    The maps of layers without attention are NaN everywhere.
    """
    layer, number, stack = head
    attention_in_unit = in_unit(attention, unit)
    axes = attention_in_unit.stacks[stack]
    if layer in axes.layers_without_attention:
        return np.full((len(axes.query), len(axes.key)), np.nan, np.float32)
    values = attention_in_unit.map(quantity, layer, number, stack=stack)
    visible = attention_in_unit.visible(layer, number, stack=stack)
    if visible is not None:
        values[~visible] = np.nan
    return values


def axis_to_wire(tokens: Tokens) -> dict[str, Any]:
    """Return the page data of an axis, with one entry per token or word."""
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
    """Return the page data of both axes of a stack, in tokens or in words.

    Args:
        stack: Stack of the maps.
        unit: "tokens" or "words".
        n_prompt: Number of prompt tokens if a model generated the rest of the text, else None. A
            word that is partly in the prompt counts as a prompt word.
    """
    axes = {"query": stack.query, "key": stack.key}
    wire: dict[str, Any] = {"stack": stack.name, "unit": unit}
    for side, tokens in axes.items():
        axis = tokens.to_words() if unit == "words" else tokens
        wire[side] = axis_to_wire(axis)
        # The prompt of a decoder is only its start token, so it needs no line.
        if n_prompt is not None and stack.name == "self":
            starts = [group[0] for group in tokens.word_groups()]
            parts = starts if unit == "words" else range(len(tokens))
            wire[side]["prompt"] = sum(start < n_prompt for start in parts)
    return wire


def stacks_to_wire(attention: Attention) -> list[dict[str, Any]]:
    """Return the stacks of a model with the numbers of layers, heads and tokens, for the page."""
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
    """Return the names of heads that combine other heads; None for ordinary heads."""
    if not stack.head_names:
        return None
    return {
        "heads": stack.head_names,
        "rows": stack.layer_labels,
        "columns": stack.head_labels,
    }


def loss_to_wire(attention: Attention) -> str:
    """Return the loss of gradients with its masked tokens, for captions; "" without a loss."""
    loss = attention.loss
    if loss is None:
        return ""
    masked = [attention.tokens[i] for i in loss.masked[:_MASKED_NAMED]]
    more = ", …" if len(loss.masked) > _MASKED_NAMED else ""
    return f"{loss}{': ' if masked else ''}{', '.join(masked)}{more}"
