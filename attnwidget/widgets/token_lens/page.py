"""What a page without a kernel holds of a TokenLens."""

from __future__ import annotations

from attnwidget.widgets.pages.attention_maps import all_maps
from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.page_part import Page, Part
from attnwidget.widgets.token_lens.widget import TokenLens


def page(lens: TokenLens) -> Page:
    """The maps of all heads, whose rows and columns the page reads."""
    part = Part(
        title="What every head does for one word",
        state=state_of(lens, without=("_lens", "_axes")) | {"_quantities": [lens.quantity]},
        shapes=lens._shapes(),
        holdings={"maps": all_maps(lens.attention, lens.quantity)},
    )
    return Page({"token_lens": part})
