"""Errors about missing attributes name the attribute that exists."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attnwidget import Attention, AttentionModel, HeadView, compare, load_model, measure
from attnwidget.text.missing_names import MissingNames
from refusals import naming


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model(device="cpu")


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend("The captain told his men that he would not leave the ship.")


@pytest.mark.parametrize(
    ("use", "parts"),
    [
        (lambda m, a, r: a.plot, ("Attention", "'plot'", "HeadView(attention")),
        (lambda m, a, r: a.weigths, ("'weigths'", "'weights'")),
        (lambda m, a, r: a.to_csv, ("'to_csv'", "to_frame().to_csv")),
        (lambda m, a, r: a.shape, ("'shape'", "n_layers")),
        (lambda m, a, r: a.rollout, ("'rollout'", "attention_rollout(attention)")),
        (lambda m, a, r: a.nothing, ("'nothing'", "its names are", "top_links")),
        (lambda m, a, r: a.words.wieghts, ("WordAttention", "'weights'")),
        (lambda m, a, r: m.forward, ("AttentionModel", "'forward'", "attend(text)")),
        (lambda m, a, r: r.entropy, ("Measurements", "['entropy']")),
        (lambda m, a, r: r.to_csv, ("Measurements", "to_frame().to_csv")),
        (lambda m, a, r: r["entropy"].shape, ("EntropyResult", "heads()['entropy']")),
        (lambda m, a, r: r["entropy"].plot, ("'plot'", "chart()")),
    ],
)
def test_the_error_names_what_exists(
    use: Callable[..., object],
    parts: tuple[str, ...],
    model: AttentionModel,
    attention: Attention,
) -> None:
    result = measure(model, ["The cat sat."], ["entropy"], progress=False)
    with pytest.raises(AttributeError, match=naming(*parts)):
        use(model, attention, result)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("show", ("HeadView", "'show'", "display(figure)")),
        ("savefig", ("'savefig'", "save(path)")),
        ("to_html", ("'to_html'", "save('page.html')")),
        ("arangement", ("'arangement'", "'arrangement'")),
    ],
)
def test_the_error_of_a_figure_names_what_exists(
    name: str, parts: tuple[str, ...], attention: Attention
) -> None:
    view = HeadView(attention, "L1 H3")
    with pytest.raises(AttributeError, match=naming(*parts)):
        getattr(view, name)


def test_an_array_of_a_result_is_refused_by_name(model: AttentionModel) -> None:
    result = measure(model, ["The cat sat."], ["entropy"], progress=False)["entropy"]
    with pytest.raises(TypeError, match=naming("heads()['entropy']")):
        np.asarray(result)


def test_two_attentions_are_compared_in_a_figure(attention: Attention) -> None:
    given: Any = attention
    with pytest.raises(TypeError, match=naming("HeadView(attention, versus=other)")):
        compare(given, given, ["A cat sat."])


def test_an_error_inside_a_property_keeps_its_message() -> None:
    class Broken(MissingNames):
        @property
        def value(self) -> int:
            raise AttributeError("the cause")

    with pytest.raises(AttributeError, match="the cause"):
        _ = Broken().value


def test_objects_with_hints_are_copied_and_pickled(attention: Attention) -> None:
    for twin in (copy.copy(attention), pickle.loads(pickle.dumps(attention))):
        assert np.array_equal(twin.weights(1, 3), attention.weights(1, 3))
    assert not hasattr(attention, "__array__")
    assert not hasattr(attention, "plot")
