"""PredictionView: answers before and after heads are off, what is asked, effects of heads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import traitlets

from attnwidget import (
    Attention,
    AttentionModel,
    Head,
    HeadGrid,
    HeadView,
    PredictionView,
    link_figures,
    load_model,
)
from attnwidget.charts.theme import LIGHT
from attnwidget.demo import drawn_shapes
from attnwidget.interventions import patch_heads
from attnwidget.mechanisms import direct_effects, logit_lens
from capture.test_predict import words
from fixtures import zoo
from fixtures.recording import from_page, on_page, updates
from fixtures.svg_picture import fills, number, texts
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The woman washed [MASK] hands."
OFF = [Head(2, 3), Head(5, 8)]


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


def test_the_word_of_the_text_is_asked_as_a_whole(model: AttentionModel) -> None:
    view = PredictionView(model.attend("The mathematician left her."), unit="words")
    view.tokens = [("query", 2)]
    told = on_page(view, "predictions")
    assert told["piece"] == [1, 4] and told["position"] == 2
    ids = model.tokenizer("mathematician", add_special_tokens=False)["input_ids"]
    found = model.predict("The mathematician left her.", positions=[2, 3, 4, 5])
    whole = float(np.exp(found.log_probabilities[range(4), ids].sum()))
    assert told["own"]["answer"] == "mathematician" and told["own"]["token"] == ""
    assert told["own"]["before"] == pytest.approx(whole, rel=1e-4)
    assert view.predictions is not None
    np.testing.assert_allclose(view.predictions.probabilities, found.probabilities, atol=1e-6)
    # A word of one piece is an answer of its own, and the effects are of all likely answers.
    view.tokens = [("query", 4)]
    told = on_page(view, "predictions")
    assert told["piece"] == [1, 1] and told["own"]["token"] == "her"
    assert view.wait()
    effects = on_page(view, "effects")
    tokens = [effects["followed"], *effects["others"]["tokens"]]
    likely = model.predict("The mathematician left her.", positions=[7], top=5).to_frame()["token"]
    assert set(tokens) == {*likely, "her"} and effects["followed"] == likely[0]
    assert effects["others"]["values"]["shape"] == [len(tokens) - 1, 6, 12]
    view.unit = "tokens"
    view.tokens = [("query", 4)]
    told = on_page(view, "predictions")
    assert told["piece"] == [3, 4] and told["own"]["token"] == "##atic"
    view.close()


def test_answers_before_and_after_are_those_of_the_model(
    model: AttentionModel, attention: Attention
) -> None:
    view = PredictionView(attention, top=3)
    before = model.predict(TEXT, top=3)
    assert view.to_frame()["answer"].tolist() == before.to_frame()["answer"].tolist()
    assert view.to_frame()["change"].tolist() == [0, 0, 0]
    view.disabled = OFF
    with model.disabled(OFF):
        after = model.predict(TEXT, top=3)
    frame = view.to_frame()
    top = {*before.to_frame()["id"], *after.to_frame()["id"]}
    assert set(frame["id"]) == top
    assert (np.diff(frame["change"].abs()) <= 0).all()
    for row in frame.itertuples():
        assert row.before == pytest.approx(before.probability(row.id), abs=1e-6)
        assert row.after == pytest.approx(after.probability(row.id), abs=1e-6)
    assert on_page(view, "predictions")["off"] == [[2, 3, "self"], [5, 8, "self"]]
    assert view.after is not None and view.predictions is not None
    assert (view.after - view.predictions).to_frame()["id"][0] == frame["id"][0]
    view.method = "zero"
    with model.disabled(OFF, method="zero"):
        assert view.to_frame()["after"][0] == pytest.approx(
            model.predict(TEXT).probability(int(view.to_frame()["id"][0])), abs=1e-6
        )
    view.disabled = []
    assert view.to_frame()["answer"].tolist() == before.to_frame()["answer"].tolist()


def test_switching_heads_off_sends_one_message(
    attention: Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = PredictionView(attention)
    passes: list[object] = []
    here = threading.get_ident()
    hook = attention.reading.model.hf_model.register_forward_pre_hook(  # type: ignore[union-attr]
        # Figures of other tests may compute in their own threads.
        lambda *_: passes.append(1) if threading.get_ident() == here else None
    )
    monkeypatch.setattr(view._background, "add", lambda *_, **__: None)
    sent = len(updates(view))
    from_page(view, {"disabled": [[1, 8, "self"]]})
    assert len(passes) == 1
    assert ["_predictions" in state for state, _ in updates(view)[sent:]] == [True]
    view.disabled = []
    hook.remove()
    assert len(passes) == 1


@pytest.mark.slow
def test_effects_are_estimated_and_then_computed(
    model: AttentionModel, attention: Attention
) -> None:
    view = PredictionView(attention)
    assert view.effects is None and view.effect_metric == {} and view.is_estimate is None
    assert view.wait() and view.is_estimate is False
    effects = view.effects
    assert effects is not None and effects.shape == (6, 12)
    with model.disabled((1, 8)):
        change = model.predict(TEXT).probability("her") - view.to_frame()["before"][0]
    assert effects[1, 8] == pytest.approx(change, abs=1e-5)
    sent = [state["_effects"]["estimate"] for state, _ in updates(view) if state.get("_effects")]
    assert sent == [True, False]
    grid = HeadGrid(attention, metrics=view.effect_metric, metric="effect on “her” (uniform)")
    assert grid.metric == "effect on “her” (uniform)"
    view.disabled = [(1, 8)]
    assert view.effects is None
    assert view.wait() and view.effects is not None and view.effects[1, 8] == 0
    view.answer = "his"
    assert view.wait() and list(view.effect_metric) == ["effect on “his” (uniform)"]
    view.effects_by = "gradient"
    assert view.wait() and view.is_estimate
    assert list(view.effect_metric) == ["effect on “his” (uniform, estimate)"]


def test_a_locked_token_is_masked_and_predicted(model: AttentionModel) -> None:
    attention = model.attend("The woman washed her hands.")
    view = PredictionView(attention)
    other = HeadView(attention, 2, 3)
    assert view.predictions is None and "choose a token" in on_page(view, "message")
    assert "choose a token" in " ".join(texts(view.figure()))
    link_figures(view, other)
    other.tokens = [("query", 3), ("query", 4)]
    assert view.predictions is not None and view.predictions.positions == (4,)
    assert on_page(view, "message") == ""
    assert view.to_frame()["before"][0] == pytest.approx(
        float(model.predict("The woman washed [MASK] hands.").probabilities.max()), abs=1e-6
    )
    view.position = 3
    assert view.predictions.positions == (3,)
    other.tokens = [("query", 5)]
    assert view.position is None and view.predictions.positions == (5,)
    view.unit = "words"
    assert view.predictions.positions == (5,)
    view.attention = model.attend("A [MASK] barked at the cat.")
    assert view.predictions.positions == (2,) and view.tokens == []


def test_a_causal_model_says_what_follows() -> None:
    model = load_model(zoo.build("gpt2"), words())
    view = PredictionView(model.attend("w7 w8 w9 w1"))
    assert view.predictions is not None and view.predictions.positions == (4,)
    assert "“w1” (token 3)" in view.caption.quantity
    view.tokens = [("query", 1)]
    assert view.predictions.positions == (2,)
    wanted = model.predict("w7 w8 w9 w1", positions=[2]).log_probabilities
    np.testing.assert_allclose(view.predictions.log_probabilities, wanted, atol=1e-6)
    assert view.wait() and view.effects is not None and view.effects.shape == (3, 4)
    with pytest.raises(traitlets.TraitError, match=naming("'position'", "1 to 4", "got 0")):
        view.position = 0


@pytest.mark.slow
def test_a_classifier_says_the_class() -> None:
    view = PredictionView(load_model("attnwidget/genre", device="cpu").attend("Dear all,"))
    assert view.caption.quantity.startswith("Which class is the text?")
    assert len(view.to_frame()) == 5 and view.to_frame()["before"].sum() == pytest.approx(1)
    view.tokens = [("query", 1)]
    assert view.predictions is not None and view.predictions.positions == (-1,)
    assert view.wait() and view.effects is not None
    with pytest.raises(traitlets.TraitError, match=naming("'position'", "None", "classifier")):
        view.position = 1


def test_a_classifier_of_pictures_says_the_class_of_the_picture() -> None:
    model = load_model("attnwidget/shapes", device="cpu")
    view = PredictionView(model.attend(images=drawn_shapes(1, seed=1).images[0]))
    assert view.caption.quantity.startswith("Which class is the picture?")
    view.close()


def test_an_encoder_decoder_has_effects_of_each_stack() -> None:
    model = load_model(zoo.build("t5"), words())
    view = PredictionView(model.attend("w7 w8 w9", target="w3 w4"), stack="cross")
    assert view.wait() and list(view.effect_metric) == ["cross"]
    view.stack = "encoder"
    assert view.wait() and list(view.effect_metric) == ["encoder"]


@pytest.mark.slow
def test_what_cannot_be_asked_says_so(model: AttentionModel, attention: Attention) -> None:
    given = Attention.from_weights(attention.weights(), attention.tokens)
    with pytest.raises(ValueError, match=naming("a prediction", "load_model")):
        PredictionView(given)
    bare = load_model(model.hf_model.bert, model.tokenizer)
    with pytest.raises(TypeError, match=naming("BertModel", "no head", "load_model")):
        PredictionView(bare.attend("The cat sat."))
    with pytest.raises(ValueError, match=naming("'xqzt'", "vocabulary entries")):
        PredictionView(attention, answer="xqzt")
    with pytest.raises(traitlets.TraitError, match=naming("'position'", "0 to 7")):
        PredictionView(attention, position=8)
    with pytest.raises(TypeError, match=naming("'positon'", "'position'")):
        PredictionView(attention, positon=2)
    view = PredictionView(attention, position=2)
    with pytest.raises(traitlets.TraitError, match=naming("'xqzt'", "vocabulary entries")):
        view.answer = "xqzt"
    assert view.answer is None
    with pytest.raises(traitlets.TraitError, match=naming("a prediction", "load_model")):
        view.attention = given


def test_an_error_in_the_thread_is_said(
    attention: Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("no effect")

    monkeypatch.setattr("attnwidget.widgets.prediction_view.widget.effects_of", broken)
    view = PredictionView(attention)
    with pytest.raises(ValueError, match="no effect"):
        view.wait()
    assert "no effects of heads: no effect" in view.caption.text()


@pytest.mark.slow
def test_pictures_tables_and_code(attention: Attention) -> None:
    view = PredictionView(attention, disabled=OFF, selected=[(1, 8)])
    assert view.wait()
    said = view.caption.text()
    assert "“[MASK]” (token 4)" in said and "L1 H8" in said
    assert "“her”" in said and "(uniform)" in said
    drawn = texts(view.figure(width=900))
    assert {"before", "after", "change", "her", "layer 0"} <= set(drawn)
    table = view.figure().table
    frame = view.to_frame()
    effects = view.effects
    assert table["answer or head"][0] == frame["answer"][0]
    assert table["change"][0] == pytest.approx(frame["change"][0])
    layer, head = np.unravel_index(np.abs(effects).argmax(), (6, 12))  # type: ignore[arg-type]
    assert table["answer or head"][len(frame)] == f"her without L{layer} H{head} (uniform)"
    code = view.code()
    assert "PredictionView" in code and "disabled=[(2, 3" in code
    assert view.to_frame().shape[0] == len(on_page(view, "predictions")["rows"])


def test_direct_effects_are_shares_of_a_logit_difference() -> None:
    causal = load_model(zoo.build("gpt2"), words()).attend("w7 w8 w9 w11 w30")
    view = PredictionView(causal, effects_by="direct", answer="w3", versus="w40")
    assert view.wait() and view.is_estimate is False
    wanted = direct_effects(causal, "w3", "w40")
    np.testing.assert_allclose(view.effects, wanted.head_effects)
    assert list(view.effect_metric) == ["direct effect on “w3” against “w40”"]
    assert "“w3” against “w40”" in str(view.caption)
    view.versus = None
    assert view.wait()
    second = view.predictions.to_frame()["answer"]
    rival = second[0] if second[0] != "w3" else second[1]
    assert on_page(view, "effects")["versus"] == rival
    with pytest.raises(
        traitlets.TraitError, match=naming("'versus'", "'no word'", "model.predict")
    ):
        view.versus = "no word"
    view.disabled = [(0, 1)]
    with pytest.raises(ValueError, match=naming("direct effects", "switch all heads on")):
        view.wait()
    assert "those of the whole model" in on_page(view, "problem")


def test_direct_effects_of_bert_are_refused_with_the_reason(attention: Attention) -> None:
    view = PredictionView(attention, effects_by="direct")
    with pytest.raises(
        ValueError, match=naming("BertForMaskedLM", "cls.predictions.transform.dense", "linear")
    ):
        view.wait()
    assert "BertForMaskedLM" in on_page(view, "problem") and view.effects is None
    assert "BertForMaskedLM" in str(view.caption)


def test_patching_puts_each_head_into_a_second_text(
    model: AttentionModel, attention: Attention
) -> None:
    other = "The man washed [MASK] hands."
    view = PredictionView(attention, effects_by="patch", corrupted=other)
    assert view.wait() and view.is_estimate is False
    rival = model.predict(other).to_frame()["id"][0]
    wanted = patch_heads(model, (TEXT, "her"), (other, int(rival)), progress=False)
    np.testing.assert_allclose(view.effects, wanted.of_heads.difference, atol=1e-6)
    name = model.predict(other).to_frame()["answer"][0]
    assert list(view.effect_metric) == [f"effect of patching on “her” against “{name}”"]
    said = str(view.caption)
    assert f"“her” against “{name}”" in said
    assert "“[CLS] the man washed [MASK] hands . [SEP]”" in said
    assert f"Effect of patching on “her” against “{name}”" in texts(view.figure())
    patched = on_page(view, "effects")["patched"]
    assert patched["differences"] == pytest.approx([wanted.corrupted[0], wanted.clean[0]], abs=1e-5)
    assert 'effects_by="patch"' in view.code() and f'corrupted="{other}"' in view.code()
    from_page(view, {"corrupted": "The girl washed [MASK] hands.", "versus": "my"})
    assert view.wait() and on_page(view, "effects")["versus"] == "my"
    view.attention = model.attend("It is [MASK].")
    assert view.corrupted == ""


def test_patching_masks_the_same_token_and_reads_up_to_the_same_token(
    model: AttentionModel,
) -> None:
    view = PredictionView(model.attend("The cat sat."), 2, effects_by="patch")
    view.corrupted = "The dog sat."
    assert view.wait() and "the [MASK] sat" in str(view.caption)
    causal = load_model(zoo.build("gpt2"), words())
    whole = PredictionView(causal.attend("w7 w8 w9 w11"), 3, effects_by="patch", answer="w3")
    whole.corrupted = "w7 w5 w9 w30"
    part = PredictionView(causal.attend("w7 w8 w9"), effects_by="patch", answer="w3")
    part.corrupted = "w7 w5 w9"
    assert whole.wait() and part.wait()
    np.testing.assert_allclose(whole.effects, part.effects, atol=1e-6)


def test_refusals_of_patching_stand_on_the_figure(
    model: AttentionModel, attention: Attention
) -> None:
    view = PredictionView(attention, effects_by="patch")
    with pytest.raises(ValueError, match=naming("second text", "corrupted=")):
        view.wait()
    assert "there is none" in on_page(view, "problem") and "corrupted=" not in on_page(
        view, "problem"
    )
    assert "no effects of heads: patching compares" in str(view.caption)
    view.corrupted = "The man washed his own [MASK] hands."
    with pytest.raises(ValueError, match=naming("second text", "10 tokens", "8")):
        view.wait()
    view.corrupted = "The man washed [MASK] hands."
    view.disabled = OFF
    with pytest.raises(ValueError, match=naming("effects of patching", "switch all heads on")):
        view.wait()
    pair = PredictionView(
        model.attend("He has [MASK].", "It was late."),
        effects_by="patch",
        corrupted="She has [MASK]. It was late.",
    )
    with pytest.raises(ValueError, match=naming("patching", "two")):
        pair.wait()


def test_the_answers_after_each_layer_are_those_of_the_lens(attention: Attention) -> None:
    view = PredictionView(attention, lens=True, effects_by="gradient")
    assert view.wait()
    lens = logit_lens(attention)
    rows = on_page(view, "lens")["rows"]
    assert [row["layer"] for row in rows] == list(lens.rows)
    followed = lens.probability(int(view.predictions.to_frame()["id"][0]))
    np.testing.assert_allclose([row["followed"] for row in rows], followed, rtol=1e-6)
    assert rows[-1]["answer"] == "her" and "her" in " ".join(texts(view.figure()))
    view.lens = False
    assert on_page(view, "lens") is None
    classes = load_model("attnwidget/genre", device="cpu").attend("A short text.")
    asked = PredictionView(classes, lens=True, effects_by="gradient")
    assert asked.wait() and "predicts classes" in on_page(asked, "lens")["problem"]


def test_bars_of_all_texts_have_one_scale(model: AttentionModel) -> None:
    lengths = []
    for text in ("The [MASK] barked at the cat.", TEXT):
        view = PredictionView(model.attend(text), top=2)
        probabilities = view.to_frame()["before"]
        ends = [number(bar, "width") for bar in fills(view.figure(), LIGHT.accent)][:2]
        lengths += [end / probability for end, probability in zip(ends, probabilities, strict=True)]
    np.testing.assert_allclose(lengths, lengths[0], rtol=1e-3)
