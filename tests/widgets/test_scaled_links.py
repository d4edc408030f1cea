"""Links that are cut or strengthened before a figure asks the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import traitlets

from attnwidget import Attention, AttentionModel, Explorer, PredictionView, explore, load_model
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.interventions.link_cuts import AskedLink, link_cuts
from capture.test_predict import words
from fixtures import zoo
from fixtures.recording import from_page, on_page
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the ship."
HE, THAT, CAPTAIN = 7, 6, 2
PAIR = [("query", HE), ("key", THAT)]


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


@pytest.fixture
def view(attention: Attention) -> Any:
    view = PredictionView(attention, unit="words", tokens=PAIR)
    yield view
    view.close()


def probability(model: AttentionModel, factor: float, **choice: Any) -> float:
    """The probability of "he" in a block of `scaled_links`."""
    with model.scaled_links([(HE, THAT)], factor, **choice):
        return model.predict(TEXT, positions=[HE]).probability("he")


@pytest.mark.parametrize(
    ("scope", "choice"),
    [("L2 H11", {"heads": "L2 H11"}), ("L2", {"layers": [2]}), ("all heads", {})],
)
@pytest.mark.parametrize("factor", [0, 4])
def test_answers_are_those_of_blocks(
    model: AttentionModel, view: PredictionView, scope: str, choice: dict[str, Any], factor: int
) -> None:
    view.scaled_links = [("he", "that", factor, scope)]
    assert view.scaled_links == [(HE, THAT, factor, scope)]
    row = view.to_frame().set_index("answer").loc["he"]
    assert row["before"] == pytest.approx(model.predict(TEXT, positions=[HE]).probability("he"))
    assert row["after"] == pytest.approx(probability(model, factor, **choice), abs=1e-6)


def test_answers_are_those_of_an_attention_with_scaled_links(
    attention: Attention, view: PredictionView
) -> None:
    view.scaled_links = [("he", "captain", 0, "L5"), ("he", "that", 2.5, (2, 11))]
    edited = attention.scaled_links([("he", "captain")], 0, layers=[5])
    edited = edited.scaled_links([("he", "that")], 2.5, "L2 H11")
    reading = attention.reading
    assert isinstance(reading, Reading) and view.after is not None
    after = reading.predict(link_edits=edited.link_edits, positions=[HE])
    np.testing.assert_allclose(view.after.probabilities, after.probabilities, atol=1e-7)
    # The maps of the figure are those of the model.
    assert view.attention is attention


def test_heads_off_and_links_apply_together(model: AttentionModel, view: PredictionView) -> None:
    view.disabled = [(5, 8)]
    view.scaled_links = [("he", "that", 0, "all heads")]
    with model.disabled((5, 8)):
        expected = probability(model, 0)
    assert view.after is not None
    assert view.after.probability("he") == pytest.approx(expected, abs=1e-6)


def test_a_word_of_several_tokens_is_all_its_tokens(model: AttentionModel) -> None:
    text = "The mathematician left her."
    view = PredictionView(model.attend(text), unit="words", tokens=["her", ("key", 2)])
    assert on_page(view, "link")["key"] == (2, 3, 4, 5)
    view.scaled_links = [("her", "mathematician", 0, "L1")]
    assert view.scaled_links == [(7, (2, 3, 4, 5), 0, "L1")]
    told = on_page(view, "predictions")["links"]
    assert told == [
        {
            "query": (7,),
            "key": (2, 3, 4, 5),
            "factor": 0,
            "scope": "L1",
            "name": "her→mathematician",
        }
    ]
    # The page spells several positions as a list.
    from_page(view, {"scaled_links": [[[7], [2, 3, 4, 5], 4, "L1 H3"]]})
    assert view.scaled_links == [(7, (2, 3, 4, 5), 4, "L1 H3")]
    view.close()


def test_scopes_of_several_stacks_name_their_stack() -> None:
    model = load_model(zoo.build("t5"), words())
    attention = model.attend("w7 w8 w9", target="w11 w30 w12")
    view = PredictionView(attention, stack="cross")
    for scope in ("cross L0 H1", "cross L0", "cross all heads"):
        view.scaled_links = [(1, 2, 0, scope)]
        assert view.scaled_links == [(1, 2, 0, scope)]
    with pytest.raises(traitlets.TraitError, match=naming("'L0'", '"cross L2"')):
        view.scaled_links = [(1, 2, 0, "L0")]
    view.close()


@pytest.mark.parametrize(
    ("links", "parts"),
    [
        ([("he", "that", 0)], ("('he', 'that', 0)", "(query, key, factor, scope)")),
        ("he", ("'he'", "(query, key, factor, scope)")),
        ([("he", "that", -1, "L2")], ("-1", "0 cuts")),
        ([("he", "that", 0, "L9")], ("layer 9", "0 to 5")),
        ([("he", "that", 0, "L2 H40")], ("head 40", "0 to 11")),
        ([("he", "boat", 0, "L2")], ("'boat'", "'captain'")),
        ([("he", 99, 0, "L2")], ("99", "0 to 14")),
        ([("he", "that", 0, "layer 2")], ("'layer 2'", '"all heads"')),
        ([("he", "that", 0, None)], ("None", '"all heads"')),
    ],
)
def test_wrong_links_are_refused_by_name(
    view: PredictionView, links: Any, parts: tuple[str, ...]
) -> None:
    view.scaled_links = [("he", "that", 0, "L2")]
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        view.scaled_links = links
    assert view.scaled_links == [(HE, THAT, 0, "L2")]


def test_links_that_the_model_refuses_are_undone(
    view: PredictionView, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = view.to_frame()["after"].tolist()

    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("this model shows no weights")

    monkeypatch.setattr(Reading, "predict", refuse)
    with pytest.raises(ValueError, match="shows no weights"):
        view.scaled_links = [("he", "that", 0, "L2")]
    assert view.scaled_links == [] and view.to_frame()["after"].tolist() == before


def test_another_text_removes_the_links(model: AttentionModel, view: PredictionView) -> None:
    view.scaled_links = [("he", "that", 0, "L2")]
    view.attention = model.attend("The cat sat.")
    assert view.scaled_links == []


def test_only_a_pair_from_the_asked_word_can_be_cut(
    model: AttentionModel, view: PredictionView
) -> None:
    assert on_page(view, "link") == {
        "of": (HE, THAT),
        "unit": "words",
        "stack": "self",
        "query": (HE,),
        "key": (THAT,),
    }
    view.tokens = [("query", HE)]
    assert on_page(view, "link") is None
    view.tokens = PAIR
    view.position = CAPTAIN
    assert on_page(view, "link") is None
    causal = load_model("attnwidget/induction", device="cpu")
    words = PredictionView(causal.attend("The cat sat on the mat."), unit="words")
    words.tokens = [("query", 4), ("key", 2)]
    assert on_page(words, "link") is not None
    words.tokens = [("query", 2), ("key", 4)]
    assert on_page(words, "link") is None
    words.close()


def test_cuts_are_computed_before_the_link_is_cut(
    attention: Attention, view: PredictionView
) -> None:
    assert view.wait()
    cuts = on_page(view, "cuts")
    answered = view._answered
    assert answered is not None and cuts["tokens"][0] == "he"
    answers = (answered.answer, *answered.likely_answers())
    *_, expected = link_cuts(AskedLink(attention, HE, (HE,), (THAT,), "self", answers))
    values = np.frombuffer(cuts["heads"]["view"], np.float32).reshape(6, 12, -1)
    np.testing.assert_allclose(values, expected.heads, atol=1e-6)
    assert cuts["others"] == pytest.approx(
        np.median(np.abs(expected.others - expected.before[0])), abs=1e-6
    )
    # Cutting the link asks for the same effects and the same cuts, which stay on the page.
    effects = on_page(view, "effects")
    view.scaled_links = [("he", "that", 0, "L2 H11")]
    assert on_page(view, "cuts") is cuts and on_page(view, "effects") is effects
    # With heads off, the results would be those of another model.
    view.disabled = [(1, 3)]
    assert on_page(view, "cuts") is None and view.wait()
    assert on_page(view, "cuts") is None


def test_a_classifier_has_the_links_between_any_words() -> None:
    model = load_model("attnwidget/genre", device="cpu")
    text = "the ship left the harbor at night."
    attention = model.attend(text)
    view = PredictionView(attention, unit="words", tokens=[("query", 3), ("key", 2)])
    assert on_page(view, "link")["query"] == (3,)
    assert view.wait()
    cuts = on_page(view, "cuts")
    with model.scaled_links([(3, 2)], 0):
        expected = model.predict(text)
    everywhere = np.frombuffer(cuts["everywhere"]["view"], np.float32)
    names = [model.hf_model.config.id2label[i] for i in range(model.hf_model.config.num_labels)]
    assert everywhere[0] == pytest.approx(expected.probability(cuts["tokens"][0]), abs=1e-6)
    assert set(cuts["tokens"]) <= set(names) and cuts["others"] is not None
    view.close()


def test_an_explorer_hands_links_to_its_predictions(model: AttentionModel) -> None:
    explorer = explore(
        model, TEXT, treebank=False, tokens=PAIR, scaled_links=[("he", "that", 0, "L2 H11")]
    )
    assert 'scaled_links=[(7, 6, 0, "L2 H11")]' in explorer.code()
    assert explorer.wait()
    predictions = explorer.predictions
    assert predictions.scaled_links == [(HE, THAT, 0, "L2 H11")]
    after = predictions.after.probability("he")
    assert after == pytest.approx(probability(model, 0, heads="L2 H11"), abs=1e-6)
    # Maps are those of the model, and code() makes the same explorer.
    assert explorer.edits == "" and "predictions.scaled_links" not in explorer.code()
    from_page(explorer, {"scaled_links": [[[HE], [THAT], 4, "all heads"]]})
    assert predictions.scaled_links == [(HE, THAT, 4, "all heads")]
    # A cut belongs to its pair: other words that are locked on the page end it.
    from_page(explorer, {"tokens": [["query", HE], ["key", CAPTAIN]]})
    assert explorer.scaled_links == predictions.scaled_links == []
    explorer.scaled_links = [("he", "captain", 0, "L1")]
    explorer.text = "The cat sat."
    assert explorer.wait() and explorer.scaled_links == predictions.scaled_links == []
    explorer.close()


def test_a_cut_moves_with_the_head_that_the_page_selects(model: AttentionModel) -> None:
    explorer = explore(model, TEXT, treebank=False, tokens=PAIR, selected=[(2, 11)])
    assert explorer.wait()
    explorer.scaled_links = [("he", "that", 0, "L2 H11"), ("he", "captain", 0, "L2 H11")]
    # A click on another head in the panel of all heads.
    from_page(explorer.grid, {"selected": [[3, 8, "self"]], "layer": 3})
    moved = [(HE, THAT, 0, "L3 H8"), (HE, CAPTAIN, 0, "L2 H11")]
    assert explorer.scaled_links == explorer.predictions.scaled_links == moved
    # A step through the layers.
    explorer.scaled_links = [("he", "that", 4, "L3 H8")]
    from_page(explorer, {"selected": [[4, 8, "self"]], "layer": 4})
    assert explorer.scaled_links == [(HE, THAT, 4, "L4 H8")]
    after = explorer.predictions.after.probability("he")
    assert after == pytest.approx(probability(model, 4, heads="L4 H8"), abs=1e-6)
    for scope, expected in (("L4", "L5"), ("all heads", "all heads")):
        from_page(explorer, {"selected": [[4, 8, "self"]], "layer": 4})
        explorer.scaled_links = [("he", "that", 0, scope)]
        from_page(explorer, {"selected": [[5, 0, "self"]], "layer": 5})
        assert explorer.scaled_links == [(HE, THAT, 0, expected)]
    # A script says where the link is cut, whichever head it selects.
    explorer.scaled_links = [("he", "that", 0, "L2 H11")]
    explorer.selected = [(1, 3)]
    assert explorer.scaled_links == [(HE, THAT, 0, "L2 H11")]
    # The page can cut the link in another head, and show this head, in one message.
    from_page(
        explorer,
        {"selected": [[0, 2, "self"]], "layer": 0, "scaled_links": [[[HE], [THAT], 0, "L0 H2"]]},
    )
    assert explorer.scaled_links == [(HE, THAT, 0, "L0 H2")]
    explorer.close()


def test_an_explorer_undoes_links_that_the_model_refuses(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = explore(model, TEXT, treebank=False, tokens=PAIR)
    assert explorer.wait()

    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("this model shows no weights")

    monkeypatch.setattr(Reading, "predict", refuse)
    with pytest.raises(ValueError, match="shows no weights"):
        explorer.scaled_links = [("he", "that", 0, "L2")]
    assert explorer.scaled_links == explorer.predictions.scaled_links == []
    assert "shows no weights" in on_page(explorer, "error")
    explorer.close()


def test_an_explorer_without_predictions_refuses_links() -> None:
    given = Attention.from_weights(np.full((2, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    with pytest.raises(traitlets.TraitError, match=naming("'scaled_links'", "load_model")):
        Explorer(given, scaled_links=[(0, 1, 0, "L1")])
    bert = load_model(device="cpu")
    encoder = load_model(bert.hf_model.bert, bert.tokenizer)
    with pytest.raises(traitlets.TraitError, match=naming("'scaled_links'", "load")):
        explore(encoder, "a b c", treebank=False, scaled_links=[(1, 2, 0, "L1")])
