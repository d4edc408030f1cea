"""The data of a LinkView on a page without a kernel."""

from __future__ import annotations

from attnwidget.widgets.link_view.widget import LinkView
from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.page_part import Page, Part


def page(view: LinkView) -> Page:
    """Return the shown link with the data of its slider: no page can ask the model for another."""
    part = Part(
        title="Why a head attends, and what it carries",
        state=state_of(view),
        shapes=view._shapes(),
        remark="of the link that was shown when the page was saved",
    )
    return Page({"link_view": part})
