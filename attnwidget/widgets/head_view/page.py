"""What a page without a kernel holds of a HeadView."""

from __future__ import annotations

from attnwidget.widgets.head_view.highlighted import highlighted
from attnwidget.widgets.head_view.widget import HeadView
from attnwidget.widgets.pages.attention_maps import UNITS, all_maps, maps_of
from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.part import Page, Part


def page(view: HeadView) -> Page:
    """The maps of all heads, or of the one shown, and where highlighted words are."""
    attention, quantity = view.attention, view.quantity
    state = state_of(view, without=("_map", "_maps", "_axes", "_highlighted"))
    words = [
        {"stack": stack.name, "unit": unit, **highlighted(stack, unit, view.highlight)}
        for stack in attention.stacks.values()
        for unit in UNITS
    ]
    part = Part(
        title="Attention heads",
        state=state | {"_quantities": [quantity]},
        shapes=view._shapes(),
        own={"highlighted": words},
        holdings={"maps": all_maps(attention, quantity)},
        smaller={"maps": maps_of(attention, quantity, view.head)} if view.head else None,
    )
    return Page({"head_view": part})
