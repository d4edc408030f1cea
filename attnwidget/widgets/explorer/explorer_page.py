"""State of an explorer on a saved page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.panels import DETAILS, PANELS
from attnwidget.widgets.head_grid import NEEDS_A_KERNEL
from attnwidget.widgets.pages.page_part import Part

# Values of traits that need a kernel: to read another text, to measure, or to answer a button.
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
    """Return the explorer's part of a saved page.

    Args:
        explorer: Explorer to save.
        part: Part of the explorer as an ordinary figure.
        figures: Names of the figures on the page, by panel.
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
