"""What stands in the place of heads that are off, if no method is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import (
    Attention,
    AttentionModel,
    HeadGrid,
    HeadView,
    MinimalPair,
    PredictionView,
    ablate,
    explore,
    link_figures,
    load_model,
)
from attnwidget.capture.default_method import default_method, is_causal_model
from attnwidget.interventions.head_effects import effects_of
from fixtures import zoo
from fixtures.recording import on_page

TEXT = "The captain told his men that he would not leave the ship."
OFF = [(0, 3), (1, 2)]
SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "vocab_size": 40,
}


@pytest.fixture(scope="module")
def causal() -> AttentionModel:
    return load_model("attnwidget/induction", device="cpu")


@pytest.fixture
def attention(causal: AttentionModel) -> Attention:
    return causal.attend(TEXT)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("bert", "uniform"),
        ("mpnet", "uniform"),
        ("deberta-v2", "uniform"),
        ("modernbert", "uniform"),
        ("gpt2", "zero"),
        ("llama", "zero"),
        ("gpt-neox", "zero"),
        ("t5", "zero"),
        ("bart", "zero"),
    ],
)
def test_heads_of_models_that_write_are_replaced_by_zero(name: str, method: str) -> None:
    model = AttentionModel(zoo.build(name), None, name)
    assert model.default_method == method
    with model.disabled(layers=[0], stack="encoder" if name in ("t5", "bart") else None):
        assert str(model.edits).endswith(f"({method})")


@pytest.mark.parametrize(
    ("hf_model", "method"),
    [
        # A BERT that was made a decoder is causal, and so is a decoder of its own attention code.
        (lambda: transformers.BertLMHeadModel(_config("Bert", is_decoder=True)), "zero"),
        (lambda: transformers.BloomForCausalLM(_config("Bloom", n_layer=2, n_head=2)), "zero"),
        # The encoder of an encoder-decoder alone has no decoder.
        (lambda: zoo.build("bart").get_encoder(), "uniform"),
        (lambda: zoo.build("t5").get_encoder(), "uniform"),
        # A model of pictures reads no tokens.
        (lambda: transformers.ViTModel(_config("ViT", image_size=32, patch_size=16)), "uniform"),
        # A vocabulary whose first entry is padding.
        (lambda: transformers.RobertaModel(_config("Roberta", pad_token_id=1)), "uniform"),
    ],
    ids=["decoder-bert", "bloom", "bart-encoder", "t5-encoder", "vit", "padding-first"],
)
def test_the_default_follows_what_tokens_see_and_not_the_name(hf_model: Any, method: str) -> None:
    assert default_method(hf_model().eval()) == method


def _config(family: str, **changes: Any) -> Any:
    return getattr(transformers, f"{family}Config")(**{**SMALL, **changes})


def test_a_model_that_cannot_read_text_alone_is_causal_if_its_modules_say_so() -> None:
    model = zoo.build("llama")
    forward = model.forward

    def needs_a_picture(*args: Any, pixel_values: Any = None, **inputs: Any) -> Any:
        if pixel_values is None:
            raise ValueError("pass pixel_values")
        return forward(*args, **inputs)

    model.forward = needs_a_picture
    assert is_causal_model(model)


def test_heads_that_are_off_do_not_change_the_default() -> None:
    model = AttentionModel(zoo.build("llama"), None, "llama")
    with model.disabled(layers=[0, 1], method="uniform"):
        assert model.default_method == "zero"


def test_a_head_that_rests_on_the_first_token_changes_nothing_by_default() -> None:
    """The first token's value is zero, so a head that rests on it writes nothing."""
    torch.manual_seed(0)
    hf_model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL)).eval()
    embedded: Any = hf_model.model.embed_tokens.weight
    attention_module: Any = hf_model.model.layers[0].self_attn
    # The fourth number of a head of eight turns slowest with the position.
    slowest = 3
    with torch.no_grad():
        # Number 0 of a token marks the first token, number 1 marks all other tokens.
        embedded[:, 0] = 0
        embedded[:, 1] = embedded.abs().max() * 4
        embedded[1] = 0
        embedded[1, 0] = 1
        for projection, mark in (("q_proj", 1), ("k_proj", 0)):
            weight = getattr(attention_module, projection).weight
            weight[:8] = 0
            weight[slowest, mark] = 10
        attention_module.v_proj.weight[:8, 0] = 0
    model = AttentionModel(hf_model, None, "llama")
    attention = model.attend({"input_ids": torch.tensor([[1, 5, 9, 7, 12, 30]])})
    assert attention.weights(0, 0)[1:, 0].min() > 0.999
    reading = attention.reading
    assert reading is not None
    answer = int(reading.predict(positions=[6]).log_probabilities[0].argmax())
    usual = effects_of(reading, answer, 6, stack="self")
    uniform = effects_of(reading, answer, 6, (), "uniform", stack="self")
    assert usual is not None and uniform is not None
    assert abs(usual[0, 0]) < 1e-7 and abs(uniform[0, 0]) > 1e-5


