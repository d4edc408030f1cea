"""What a page without a kernel holds of a HeadView."""

from __future__ import annotations

from itertools import product
from typing import Any

from attnwidget.capture.tapping.head import Head
from attnwidget.widgets.head_view.highlighted import highlighted
from attnwidget.widgets.head_view.two_maps import TwoMaps
from attnwidget.widgets.head_view.widget import HeadView
from attnwidget.widgets.pages.attention_maps import UNITS, all_maps, heads_of, in_bytes, maps_of
from attnwidget.widgets.pages.encoding import AS_TEXT, state_of
from attnwidget.widgets.pages.page_part import Holding, Page, Part


def page(view: HeadView) -> Page:
    """The maps of all heads, or of the one shown, and where highlighted words are."""
    if view.attention.is_long:
        return _in_sight(view)
    attention = view.attention
    quantity = view.quantity
    state = state_of(view, without=("_map", "_maps", "_axes", "_highlighted"))
    words = [
        {"stack": stack.name, "unit": unit, **highlighted(stack, unit, view.highlight)}
        for stack in attention.stacks.values()
        for unit in UNITS
    ]
    two = view._two()
    if two is not None:
        words = [
            {"stack": name, "unit": unit, **two.highlighted(name, unit, view.highlight)}
            for name in attention.stacks
            for unit in UNITS
        ]
    part = Part(
        title="Attention heads",
        state=state | {"_quantities": [quantity]},
        shapes=view._shapes(),
        own={"highlighted": words},
        holdings={"two": _two(two, quantity)} if two else {"maps": all_maps(attention, quantity)},
        smaller=_smaller(view) if view.head else None,
    )
    return Page({"head_view": part})


def _in_sight(view: HeadView) -> Page:
    """Of a long input what the page has of it: the maps as a whole, and the part in sight."""
    head = view.head
    maps = view._by_parts
    tile = view._tile
    shapes = {name: shape for name, shape in view._shapes().items() if head and name == head.stack}
    part = Part(title="Attention heads", state=state_of(view), shapes=shapes or view._shapes())
    if maps is None or tile is None or 0 in maps.size:
        return Page({"head_view": part})
    (q0, q1), (k0, k1) = tile["queries"], tile["keys"]
    blocks = f" in blocks of {tile['step']}" if tile["step"] > 1 else ""
    of = ", ".join(map(str, dict.fromkeys(maps.heads)))
    said = (
        f"long input: holds an overview of {of}, and queries {maps.rows[q0]}–{maps.rows[q1 - 1]} "
        f"and keys {maps.columns[k0]}–{maps.columns[k1 - 1]}{blocks}"
    )
    return Page({"head_view": part}, notes=(said,))


def _smaller(view: HeadView) -> dict[str, Holding]:
    """What is held of the shown head alone, where there is no room for all."""
    assert view.head is not None
    if two := view._two():
        return {"two": _two(two, view.quantity, view.head)}
    return {"maps": maps_of(view.attention, view.quantity, view.head)}


def _two(two: TwoMaps, quantity: str, only: Head | None = None) -> Holding:
    """The maps of two attentions on their common axes."""
    stacks = [s for s in two.first.stacks.values() if only is None or only.stack == s.name]
    sizes = [
        len(heads_of(stack, only)) * len(query.tokens) * len(key.tokens)
        for stack in stacks
        for query, key in (two.axes(stack.name, unit) for unit in UNITS)
    ]

    def embed(room: float) -> tuple[list[list[dict[str, Any]]], list[str]]:
        held: list[list[dict[str, Any]]] = [[], []]
        for stack, unit in product(stacks, UNITS):
            axes = two.axes_to_wire(stack.name, unit)
            maps = [two.values(quantity, head, unit) for head in heads_of(stack, only)]
            for side, of in enumerate(held):
                of.append(in_bytes(axes, quantity, [pair[side] for pair in maps], stack, only))
        note = f"holds only {only}, " if only else "maps "
        return held, [f"{note}rounded to 8 bits"]

    what = f"the maps of {only}, twice" if only else "the maps of all heads, twice"
    remedy = "shorten the texts (the size grows with their square)"
    return Holding(what, remedy, 2 * AS_TEXT * sum(sizes), embed)
