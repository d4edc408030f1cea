"""CoreferenceView with a recording comm: what crosses, links and is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import traitlets

from attnwidget import AttentionModel, Head, HeadGrid, link_figures
from attnwidget.text.mentions import Document
from attnwidget.widgets.coreference_view.widget import CoreferenceView
from attnwidget.words.coreference import CoreferenceAccuracies, probe_coreference
from fixtures.coreference_passages import PASSAGES
from fixtures.recording import from_page, updates
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")


@pytest.fixture(scope="module")
def found(model: AttentionModel) -> CoreferenceAccuracies:
    documents = [
        Document.from_spans(
            p.words, p.spans, governors=p.governors, tags=p.tags, name=p.name, sentence_starts=(0,)
        )
        for p in PASSAGES
    ]
    # One long enough for several windows.
    words = PASSAGES[0].words
    spans = PASSAGES[0].spans
    n = len(words)
    long = Document.from_spans(
        words * 3,
        [
            (start + n * i, end + n * i, f"{name}{i}")
            for i in range(3)
            for start, end, name in spans
        ],
        sentence_starts=tuple(n * i for i in range(3)),
        name="long",
    )
    alone = Document.from_spans(["Nobody", "came"], [(0, 0, "x")], name="alone")
    return probe_coreference(
        model, [*documents, long, alone], windows="all", max_tokens=24, progress=False
    )


def array(wire: dict) -> np.ndarray:
    return np.frombuffer(wire["view"], wire["dtype"]).reshape(wire["shape"])


def drawn(view: CoreferenceView) -> dict:
    return view.get_state()["_drawn"]


def test_it_opens_with_the_text_its_mentions_and_the_best_heads_choices(
    found: CoreferenceAccuracies,
) -> None:
    view = CoreferenceView(found)
    assert [kind for kind, _, _ in view.comm.sent].count("comm_open") == 1
    assert updates(view) == []
    assert view.head == found.best_head()
    sent = drawn(view)
    assert sent["words"] == PASSAGES[0].words and sent["name"] == PASSAGES[0].name
    texts = [" ".join(sent["words"][word] for word in m["words"]) for m in sent["mentions"]]
    assert texts == ["The captain", "his", "his men", "he"]
    assert [m["cluster"] for m in sent["mentions"]] == [1, 1, 0, 1]
    assert [m["kind"] for m in sent["mentions"]] == ["nominal", "pronoun", "nominal", "pronoun"]
    assert view.mention == 1
    assert sent["evaluated"][1] == {
        "mention": 3,
        "antecedents": [0, 1],
        "baselines": {"nearest": 2, "head match": -1, "rule-based": 1},
    }
    choices = found.choices(0)
    at = (slice(None), slice(None), view.head.layer, view.head.head)
    np.testing.assert_array_equal(array(sent["chosen"]["words"]), choices.words[at].T)
    np.testing.assert_array_equal(array(sent["chosen"]["weights"]), choices.weights[at].T)
    correct = found.correct[:, view.head.layer, view.head.head, 0]
    assert sent["chosen"]["correct"] == list(correct)
    source = view.get_state()["_source"]
    assert source["n"] == found.counts[0] and source["count"] == len(PASSAGES) + 1
    assert source["baselines"]["nearest"] == found.baseline_correct[0, 0]


def test_later_windows_count_words_and_rows_from_their_own_first(
    found: CoreferenceAccuracies,
) -> None:
    view = CoreferenceView(found, ["long"], variant="mentions", selected=[(2, 7)])
    choices = found.choices("long")
    assert len(choices.windows) > 1
    rows = []
    for index, (start, end) in enumerate(choices.windows):
        view.window = index
        sent = drawn(view)
        assert sent["words"] == list(choices.document.words[start:end])
        assert (sent["start"], sent["windows"]) == (start, len(choices.windows))
        rows.append(array(sent["chosen"]["words"])[1] + start)
        for mention in sent["mentions"]:
            known = choices.document.mentions[mention["mention"]]
            assert tuple(np.array(mention["words"]) + start) == known.words
    np.testing.assert_array_equal(np.concatenate(rows), choices.words[:, 1, 2, 7])


def test_a_mention_chosen_on_the_page_sends_nothing_back(
    found: CoreferenceAccuracies,
) -> None:
    view = CoreferenceView(found)
    view.comm.sent.clear()
    from_page(view, {"mention": 3})
    assert view.evaluated.antecedents == (0, 1)
    from_page(view, {"mention": 0})
    assert view.evaluated is None
    from_page(view, {"mention": None, "variant": "mentions"})
    assert (view.mention, view.variant) == (None, "mentions")
    assert not any("_drawn" in state for state, _ in updates(view))


def test_another_document_begins_anew_and_is_sent_once(found: CoreferenceAccuracies) -> None:
    view = CoreferenceView(found, document=10, window=1)
    view.comm.sent.clear()
    view.document = 4
    assert (view.window, view.mention) == (0, None)
    assert sum("_drawn" in state for state, _ in updates(view)) == 1
    assert drawn(view)["words"] == PASSAGES[4].words


@pytest.mark.parametrize("outcome", ["right", "wrong"])
@pytest.mark.parametrize("variant", ["words", "mentions"])
def test_jumps_visit_each_such_mention_in_order_and_return(
    found: CoreferenceAccuracies, outcome: str, variant: str
) -> None:
    view = CoreferenceView(found, variant=variant, mention=None, selected=[(1, 3)])
    column = found.is_correct[:, ["words", "mentions"].index(variant), 1, 3]
    wanted = [
        (one.document, one.mention)
        for one, right in zip(found.evaluated, column, strict=True)
        if right == (outcome == "right")
    ]
    assert len(wanted) > 1
    visited = []
    for _ in wanted:
        assert view.jump(outcome) == view.mention
        visited.append((view.document, view.mention))
    assert visited == wanted
    for place in [*wanted[-2::-1], wanted[-1]]:
        view.jump(outcome, step=-1)
        assert (view.document, view.mention) == place
    view.selected = []
    assert view.jump(outcome) is None


def test_the_page_asks_for_jumps(found: CoreferenceAccuracies) -> None:
    view = CoreferenceView(found, [0], selected=[(0, 0)])
    right = int(found.choices(0).correct[:, 0, 0, 0].sum())
    outcome = "right" if right != 1 else "wrong"
    from_page(view, {"_jump": {"n": 1, "outcome": outcome, "step": 1}})
    assert view.get_state()["_jumped"]["n"] == 1
    view.selected = []
    from_page(view, {"_jump": {"n": 2, "outcome": "right", "step": 1}})
    assert view.get_state()["_jumped"] == {"n": 2, "found": False}
    for wrong in (("rihgt", 1), ("right", 2)):
        with pytest.raises(ValueError, match=naming("jump", "step=1")):
            view.jump(*wrong)


def test_it_follows_a_grid(model: AttentionModel, found: CoreferenceAccuracies) -> None:
    grid = HeadGrid(model.attend("The captain told his men that he would stay."))
    view = CoreferenceView(found)
    link_figures(view, grid)
    assert grid.head == view.head
    grid.selected = [(4, 9)]
    assert view.selected == [Head(4, 9)] and drawn(view)["head"] == Head(4, 9)
    grid.selected = []
    assert drawn(view)["chosen"] is None


def test_documents_are_named_indexed_or_given(found: CoreferenceAccuracies) -> None:
    last = found.documents[3]
    view = CoreferenceView(found, ["long", 2, last])
    assert view.documents == (found.documents[10], found.documents[2], last)
    assert CoreferenceView(found, "long").documents == (found.documents[10],)
    assert len(CoreferenceView(found).documents) == len(PASSAGES) + 1
    with pytest.raises(KeyError, match=naming("nowhere", "12 documents")):
        CoreferenceView(found, ["nowhere"])
    with pytest.raises(ValueError, match=naming("alone", "no window")):
        CoreferenceView(found, ["alone"])
    with pytest.raises(ValueError, match=naming("documents", "leave them out")):
        CoreferenceView(found, [])


def test_what_does_not_fit_is_refused(found: CoreferenceAccuracies) -> None:
    with pytest.raises(TypeError, match=naming("CoreferenceView", "str", "probe_coreference")):
        CoreferenceView("accuracies")
    with pytest.raises(TypeError, match=naming("'mentoin'", "'mention'")):
        CoreferenceView(found, mentoin=3)
    view = CoreferenceView(found)
    for name, value in [
        ("document", 99),
        ("document", -1),
        ("window", 1),
        ("mention", 99),
        ("variant", "all"),
        ("selected", [(9, 0)]),
    ]:
        with pytest.raises(traitlets.TraitError):
            setattr(view, name, value)
    assert (view.document, view.window, view.mention) == (0, 0, 1)


def test_the_repr_says_what_is_shown(found: CoreferenceAccuracies) -> None:
    view = CoreferenceView(dataclasses.replace(found, model_name="another"), selected=[(2, 7)])
    assert repr(view) == (
        "CoreferenceView(another, 6×12 heads, document 0 of 11, among words, selected: L2 H7)"
    )
