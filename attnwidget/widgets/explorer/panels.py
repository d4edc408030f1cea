"""Panel names of an explorer."""

from __future__ import annotations

#: Panels in the order of the page, named after their widgets.
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
#: Default map of a comparison in the view, because all three maps would be too high for a page.
COMPARISON_PART_AT_FIRST = "difference"
