"""What a page without a kernel holds of a PredictionView."""

from __future__ import annotations

from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.page_part import Page, Part
from attnwidget.widgets.prediction_view.widget import PredictionView


def page(view: PredictionView) -> Page:
    """The answers as they are now: no page can ask the model."""
    part = Part(
        title="What the model answers",
        state=state_of(view),
        shapes=view._shapes(),
        remark="as they were when it was saved: a page has no model to be asked again",
    )
    return Page({"prediction_view": part})
