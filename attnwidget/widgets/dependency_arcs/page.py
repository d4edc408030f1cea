"""What a page without a kernel holds of a DependencyArcs or a ProbeView."""

from __future__ import annotations

from attnwidget.widgets.dependency_arcs.sentence_arcs import SentenceArcs
from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.page_part import Page, Part


def page(arcs: SentenceArcs) -> Page:
    """The shown sentence, and the answers for it and for further sentences."""
    answers = arcs._answerer.page_answers(arcs.sentences, arcs.sentence, arcs._arcs_options())
    state = state_of(arcs, without=("_drawn", "_measured"))
    if answers.drawn is not None:
        # The shown sentence is the only sentence of the page.
        state["sentence"] = 0
        state["_source"] = {**arcs._source, "count": 1}
        state["_drawn"] = answers.drawn
    part = Part(
        title=answers.title,
        state=state,
        shapes=arcs._shapes(),
        relations=arcs._relations(),
        own=answers.own,
        holdings=answers.holdings,
        remark=answers.remark,
    )
    return Page({"dependency_arcs": part})
