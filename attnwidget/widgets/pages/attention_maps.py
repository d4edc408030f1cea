"""Maps of an attention in a saved page, between tokens and between words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.tapping.head import Head
from attnwidget.widgets.pages.encoding import AS_TEXT, as_text, rounded, rounding
from attnwidget.widgets.pages.page_part import Holding
from attnwidget.widgets.pages.size_limit import megabytes
from attnwidget.widgets.wire.values import axes_to_wire, masked_map

UNITS = ("tokens", "words")


def refuse_long(attention: Attention) -> None:
    """Raise ValueError for a long input, because it has no whole maps."""
    if attention.is_long:
        raise ValueError(
            "a page of this figure needs whole maps, which an input of "
            f"{len(attention.tokens):,} tokens does not have: save a HeadView alone, whose page "
            "holds the visible part, or a picture"
        )


def all_maps(attention: Attention, quantity: str) -> Holding:
    """Return the maps of all heads, for a page.

    Args:
        attention: Attention of the figure.
        quantity: Quantity of the maps.

    Raises:
        ValueError: If the input is long, because it then has no whole maps.
    """
    refuse_long(attention)
    size = _size(attention)

    def embed(room: float) -> tuple[list[dict[str, Any]], list[str]]:
        if 2 * size <= room:
            return _embedded(attention, quantity, is_fine=True), []
        return _embedded(attention, quantity), ["maps rounded to 8 bits"]

    remedy = "shorten the text (the size grows with its square)"
    return Holding("the maps of all heads", remedy, size, embed)


def maps_of(attention: Attention, quantity: str, head: Head) -> Holding:
    """Return the maps of one head, for a page that has no space for all maps."""
    note = (
        f"holds only {head}, rounded to 8 bits: the maps of all heads would be "
        f"{megabytes(_size(attention))}, so that layers cannot be stepped through"
    )
    return Holding(
        f"the maps of {head}",
        "shorten the text (the size grows with its square)",
        _size(attention, head),
        lambda room: (_embedded(attention, quantity, head), [note]),
        one_head_only(),
    )


def one_head_only() -> dict[str, str]:
    """Return the options that a page with one head cannot change, with the reason."""
    reason = "This page has no room for the maps of other heads: save it with a larger limit_mb."
    return dict.fromkeys(("selected", "layer", "arrangement", "shown_heads"), reason)


def _size(attention: Attention, only: Head | None = None) -> float:
    """Return the size of all heads' maps, or one head's maps, in a page in bytes."""
    cells = 0
    for stack in attention.stacks.values():
        if only is None or only.stack == stack.name:
            words = len(stack.query.to_words()) * len(stack.key.to_words())
            count = len(stack.layers.numbers) * stack.n_heads if only is None else 1
            cells += count * (len(stack.query) * len(stack.key) + words)
    return AS_TEXT * cells


def _embedded(
    attention: Attention, quantity: str, only: Head | None = None, *, is_fine: bool = False
) -> list[dict[str, Any]]:
    return [
        _of_stack(attention, stack, unit, quantity, only, is_fine)
        for stack in attention.stacks.values()
        if only is None or only.stack == stack.name
        for unit in UNITS
    ]


def _of_stack(
    attention: Attention, stack: Stack, unit: str, quantity: str, only: Head | None, is_fine: bool
) -> dict[str, Any]:
    axes = axes_to_wire(stack, unit, attention.n_prompt)
    maps = [masked_map(attention, quantity, head, unit) for head in heads_of(stack, only)]
    page_map = in_bytes(axes, quantity, maps, stack, only)
    if not is_fine:
        return page_map
    levels = [(values, rounded(values)[0]) for values in maps]
    return page_map | {"fine": as_text(np.stack([rounding(*pair) for pair in levels]))}


def heads_of(stack: Stack, only: Head | None) -> list[Head]:
    """Return all heads of a stack, layer by layer, or only one head."""
    indices = np.ndindex(stack.n_layers, stack.n_heads)
    return [only] if only else [Head(layer, head, stack.name) for layer, head in indices]


def in_bytes(
    axes: Mapping[str, Any],
    quantity: str,
    maps: Iterable[NDArray[np.float32]],
    stack: Stack,
    only: Head | None,
) -> dict[str, Any]:
    """Return the maps of a stack, or of one head, rounded to bytes, for a page.

    Args:
        axes: Page data of the axes.
        quantity: Quantity of the maps.
        maps: Map of each head.
        stack: Stack of the heads.
        only: Head of the maps if there is only one, else None.
    """
    levels, maxima = zip(*(rounded(values) for values in maps), strict=True)
    all_levels = np.stack(levels)
    shape = [1, 1] if only else [stack.n_layers, stack.n_heads]
    return {
        "quantity": quantity,
        "axes": axes,
        "shape": [*shape, *all_levels.shape[-2:]],
        "maxima": list(maxima),
        "values": as_text(all_levels),
        "only": only,
    }
