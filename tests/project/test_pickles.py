"""Attentions, results and pictures can be pickled and copied without their model."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attnwidget import (
    Attention,
    AttentionModel,
    Document,
    HeadGrid,
    HeadView,
    load_model,
    measure,
)
from attnwidget.behaviors import find_links
from attnwidget.demo import demo_atlas, demo_treebank
from attnwidget.interventions import head_importance
from attnwidget.mechanisms import (
    explain_link,
    head_composition,
    key_biplot,
    link_factors,
    logit_lens,
    score_sources,
)
from attnwidget.model_facts.pickled_model import SentModel
from attnwidget.text.segments import Segment
from attnwidget.words import probe_coreference, probe_features, probe_relations
from fixtures import zoo
from fixtures.vocabularies import word_tokenizer
from refusals import naming

TEXT = "The woman washed [MASK] hands."
SEGMENT = Segment(("the", "cat", "sat", "."), ("it", "slept", "."))


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model(device="cpu")


def unpickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


COPIES = pytest.mark.parametrize("again", [unpickled, copy.deepcopy], ids=["pickle", "deepcopy"])

READ: dict[str, Callable[[AttentionModel], Attention]] = {
    "text": lambda model: model.attend(TEXT),
    "pair": lambda model: model.attend("The cat sat.", "It slept."),
    "gradients": lambda model: model.attend("The cat sat.", loss="masked"),
    "heads off": lambda model: model.attend(TEXT).disabled([(2, 8)]),
    "batch": lambda model: model.attend_batch([TEXT, "The cat sat.", TEXT])[2],
    "weights": lambda _: Attention.from_weights(np.full((2, 3, 2, 2), 0.5), ["a", "b"]),
    "states": lambda _: Attention.from_queries_keys(
        np.ones((1, 2, 3, 4)), np.ones((1, 2, 3, 4)), scale=0.5, mask="causal", tokens=["a"] * 3
    ),
    "own model": lambda _: load_model(zoo.build("gpt2"), word_tokenizer()).attend("w1 w2 w3"),
    "decoder": lambda _: load_model(zoo.build("bart"), word_tokenizer()).attend("w1", target="w2"),
}


@COPIES
@pytest.mark.parametrize("read", READ.values(), ids=list(READ))
def test_attentions_are_copied_without_their_model(
    model: AttentionModel,
    read: Callable[[AttentionModel], Attention],
    again: Callable[[Any], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attention = read(model)
    assert attention.words.tokens
    monkeypatch.setattr(SentModel, "from_model", None)  # No model is pickled.
    copied = again(attention)
    assert repr(copied) == repr(attention) and copied.quantities == attention.quantities
    for stack in attention.stacks:
        for quantity in attention.quantities:
            maps = [one.map(quantity, 0, 1, stack=stack) for one in (attention, copied)]
            np.testing.assert_array_equal(*maps)
        words = [one.words.weights(0, 1, stack=stack) for one in (attention, copied)]
        np.testing.assert_array_equal(*words)
    assert copied.made_by == attention.made_by and copied.head_maps.lock is not model.lock
    with pytest.raises(ValueError, match=naming("pickled or copied", "model")):
        copied.intact.disabled([(0, 1, stack)])
    assert again(attention.words).tokens == attention.words.tokens


def test_a_shallow_copy_keeps_the_model(model: AttentionModel) -> None:
    attention = model.attend(TEXT)
    copied = copy.copy(attention)
    assert copied is not attention and copied.reading is attention.reading
    assert copied.disabled([(2, 8)]).edits


def test_a_long_input_is_deep_copied_and_its_pickle_refused() -> None:
    attention = load_model("attnwidget/induction").attend("The cat sat on the mat.", long=True)
    copied = copy.deepcopy(attention)
    np.testing.assert_array_equal(copied.weights(1, 3), attention.weights(1, 3))
    for value in (attention, attention.words):
        with pytest.raises(TypeError, match=naming("long input", "pickle", "long=False")):
            pickle.dumps(value)


RESULTS: dict[str, Callable[[AttentionModel], Any]] = {
    "predictions": lambda model: model.predict(TEXT),
    "next token": lambda _: load_model("attnwidget/induction").predict("The cat"),
    "class": lambda _: load_model("attnwidget/genre").predict("The cat sat."),
    "change": lambda model: (
        model.attend(TEXT).disabled([(2, 8)]).intact.reading.predict([(2, 8)]) - model.predict(TEXT)
    ),
    "measure": lambda model: measure(
        model, [SEGMENT], ["entropy", "distances", "patterns"], progress=False
    ),
    "importance": lambda model: head_importance(model, [SEGMENT], progress=False),
    "relations": lambda model: probe_relations(model, demo_treebank()[:2], progress=False),
    "features": lambda model: probe_features(model, demo_treebank()[:2], progress=False),
    "places": lambda model: find_links(
        model, demo_treebank()[:2], relation="nsubj", progress=False
    ),
    "governors": lambda model: probe_relations(
        model, demo_treebank()[:2], progress=False
    ).predictions(demo_treebank()[0]),
    "coreference": lambda model: probe_coreference(
        model,
        [Document.from_spans(["Ann", "saw", "herself", "."], [(0, 0, "a"), (2, 2, "a")])],
        progress=False,
    ),
    "scores": lambda model: model.attend(TEXT).scores(2, 8),
    "explanation": lambda model: explain_link(model.attend(TEXT), 2, 3, 2, 3),
    "factors": lambda model: link_factors(model.attend(TEXT), 2, 3, 2, 3),
    "sources": lambda model: score_sources(model.attend(TEXT), 2, 3, 2, 3),
    "lens": lambda model: logit_lens(model.attend(TEXT)),
    "biplot": lambda model: key_biplot(model.attend(TEXT), 2, 3),
    "composition": lambda _: head_composition(load_model("attnwidget/induction"), 1, 1),
    "card": lambda _: demo_atlas().card(2, 3),
    "atlas": lambda _: demo_atlas(),
}


@pytest.mark.slow
@pytest.mark.parametrize("result", RESULTS.values(), ids=list(RESULTS))
def test_results_are_copied_without_their_model(
    model: AttentionModel, result: Callable[[AttentionModel], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = result(model)
    monkeypatch.setattr(SentModel, "from_model", None)
    for again in (unpickled, copy.deepcopy):
        copied = again(found)
        assert repr(copied) == repr(found)
        if hasattr(found, "to_frame"):
            frames = [one.to_frame().astype(str) for one in (found, copied)]
            assert frames[0].equals(frames[1])


@COPIES
def test_predictions_name_their_answers_after_a_copy(
    model: AttentionModel, again: Callable[[Any], Any]
) -> None:
    predictions = model.predict(TEXT)
    copied = again(predictions)
    assert copied.to_frame()["answer"][0] == "her"
    assert copied.probability("her") == predictions.probability("her")
    change = again(predictions - copied)
    assert not change.changes.any()


def test_a_shallow_copy_of_relations_keeps_the_model(model: AttentionModel) -> None:
    found = probe_relations(model, demo_treebank()[:2], progress=False)
    assert copy.copy(found).model is model and copy.deepcopy(found).model is None
    with pytest.raises(RuntimeError, match=naming("accuracies", "predict_governors")):
        unpickled(found).predictions(demo_treebank()[0])


@pytest.mark.parametrize("figure", [HeadGrid, HeadView])
@pytest.mark.parametrize("again", [pickle.dumps, copy.copy, copy.deepcopy])
def test_figures_say_why_they_are_not_copied(
    model: AttentionModel, figure: Any, again: Callable[[Any], Any]
) -> None:
    name = figure.__name__
    shown = figure(model.attend(TEXT))
    with pytest.raises(TypeError, match=naming(name, "static()")):
        again(shown)


@COPIES
def test_pictures_are_copied_with_their_state(
    model: AttentionModel, again: Callable[[Any], Any]
) -> None:
    picture = HeadView(model.attend(TEXT), layer=2, head=1).figure(width=480)
    copied = again(picture)
    assert (copied.figure, copied.width, set(copied.state)) == ("head_view", 480, {*picture.state})
    for name, value in picture.state.items():
        if isinstance(value, memoryview):
            assert bytes(value) == copied.state[name]
