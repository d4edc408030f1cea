"""Norms of the states of tokens: against the states that models return, at their places."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnwidget import Attention, AttentionModel, load_model
from attnwidget.demo import drawn_shapes
from attnwidget.mechanisms import token_norms
from fixtures.picture_models import build, drawn
from refusals import naming

TEXT = "The cat sat on the mat."


@pytest.fixture(scope="module")
def shapes() -> AttentionModel:
    return load_model("attnwidget/shapes", device="cpu")


def test_norms_are_those_of_the_states_that_a_text_model_returns(model: AttentionModel) -> None:
    found = token_norms(model.attend(TEXT))
    inputs = model.tokenizer(TEXT, return_tensors="pt")
    with torch.no_grad():
        states = model.hf_model(**inputs, output_hidden_states=True).hidden_states
    expected = [state[0].norm(dim=-1).numpy() for state in states]
    np.testing.assert_allclose(found.norms, expected, rtol=1e-5)
    assert found.largest(1, 0) == [int(expected[1].argmax())]
    frame = found.to_frame()
    assert frame.columns.tolist() == ["layer", "index", "token", "kind", "norm"]
    assert frame.attrs["model"] == model.name and len(frame) == 7 * 9
    assert "before L0" in found.chart().to_json() and "9 tokens, 6 layers" in repr(found)


def test_norms_of_a_picture_are_drawn_in_the_boxes(shapes: AttentionModel) -> None:
    attention = shapes.attend(images=drawn_shapes(1).images[0])
    found = token_norms(attention)
    states = shapes.hf_model.vit.embeddings(attention.reading.inputs["pixel_values"])
    np.testing.assert_allclose(found.norms[0], states[0].norm(dim=-1).detach().numpy(), rtol=1e-5)
    chart = found.chart(0).to_dict()
    (values,) = chart["datasets"].values()
    assert len(values) == 64
    by_place = {(row["left"], row["top"]): row["value"] for row in values}
    for token, place in enumerate(attention.stacks["self"].query.places):
        if place is not None:
            assert by_place[place.left, place.top] == pytest.approx(float(found.norms[1, token]))
    said = " ".join(chart["title"]["subtitle"])
    assert f"[CLS] {found.norms[1, 0]:.3g}" in said and "after layer 0" in said
    assert found.to_frame()[["left", "right"]].max().tolist() == pytest.approx([28, 32], abs=0.05)


def test_large_norms_of_patches_and_registers_are_found() -> None:
    parts = build("DINOv2 with registers")
    attention = load_model(parts.model, parts.processor).attend(images=drawn(100, 80))
    tokens = attention.stacks["self"].query
    found = token_norms(attention)
    assert found.sizes == ((80, 100),) and found.tokens.special == tokens.special
    frame = found.to_frame()
    assert set(frame["kind"]) >= {"cls", "register"}
    assert frame.query("kind == 'register'")["left"].isna().all()


def test_what_has_no_states_is_refused(shapes: AttentionModel, model: AttentionModel) -> None:
    given = Attention.from_weights(np.full((1, 1, 2, 2), 0.5), ["a", "b"])
    with pytest.raises(ValueError, match=naming("norms of tokens", "given weights", "load_model")):
        token_norms(given)
    attention = model.attend(TEXT)
    with pytest.raises(ValueError, match=naming("'vision'", "'self'")):
        token_norms(attention, "vision")
    found = token_norms(shapes.attend(images=drawn_shapes(1).images[0]))
    with pytest.raises(ValueError, match=naming("layer 4", "-1")):
        found.chart(4)
    with pytest.raises(ValueError, match=naming("picture 1", "0 to 0")):
        found.chart(0, 1)
