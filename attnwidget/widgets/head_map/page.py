"""What a page without a kernel holds of a HeadMap."""

from __future__ import annotations

from attnwidget.widgets.head_map.widget import HeadMap
from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.page_part import Page, Part


def page(head_map: HeadMap) -> Page:
    """All positions: nothing is left for a kernel to answer."""
    part = Part("Attention heads in the plane", state_of(head_map), head_map._shapes())
    return Page({"head_map": part})
