"""Maps of a head in two attentions, on common axes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.comparable_maps import refuse_incomparable
from attnwidget.capture.tapping.head import Head
from attnwidget.text.alignment import SharedAxis
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.head_view.highlighted import highlighted
from attnwidget.widgets.head_view.map_cells import (
    DifferenceCells,
    MapCells,
    SharedCells,
    cells_of,
)
from attnwidget.widgets.pages.attention_maps import UNITS, heads_of, in_bytes, one_head_only
from attnwidget.widgets.pages.encoding import AS_TEXT
from attnwidget.widgets.pages.page_part import Holding
from attnwidget.widgets.wire.values import axes_in, axes_to_wire, masked_map, to_wire


@lru_cache(maxsize=16)
def _shared(first: Tokens, second: Tokens) -> SharedAxis:
    """Return the common axis of two axes. The alignment is cached for all parts of a map."""
    return SharedAxis(first, second)


@dataclass(frozen=True)
class TwoMaps:
    """Maps of two attentions on axes with the tokens of both.

    Values are not resampled: a token that only one text has is NaN in the map of the other text.

    Attributes:
        first: First attention.
        second: Second attention.
    """

    first: Attention
    second: Attention

    def axes(self, stack: str, unit: str) -> tuple[SharedAxis, SharedAxis]:
        """Return the common queries and keys of a stack, in tokens or in words."""
        sides = [axes_in(attention.stacks[stack], unit) for attention in (self.first, self.second)]
        (query, key), (other_query, other_key) = sides
        return _shared(query, other_query), _shared(key, other_key)

    def is_same(self, unit: str) -> bool:
        """Return True if all axes of both attentions are the same."""
        if self.first.stacks.keys() != self.second.stacks.keys():
            return False
        return all(axis.is_same for name in self.first.stacks for axis in self.axes(name, unit))

    def values(self, quantity: str, head: Head, unit: str) -> NDArray[np.float32]:
        """Return both maps, float32 [2, Q, K]; NaN if a cell is masked or its token missing."""
        query, key = self.axes(head.stack, unit)
        values = np.full((2, len(query.tokens), len(key.tokens)), np.nan, np.float32)
        for side, attention in enumerate((self.first, self.second)):
            cells = np.ix_(query.places[side], key.places[side])
            values[side][cells] = masked_map(attention, quantity, head, unit)
        return values

    def cells(self, quantity: str, head: Head, unit: str) -> list[MapCells]:
        """Return both maps and their difference, for computation in parts on the common axes."""
        axes = self.axes(head.stack, unit)
        size = len(axes[0].tokens), len(axes[1].tokens)
        shared_cells = [
            SharedCells(
                cells_of(attention, head, quantity, unit),
                size,
                (axes[0].places[side], axes[1].places[side]),
            )
            for side, attention in enumerate((self.first, self.second))
        ]
        return [*shared_cells, DifferenceCells(*shared_cells)]

    def axes_to_wire(self, stack: str, unit: str) -> dict[str, Any]:
        """Return the axes for the page, with the tokens that only one text has."""
        query, key = self.axes(stack, unit)
        prompts = {axes.n_prompt for axes in (self.first, self.second)}
        stack_on_common_axes = replace(self.first.stacks[stack], query=query.tokens, key=key.tokens)
        n_prompt = prompts.pop() if len(prompts) == 1 and query.is_same else None
        wire = axes_to_wire(stack_on_common_axes, unit, n_prompt if unit == "tokens" else None)
        for side, axis in (("query", query), ("key", key)):
            wire[side]["alone"] = axis.alone
        return wire

    def highlighted(self, stack: str, unit: str, words: list[str]) -> dict[str, list[int]]:
        """Return the positions of words from either text on the common axes."""
        highlights: dict[str, list[int]] = {}
        axes = dict(zip(("query", "key"), self.axes(stack, unit), strict=True))
        for side, axis in axes.items():
            positions = set()
            for indices, tokens in zip(axis.places, (self.first, self.second), strict=True):
                positions |= {
                    indices[i] for i in highlighted(tokens.stacks[stack], unit, words)[side]
                }
            highlights[side] = sorted(positions)
        return highlights

    def to_wire(self, quantity: str, head: Head, unit: str) -> dict[str, Any]:
        """Return both maps as one array [2, query, key], for the page."""
        return {
            "complete": True,
            "stack": head.stack,
            "quantity": quantity,
            "unit": unit,
            "heads": [head, head],
            "exact": True,
            "maxima": [],
            "values": to_wire(self.values(quantity, head, unit)),
        }

    def on_page(self, quantity: str, only: Head | None = None) -> Holding:
        """Return both maps, of all heads or one head, for a saved page."""
        stacks = [s for s in self.first.stacks.values() if only is None or only.stack == s.name]
        sizes = [
            len(heads_of(stack, only)) * len(query.tokens) * len(key.tokens)
            for stack in stacks
            for query, key in (self.axes(stack.name, unit) for unit in UNITS)
        ]

        def embed(room: float) -> tuple[list[list[dict[str, Any]]], list[str]]:
            maps_by_side: list[list[dict[str, Any]]] = [[], []]
            for stack, unit in product(stacks, UNITS):
                axes = self.axes_to_wire(stack.name, unit)
                maps = [self.values(quantity, head, unit) for head in heads_of(stack, only)]
                for side, side_maps in enumerate(maps_by_side):
                    side_maps.append(
                        in_bytes(axes, quantity, [pair[side] for pair in maps], stack, only)
                    )
            note = f"holds only {only}, " if only else "maps "
            return maps_by_side, [f"{note}rounded to 8 bits"]

        what = f"the maps of {only}, twice" if only else "the maps of all heads, twice"
        remedy = "shorten the texts (the size grows with their square)"
        return Holding(
            what, remedy, 2 * AS_TEXT * sum(sizes), embed, one_head_only() if only else {}
        )


def most_changed(attention: Attention, other: Attention, stack: str | None = None) -> Head | None:
    """Return the head whose maps differ most between two attentions.

    Args:
        attention: First attention.
        other: Second attention.
        stack: Stack of the head; None = any stack.

    Returns:
        The head. None if the attentions cannot be compared, have long inputs, or do not differ.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.head_view.two_maps import most_changed
        >>> attention = load_model().attend("The cat sat.")
        >>> print(most_changed(attention, attention))
        None
    """
    try:
        refuse_incomparable(attention.stacks, other.stacks)
    except ValueError:
        # `HeadView` raises an error with the reason.
        return None
    if attention.is_long or other.is_long:
        return None
    best: Head | None = None
    largest_change = 0.0
    for name in attention.stacks if stack is None else [stack]:
        changes = np.nan_to_num(attention.changes(other, name))
        layer, head = divmod(int(changes.argmax()), changes.shape[1])
        if changes[layer, head] > largest_change:
            largest_change = float(changes[layer, head])
            best = Head(layer, head, name)
    return best
