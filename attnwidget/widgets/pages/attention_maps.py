"""The maps of an attention that a page holds, for its HeadGrid and its HeadView."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from attnwidget.capture.attention import Attention
from attnwidget.capture.head import Head
from attnwidget.capture.stack import Stack
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.pages.room import AS_TEXT
from attnwidget.widgets.pages.rounding import as_text, rounded
from attnwidget.widgets.wire import axes_to_wire

_UNITS = ("tokens", "words")


def maps_size(attention: Attention, head: Head | None = None) -> float:
    """Bytes in the page of all maps of one quantity, or of one head's."""
    cells = 0
    for stack in attention.stacks.values():
        if head is None or head.stack == stack.name:
            words = len(stack.query.to_words()) * len(stack.key.to_words())
            count = stack.n_layers * stack.n_heads if head is None else 1
            cells += count * (len(stack.query) * len(stack.key) + words)
    return AS_TEXT * cells


def embedded_maps(
    attention: Attention,
    quantities: Collection[str],
    *,
    head: Head | None = None,
    highlight: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """All maps between tokens and between words, or those of `head` alone, and their axes."""
    return [
        _of_stack(attention, stack, unit, quantity, head, highlight)
        for quantity in quantities
        for stack in attention.stacks.values()
        if head is None or head.stack == stack.name
        for unit in _UNITS
    ]


def _of_stack(
    attention: Attention,
    stack: Stack,
    unit: str,
    quantity: str,
    only: Head | None,
    highlight: Sequence[str],
) -> dict[str, Any]:
    every = [(layer, head) for layer in range(stack.n_layers) for head in range(stack.n_heads)]
    read = attention.word_visible if unit == "words" else attention.visible
    maps, maxima = [], []
    for at in [only[:2]] if only else every:
        values = attention.map(quantity, *at, stack=stack.name, unit=unit)
        levels, maximum = rounded(values, read(*at, stack=stack.name))
        maps.append(levels)
        maxima.append(maximum)
    together = np.stack(maps)
    shape = [1, 1] if only else [stack.n_layers, stack.n_heads]
    return {
        "quantity": quantity,
        "axes": axes_to_wire(stack, unit),
        "shape": [*shape, *together.shape[-2:]],
        "maxima": maxima,
        "values": as_text(together),
        "only": only,
        "highlighted": {
            "query": _positions(stack.query, unit, highlight),
            "key": _positions(stack.key, unit, highlight),
        },
    }


def _positions(tokens: Tokens, unit: str, words: Sequence[str]) -> list[int]:
    """Where words are on an axis."""
    wanted = {word.casefold() for word in words}
    groups = tokens.word_groups()
    found = [k for k, text in enumerate(tokens.to_words().text) if text.casefold() in wanted]
    return found if unit == "words" else [i for k in found for i in groups[k]]
