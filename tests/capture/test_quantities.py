"""Norms and gradients of one input: in Attention, in the widgets and in a page of their own."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets

from attnwidget import Attention, HeadGrid, HeadView, link_figures, load_model, save_page
from attnwidget.capture.answers.losses import task_for
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.capture.tapping.gradients import attention_gradients
from attnwidget.capture.tapping.projection import Projections
from attnwidget.capture.tapping.tap import tap
from fixtures import zoo
from fixtures.recording import from_page, updates
from references import reference_norms
from refusals import naming

TEXT = "The unbelievable cat slept on the mat."


@pytest.fixture(scope="module")
def attention(model: Any) -> Attention:
    return model.attend(TEXT, loss="auto", seed=1)


@pytest.mark.parametrize("name", ["bert", "modernbert", "gpt2", "llama", "gemma2", "bloom", "bart"])
def test_norms_are_those_of_the_vectors(name: str) -> None:
    model = zoo.build(name)
    given = zoo.inputs(name, batch=1, padded=0)
    attention = load_model(model).attend(given)
    assert attention.quantities == ("weights", "norms")
    seen: list[Any] = []
    with torch.no_grad(), tap(model, seen.append):
        model(**given)
    projections = Projections(model)
    with torch.no_grad():
        projections.check(model, given)
    for layer in seen:
        shares = projections.of_heads(layer.module, 4).numpy()
        f = reference_norms.vectors(layer.value[0].numpy(), shares=shares)
        weights = layer.weights[0].numpy()
        where = {"stack": layer.stack}
        maps = attention.norms(layer.layer, **where)
        np.testing.assert_allclose(maps, reference_norms.norm_maps(weights, f), atol=1e-5)
        one = attention.norms(layer.layer, 3, **where)
        np.testing.assert_allclose(one, maps[3], atol=1e-6)
        norms = attention.value_norms(layer.layer, **where)
        np.testing.assert_allclose(norms, reference_norms.norms(f), atol=1e-5)
        summed = attention.summed_norms(layer.layer, **where)
        wanted = reference_norms.summed_norm_maps(weights, f)
        np.testing.assert_allclose(summed, wanted, atol=1e-5)


def test_padding_leaves_norms_alone(model: Any) -> None:
    ids = model.tokenizer(TEXT, return_tensors="pt", padding="max_length", max_length=20)
    padded = model.attend(dict(ids), loss="auto")
    alone = model.attend(TEXT, loss="auto")
    assert padded.loss.masked == alone.loss.masked
    np.testing.assert_allclose(padded.norms(), alone.norms(), atol=1e-5)
    np.testing.assert_allclose(padded.gradients(), alone.gradients(), atol=1e-5, rtol=1e-4)


def test_gradients_are_those_of_the_masked_input(model: Any, attention: Attention) -> None:
    inputs = dict(model.tokenizer(TEXT, return_tensors="pt"))
    task = task_for(model.hf_model, model.tokenizer, inputs, "masked", 1)
    layers, loss = attention_gradients(model.hf_model, task)
    wanted = torch.cat([layer.values for layer in layers]).abs().numpy()
    np.testing.assert_allclose(attention.gradients(), wanted, atol=1e-7)
    assert attention.quantities == ("weights", "norms", "gradients")
    assert attention.loss.name == "masked-LM"
    assert attention.loss.value == pytest.approx(loss.item())
    assert attention.loss.masked == tuple(task.selected[0].nonzero()[:, 0].tolist())
    assert str(attention.loss).endswith(f"nats, {len(attention.loss.masked)} tokens masked")
    np.testing.assert_array_equal(attention.weights(), model.attend(TEXT).weights())


def test_a_function_is_a_loss_too(model: Any) -> None:
    def first_logit(output: Any) -> torch.Tensor:
        return output.logits[0, 3, 7]

    attention = model.attend(TEXT, loss=first_logit)
    assert attention.loss.name == "first_logit" and not attention.loss.masked
    assert attention.gradients(5, 0)[3].max() > 0
    assert attention.gradients(5, 0)[4].max() == 0  # the last layer's row 4 has no part in it


def test_causal_gradients_are_0_where_masked() -> None:
    attention = load_model(zoo.build("gpt2")).attend(
        zoo.inputs("gpt2", batch=1, padded=0), loss="causal"
    )
    gradients = attention.gradients()
    assert (gradients[..., ~attention.visible(0, 0)] == 0).all()
    assert gradients[..., attention.visible(0, 0)].max() > 0
    assert str(attention.loss).startswith("causal-LM loss ")


@pytest.mark.parametrize("quantity", ["norms", "gradients"])
@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_pictures_and_words_are_of_the_quantity(
    attention: Attention, quantity: str, unit: str
) -> None:
    shown = attention.words if unit == "words" else attention
    thumbnails = draw_thumbnails(shown, hidden=["cls"], quantity=quantity)
    for head in [(0, 0), (5, 11)]:
        full = shown.map(quantity, *head)
        assert thumbnails.maxima[head] == pytest.approx(full[1:, 1:].max(), rel=1e-5)
        assert full[tuple(thumbnails.strongest[head])] == pytest.approx(full[1:, 1:].max())
    tokens = attention.map(quantity, 2, 3)
    groups = attention.stacks["self"].query.word_groups()
    merged = [[tokens[np.ix_(q, k)].sum(1).mean() for k in groups] for q in groups]
    words = attention.words.map(quantity, 2, 3)
    np.testing.assert_allclose(words, merged, rtol=1e-5)


def test_what_is_not_known_says_why(model: Any, attention: Attention) -> None:
    plain = model.attend(TEXT)
    with pytest.raises(ValueError, match=naming("gradients", "loss='auto'")):
        plain.gradients(0, 0)
    given = Attention.from_weights(np.full((1, 2, 3, 3), 1 / 3), list("abc"))
    assert given.quantities == ("weights",)
    with pytest.raises(ValueError, match=naming("norms", "weights alone", "load_model")):
        given.norms()
    with pytest.raises(ValueError, match=naming("norms", "weights alone", "load_model")):
        given.summed_norms(0)
    with pytest.raises(
        ValueError, match=naming("quantity", "'values'", "'weights', 'norms', 'gradients'")
    ):
        attention.map("values", 0, 0)
    with pytest.raises(ValueError, match=naming("head=1", "layer=")):
        attention.norms(head=1)
    with pytest.raises(ValueError, match=naming("masked loss", "pixel_values")):
        load_model(zoo.build("vit")).attend(zoo.inputs("vit", batch=1), loss="masked")


@pytest.mark.usefixtures("recording")
def test_widgets_switch_in_one_message(attention: Attention) -> None:
    grid = HeadGrid(attention, selected=[(2, 3)])
    view = HeadView(attention)
    link_figures(grid, view)
    assert grid.get_state()["_quantities"] == ["weights", "norms", "gradients"]
    assert grid.get_state()["_source"]["loss"].startswith("masked-LM loss")
    for quantity in ("norms", "gradients", "weights"):
        grid.comm.sent.clear()
        view.comm.sent.clear()
        from_page(grid, {"quantity": quantity})
        pictures = [s for s, _ in updates(grid) if "_thumbnails" in s]
        assert [s["_thumbnails"]["quantity"] for s in pictures] == [quantity]
        (sent,) = [(s, b) for s, b in updates(view) if "_tile" in s]
        assert sent[0]["_tile"]["quantity"] == quantity == view.quantity
        values = np.frombuffer(sent[1][0], "<f4").reshape(sent[0]["_tile"]["values"]["shape"])[0]
        np.testing.assert_array_equal(values, attention.map(quantity, 2, 3))
        np.testing.assert_array_equal(values, view.values)
        np.testing.assert_array_equal(view.weights, attention.weights(2, 3))


@pytest.mark.usefixtures("recording")
def test_a_quantity_that_is_lacking_is_explained_in_python_and_in_place(model: Any) -> None:
    grid = HeadGrid(model.attend(TEXT))
    assert grid.get_state()["_quantities"] == ["weights", "norms"]
    with pytest.raises(ValueError, match=naming("loss", "attend")):
        grid.quantity = "gradients"
    assert "no loss was given" in grid.get_state()["_error"]
    grid.quantity = "norms"
    assert grid.get_state()["_error"] == ""
    with pytest.raises(ValueError, match=naming("model.attend", "loss")):
        HeadView(model.attend(TEXT), quantity="gradients")
    with pytest.raises(traitlets.TraitError, match=naming("'quantity'", "HeadGrid")):
        HeadGrid(model.attend(TEXT), quantity="values")


def test_a_page_carries_the_chosen_quantity(attention: Attention, tmp_path: Path) -> None:
    page = save_page(attention, tmp_path / "norms.html", quantity="norms").read_text("utf-8")
    data = json.loads(re.search(r'id="attnw-data">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    grid, view = (figure["state"] for figure in data["figures"])
    assert grid["quantity"] == view["quantity"] == "norms"
    assert grid["_quantities"] == view["_quantities"] == [*attention.quantities]
    # The page has the maps of no other quantity.
    assert "need a notebook" in grid["_fixed"]["quantity"]
    assert grid["_fixed"]["quantity"] == view["_fixed"]["quantity"]
    tokens = data["held"]["maps"][0]
    assert tokens["quantity"] == "norms"
    values = np.frombuffer(base64.b64decode(tokens["values"]), "u1").reshape(tokens["shape"])
    maxima = np.array(tokens["maxima"]).reshape(6, 12)
    np.testing.assert_allclose(maxima, attention.norms().max((-2, -1)), rtol=1e-6)
    assert (values.max((-2, -1)) == 255).all()
