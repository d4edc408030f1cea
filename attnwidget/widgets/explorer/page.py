"""What a page without a kernel holds of an Explorer."""

from __future__ import annotations

from dataclasses import replace

from attnwidget.widgets.explorer.panels import TAB_NAMES
from attnwidget.widgets.explorer.widget import Explorer
from attnwidget.widgets.pages.page_part import Page
from attnwidget.widgets.pages.registry import page_of


def page(explorer: Explorer) -> Page:
    """What the pages of its panels hold, or of all figures where there are no panels."""
    children = explorer.children
    chosen = {name: child for name, child in children.items() if name in explorer.panels}
    parts = {}
    for panel, child in (chosen or children).items():
        for name, part in page_of(child).parts.items():
            # Here arcs go to a sentence that has the relation chosen.
            own = {**part.own, "follows": True} if panel == "arcs" else part.own
            parts[name] = replace(part, remark=explorer._status.note_of(panel), own=own)
    notes = ["the page has no model: another text needs a notebook"]
    waits = [panel for panel in explorer.progress if panel in explorer.panels]
    if waits:
        names = ", ".join(TAB_NAMES.get(panel, panel) for panel in waits)
        notes.append(f"written before these were measured: {names}")
    # A reader of the page may select another head, but the line of the page does not change.
    line = next(iter(explorer.caption.notes), "")
    look = "" if line.startswith("panels: ") else f"As saved: {line}"
    text = "\n".join(filter(None, [*explorer._shown.values(), look]))
    return Page(parts, text=text, notes=tuple(notes))
