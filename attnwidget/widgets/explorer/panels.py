"""Panel names of an explorer."""

from __future__ import annotations

from typing import Final

#: The panels in the order of the page, each the name of the widget in it.
PANELS = (
    "grid",
    "view",
    "head_scatter",
    "predictions",
    "why",
    "card",
    "table",
    "arcs",
)
#: Panels that are tabs; one tab is open at a time.
DETAILS = PANELS[2:]
#: Tab titles that differ from the panel names.
TAB_NAMES = {
    "head_scatter": "map of heads",
    "card": "this head",
    "table": "relations",
}
#: Tabs about the text, and tabs about a treebank.
OF_TEXT = ("head_scatter", "predictions", "why")
OF_TREEBANK = ("table", "arcs")
#: The maps of a comparison that the view shows at first; all three would be as high as a page.
COMPARISON_PART_AT_FIRST: Final = "difference"
