"""The state of an explorer on a page without a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.panels import DETAILS, PANELS
from attnwidget.widgets.head_grid import NEEDS_A_KERNEL
from attnwidget.widgets.pages.page_part import Part

# What only a kernel can do: read another text, measure, or answer a button.
_WITHOUT_KERNEL: dict[str, Any] = {
    "progress": {},
    "_offers": {},
    "_accepted": "",
    "_examples": [],
    "_second": "",
    "_way_out": "",
    "_painted": True,
}


def page_part_of(explorer: ExplorerFigure, part: Part, figures: Mapping[str, str]) -> Part:
    """Return the part of an explorer on a page.

    Args:
        explorer: The explorer.
        part: Its part as of any figure.
        figures: The names of the figures on the page, by panel.
    """
    tab = explorer.tab if explorer.tab in figures else None
    panels = [name for name in PANELS if name in figures or name in part.state["_problems"]]
    if tab is None and explorer.tab is not None:
        tab = next((name for name in DETAILS if name in figures), None)
    state = {
        **part.state,
        **_WITHOUT_KERNEL,
        **{name: figures.get(name) for name in PANELS},
        "panels": panels,
        "_source": {**part.state["_source"], "fixed": NEEDS_A_KERNEL},
        "tab": tab,
    }
    return replace(part, state=state, relations=part.relations or None, children=figures)
