"""What a page without a kernel holds of a RelationTable."""

from __future__ import annotations

from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.page_part import Page, Part
from attnwidget.widgets.relation_table.widget import RelationTable


def page(table: RelationTable) -> Page:
    """The numbers of every head on every relation: nothing is left for a kernel to answer."""
    part = Part(
        title="Attention heads and dependency relations",
        state=state_of(table),
        shapes=table._shapes(),
        relations=table._relations(),
    )
    return Page({"relation_table": part})
