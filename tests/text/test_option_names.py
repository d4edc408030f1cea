"""Errors about unknown options of calls name the option or the call that exists."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import traitlets

import attnwidget
from attnwidget import Attention, AttentionModel, HeadGrid, HeadView, ablate, load_model, measure
from attnwidget.capture.maps.word_attention import WordAttention
from refusals import naming

TEXT = "The captain told his men that he would not leave the ship."


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model(device="cpu")


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


@pytest.mark.parametrize(
    ("use", "parts"),
    [
        (lambda m, a: m.predict("A [MASK].", top_k=3), ("predict", "'top_k'", "'top'")),
        (lambda m, a: m.predict("A [MASK].", words=["b"]), ("'words'", "probability('her')")),
        (lambda m, a: a.top_links("L1 H3", n=3), ("top_links", "'n'", "'top'")),
        (lambda m, a: a.weights("L1 H3", stak="self"), ("'stak'", "'stack'")),
        (lambda m, a: a.words.rows("L1 H3", "he", keys="x"), ("'keys'", "'key'")),
        (lambda m, a: measure(m, ["A."], metric="entropy"), ("'metric'", "'metrics'")),
        (lambda m, a: ablate(m, ["A."], score="loss"), ("ablate", "'score'", "scoring")),
        (lambda m, a: m.attend(TEXT, nothing=1), ("attend", "'nothing'", "its options are")),
    ],
)
def test_the_error_names_the_option(
    use: Callable[..., object], parts: tuple[str, ...], model: AttentionModel, attention: Attention
) -> None:
    with pytest.raises(TypeError, match=naming(*parts)):
        use(model, attention)


@pytest.mark.parametrize(
    ("name", "value", "parts"),
    [
        ("mode", "heatmap", ("'heatmap'", "'matrix'")),
        ("mode", "arcs", ("'arcs'", "'lines'")),
        ("mode", "overlay", ("'overlay'", "arrangement='overlay'")),
        ("quantity", "weight", ("'weight'", "'weights'")),
    ],
)
def test_an_assigned_value_is_refused_with_the_value_that_exists(
    name: str, value: str, parts: tuple[str, ...], attention: Attention
) -> None:
    view = HeadView(attention, "L1 H3")
    before = getattr(view, name)
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        setattr(view, name, value)
    assert getattr(view, name) == before
    given: dict[str, Any] = {name: value}
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        HeadView(attention, "L1 H3", **given)


def test_hidden_takes_the_spelling_of_special_tokens(attention: Attention) -> None:
    view = HeadView(attention, "L1 H3", hidden=["[CLS]", "[SEP]"])
    assert list(view.hidden) == ["cls", "sep"]


def test_the_score_of_an_ablation_follows_from_the_examples(model: AttentionModel) -> None:
    examples = [("The woman washed [MASK] hands.", "her")]
    heads = ["L1 H3"]
    assert ablate(model, examples, heads=heads, progress=False).score == "accuracy"
    assert ablate(model, ["The cat sat."], heads=heads, progress=False).score == "loss"


def test_probabilities_of_several_answers_are_a_list(model: AttentionModel) -> None:
    answers = model.predict("The woman washed [MASK] hands.")
    assert answers.probability(["her", "his"]) == [
        answers.probability("her"),
        answers.probability("his"),
    ]


def test_a_grid_of_some_layers_is_refused_with_the_figure_of_some_heads(
    attention: Attention,
) -> None:
    given: dict[str, Any] = {"layers": [1, 2]}
    with pytest.raises(TypeError, match=naming("'layers'", "selected=")):
        HeadGrid(attention, **given)


def test_wrong_numbers_of_arguments_list_the_parameters() -> None:
    given: Any = ablate
    with pytest.raises(TypeError, match=naming("ablate", "too many", "examples", "scoring=")):
        given(load_model(device="cpu"), "The woman washed [MASK] hands.", "her")


def test_one_example_without_a_list_is_refused() -> None:
    example = ("The woman washed [MASK] hands.", "her")
    with pytest.raises(TypeError, match=naming("'her'", f"[{example!r}]")):
        ablate(load_model(device="cpu"), example, progress=False)


def test_unknown_options_are_all_named(attention: Attention) -> None:
    given: Any = HeadGrid
    with pytest.raises(TypeError, match=naming("'layers'", "'L1'", "'mode'", "mode='matrix'")):
        given(attention, layers=[1], mode="matrix")


def public_calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Name and function of all public functions, and of the methods of what they read."""
    packages = [m.name for m in pkgutil.iter_modules(attnwidget.__path__, "attnwidget.") if m.ispkg]
    for package in ["attnwidget", *packages]:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            if inspect.isfunction(function := getattr(module, name)):
                yield f"{package}.{name}", function
    for owner in (Attention, WordAttention, AttentionModel):
        for name, method in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_"):
                yield f"{owner.__name__}.{name}", method
    for name in ("code", "figure", "has", "open", "save", "static"):
        yield f"HeadView.{name}", getattr(HeadView, name)


PUBLIC_CALLS = dict(public_calls())


@pytest.mark.parametrize("name", PUBLIC_CALLS)
def test_every_public_call_names_its_options(name: str) -> None:
    call = PUBLIC_CALLS[name]
    with pytest.raises(TypeError, match=naming("no option", "'no_such_option'")):
        call(no_such_option=1)


@pytest.mark.parametrize(
    ("name", "metric"), [("sep", "classes"), ("previous_token", "position"), ("[CLS]", "classes")]
)
def test_the_word_of_a_number_names_its_metric(
    name: str, metric: str, model: AttentionModel
) -> None:
    with pytest.raises(ValueError, match=naming(repr(name), repr(metric))):
        measure(model, ["The cat sat."], [name], progress=False)


def test_rows_of_all_heads_are_those_of_each_head(attention: Attention) -> None:
    weights = attention.weights()
    he, captain = 7, 2
    assert attention.tokens[he] == "he" and attention.tokens[captain] == "captain"
    for rows, same in (
        (attention.rows(query="he"), weights[:, :, he]),
        (attention.rows(query="he", key="captain"), weights[:, :, he, captain]),
        (attention.rows(1, query="he"), weights[1, :, he]),
        (attention.words.rows(query="he")[1], attention.words.rows("L1", query="he")),
    ):
        np.testing.assert_allclose(rows, same, rtol=0, atol=1e-6)


def test_an_unknown_number_names_the_titles(model: AttentionModel) -> None:
    heads = measure(model, ["The cat sat."], ["position"], progress=False).heads()
    assert heads["previous token"].shape == (6, 12)
    with pytest.raises(KeyError, match=naming("'previous'", "'previous token'", "'next token'")):
        heads["previous"]


def test_a_comparison_of_several_heads_says_that_it_shows_one(attention: Attention) -> None:
    other = attention.disabled(["L0 H2"])
    with pytest.warns(UserWarning, match=naming("L2 H4", "2", "join_figures")):
        HeadView(attention, selected=["L1 H3", "L2 H4"], versus=other)


@pytest.mark.parametrize("name", ["weights", "to_frame", "top_links"])
def test_norms_are_named_by_calls_of_weights(name: str, attention: Attention) -> None:
    with pytest.raises(TypeError, match=naming("'quantity'", "norms")):
        getattr(attention, name)("L1 H3", quantity="norms")
