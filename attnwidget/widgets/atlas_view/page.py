"""The data of an AtlasView on a page without a kernel."""

from __future__ import annotations

from attnwidget.widgets.atlas_view.card_wire import card_to_wire
from attnwidget.widgets.atlas_view.widget import AtlasView
from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.page_part import Page, Part


def page(view: AtlasView) -> Page:
    """Return the table, and the cards of all heads by the anchors of the page."""
    shapes = view._shapes()
    n_layers, n_heads = shapes["self"]
    cards = {
        f"L{layer}H{head}": card_to_wire(view.atlas.card(layer, head))
        for layer in range(n_layers)
        for head in range(n_heads)
    }
    part = Part(
        title="Atlas of attention heads",
        state=state_of(view, without=("_card",)),
        shapes=shapes,
        own={"cards": cards},
    )
    return Page({"atlas_view": part})