def test_every_way_in_uses_the_same_default(causal: AttentionModel, attention: Attention) -> None:
    zero = attention.disabled(OFF, "zero")
    assert attention.disabled(OFF) is zero and zero.edits == "without L0 H3, L1 H2 (zero)"
    reading = attention.reading
    assert reading is not None
    wanted = reading.predict(OFF, "zero").log_probabilities
    np.testing.assert_array_equal(reading.predict(OFF).log_probabilities, wanted)
    with causal.disabled(OFF):
        np.testing.assert_array_equal(causal.predict(TEXT).log_probabilities, wanted)
    answer = int(wanted[0].argmax())
    position = len(attention.tokens)
    for exact in (False, True):
        usual, named = (
            effects_of(reading, answer, position, [], method, stack="self", exact=exact)
            for method in (None, "zero")
        )
        np.testing.assert_array_equal(usual, named)


def test_figures_use_the_default_of_their_own_model(
    model: AttentionModel, attention: Attention
) -> None:
    grid = HeadGrid(attention)
    view = HeadView(model.attend(TEXT))
    link_figures(grid, view)
    assert grid.method is None and on_page(grid, "source")["method"] is None
    grid.disabled = [(0, 3)]
    assert grid.attention is attention.disabled([(0, 3)], "zero")
    assert view.attention.edits == "without L0 H3 (uniform)"
    assert on_page(grid, "source")["method"] == "zero"
    assert on_page(view, "source")["method"] == "uniform"
    assert "method" not in grid.code()
    grid.method = "first"
    assert grid.attention.edits == "without L0 H3 (first)" == view.attention.edits
    assert on_page(grid, "source")["method"] == "first" and 'method="first"' in grid.code()


def test_predictions_name_what_stands_in_the_place_of_heads(attention: Attention) -> None:
    view = PredictionView(attention)
    try:
        assert view.wait()
        title = next(iter(view.effect_metric))
        assert title.endswith("(zero)")
        assert on_page(view, "effects")["method"] == "zero"
        usual = view.effects
        view.method = "zero"
        assert view.wait()
        np.testing.assert_array_equal(view.effects, usual)
        view.method = "uniform"
        assert view.wait()
        assert not np.allclose(view.effects, usual)
        view.effects_by = "gradient"
        assert view.wait() and next(iter(view.effect_metric)).endswith("(uniform, estimate)")
    finally:
        view.close()


@pytest.mark.slow
def test_the_line_of_an_explorer_says_what_stands_in_for_a_head(causal: AttentionModel) -> None:
    explorer = explore(causal, TEXT, treebank=False)
    try:
        explorer.wait()
        explorer.selected = [(0, 3)]
        explorer.disabled = [(0, 3)]
        explorer.wait()
        line = explorer.caption.notes[0]
        assert line.startswith("L0 H3 is off: it looks nowhere and hands on nothing.")
        explorer.method = "uniform"
        explorer.wait()
        line = explorer.caption.notes[0]
        assert line.startswith("L0 H3 is off: it looks nowhere and hands on the mean of all words.")
    finally:
        explorer.close()


def test_a_study_names_the_default_and_a_reference_means_the_mean(
    model: AttentionModel, causal: AttentionModel
) -> None:
    pairs = [MinimalPair("The girl washed herself.", "The girl washed himself.")]

    def found(read: AttentionModel, **options: Any) -> Any:
        heads = [(0, 1)]
        return ablate(
            read, pairs, scoring="minimal pair", heads=heads, progress=False, **options
        ).method

    assert [found(causal), found(model)] == ["zero", "uniform"]
    assert found(causal, reference=[TEXT]) == "mean" == found(model, reference=TEXT)
    with causal.disabled([(0, 1)], reference=[TEXT]):
        assert "(mean over " in causal.name
