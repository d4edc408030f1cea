"""Models with attention in some of their layers: the model's own layer numbers everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import traitlets
import transformers
from numpy.testing import assert_array_equal

from attnwidget import (
    Attention,
    AttentionModel,
    Head,
    HeadGrid,
    HeadView,
    load_model,
    make_segments,
    measure,
)
from attnwidget.metrics.measure_heads import measure_attention
from fixtures.svg_picture import texts
from refusals import naming

TOKENS = 9
WITH_ATTENTION = (2,)
WITHOUT = (0, 1, 3)


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    """A Qwen3-Next of four layers, of which layer 2 alone has attention."""
    if not hasattr(transformers, "Qwen3NextConfig"):
        pytest.skip(f"transformers {transformers.__version__} has no Qwen3-Next")
    tokenizer = load_model().tokenizer
    torch.manual_seed(0)
    layer_types = ["linear_attention", "linear_attention", "full_attention", "linear_attention"]
    config = transformers.Qwen3NextConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_hidden_layers=4,
        head_dim=8,
        layer_types=layer_types,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        intermediate_size=48,
        num_experts=2,
        num_experts_per_tok=1,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
        pad_token_id=0,
    )
    return load_model(transformers.Qwen3NextForCausalLM(config).eval(), tokenizer=tokenizer)


@pytest.fixture(scope="module")
def inputs() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {"input_ids": torch.randint(5, 99, (1, TOKENS), generator=generator)}


@pytest.fixture
def attention(model: AttentionModel, inputs: dict[str, torch.Tensor]) -> Attention:
    return model.attend(inputs)


class TestAttention:
    def test_maps_of_hybrid_models_have_the_layer_numbers_of_the_model(
        self, model: AttentionModel, inputs: dict[str, Any], attention: Attention
    ) -> None:
        with torch.no_grad():
            model.hf_model.set_attn_implementation("eager")
            (own,) = [
                maps
                for maps in model.hf_model(**inputs, output_attentions=True).attentions
                if maps is not None
            ]
        np.testing.assert_allclose(attention.weights(2), own[0].numpy(), atol=1e-6)
        assert attention.n_layers == 4
        assert attention.stacks["self"].layers_without_attention == WITHOUT

    def test_arrays_of_all_layers_are_nan_without_attention(self, attention: Attention) -> None:
        weights = attention.weights()
        assert weights.shape == (4, 4, TOKENS, TOKENS)
        assert_array_equal(np.isnan(weights).all((1, 2, 3)), [True, True, False, True])
        assert_array_equal(weights[2], attention.weights(2))
        assert_array_equal(attention.row_sums()[2], attention.weights(2).sum(-1))
        token_values = attention.token_values("query", 3)
        assert_array_equal(np.isnan(token_values).all((1, 2)), [True, True, False, True])

    def test_tables_have_the_layers_with_attention(self, attention: Attention) -> None:
        frame = attention.to_frame()
        assert frame["layer"].unique().tolist() == [2]
        assert len(frame) == 4 * TOKENS**2

    def test_layers_without_attention_are_refused_by_number(self, attention: Attention) -> None:
        expected = naming("layer 1", "attention layers", "2")
        with pytest.raises(ValueError, match=expected):
            attention.weights(1)
        with pytest.raises(ValueError, match=expected):
            attention.tile(1, 0, (0, 2), (0, 2))
        assert not attention.has((1, 0))
        assert "layers 0, 1, 3 have no attention" in repr(attention)

    def test_long_inputs_have_the_same_numbers(
        self, model: AttentionModel, inputs: dict[str, Any], attention: Attention
    ) -> None:
        long = model.attend(inputs, long=True)
        np.testing.assert_allclose(long.weights(2), attention.weights(2), atol=1e-6)
        with pytest.raises(ValueError, match=naming("layer 3", "attention layers", "2")):
            long.weights(3)


class TestHeadsOff:
    def test_heads_are_switched_off_by_the_models_number(
        self, model: AttentionModel, inputs: dict[str, Any], attention: Attention
    ) -> None:
        edited = attention.disabled([(2, 1)], method="first")
        assert edited.edits == "without L2 H1 (first)"
        assert_array_equal(edited.weights(2, 1)[:, 0], np.ones(TOKENS))
        assert_array_equal(edited.weights(2, 0), attention.weights(2, 0))

    def test_a_layer_without_attention_cannot_be_switched_off(self, model: AttentionModel) -> None:
        with (
            pytest.raises(ValueError, match=naming("layer 0", "attention layers", "2")),
            model.disabled([(0, 1)]),
        ):
            pass
        with (
            pytest.raises(ValueError, match=naming("layer 3", "attention layers", "2")),
            model.disabled(layers=[3]),
        ):
            pass


class TestFigures:
    def test_the_grid_names_layers_without_attention(self, attention: Attention) -> None:
        grid = HeadGrid(attention)
        assert grid.layer == 2
        picture = grid.figure()
        assert texts(picture).count("no attention") == len(WITHOUT)
        assert "layers 0, 1, 3 have no attention" in picture.svg

    def test_heads_of_other_layers_cannot_be_selected(self, attention: Attention) -> None:
        expected = naming("layer 1", "attention layers", "2")
        with pytest.raises(traitlets.TraitError, match=expected):
            HeadGrid(attention, selected=[(1, 0)])
        with pytest.raises(traitlets.TraitError, match=expected):
            HeadGrid(attention).layer = 1

    def test_captions_say_the_models_number(self, attention: Attention) -> None:
        view = HeadView(attention, 2, 3)
        assert view.head == Head(2, 3)
        assert "L2 H3" in view.figure().svg

    def test_pages_hold_every_layer(self, attention: Attention, tmp_path: Any) -> None:
        page = tmp_path / "page.html"
        HeadView(attention, 2, 3).save(page)
        assert '"layers_without_attention":[0,1,3]' in page.read_text("utf-8").replace(" ", "")


class TestStudies:
    @pytest.fixture
    def segments(self, model: AttentionModel) -> Any:
        return make_segments(["The cat sat on the mat.", "It slept."], model)

    def test_metrics_are_nan_without_attention(self, model: AttentionModel, segments: Any) -> None:
        found = measure(model, segments, ["entropy", "distances"], progress=False)
        entropy = found["entropy"].heads()["entropy"]
        assert entropy.shape == (4, 4)
        assert_array_equal(np.isnan(entropy).all(1), [True, True, False, True])
        assert np.isfinite(entropy[2]).all()
        assert found["entropy"].to_frame()["layer"].unique().tolist() == [2]
        distances = found["distances"]
        assert distances.pairs()[["layer", "other_layer"]].to_numpy().tolist() == [[2, 2]] * 6
        assert distances.cluster(2)[2].min() == 0
        assert (distances.cluster(2)[[0, 1, 3]] == -1).all()

    def test_metrics_of_one_input_are_the_same(
        self, model: AttentionModel, attention: Attention, inputs: dict[str, Any]
    ) -> None:
        entropy = measure_attention(attention, ["entropy"])["entropy"].heads()["entropy"]
        grid = HeadGrid(attention, metrics={"entropy": entropy}, metric="entropy", sort="all")
        assert [head.layer for head in grid.passing] == [2] * 4
        assert [head.layer for head in grid.similar((2, 0), 3)] == [2] * 3
        assert texts(grid.figure()).count("no attention") == 0

    def test_ranks_are_among_heads_with_attention(
        self, attention: Attention, inputs: dict[str, Any]
    ) -> None:
        entropy = measure_attention(attention, ["entropy"])["entropy"].heads()["entropy"]
        most = (2, int(entropy[2].argmax()))
        grid = HeadGrid(attention, metrics={"entropy": entropy}, metric="entropy", selected=[most])
        assert "rank 1 of 4 (1 is the largest)" in grid.caption.text()
        assert "NaN" not in grid.figure().svg


def test_means_of_heads_keep_the_layer_numbers_and_leave_other_layers_out(
    model: AttentionModel, attention: Attention
) -> None:
    by_layer = attention.mean(each="layer")
    assert by_layer.stacks["self"].layers_without_attention == WITHOUT
    assert by_layer.stacks["self"].head_name(2, 0) == "mean of 4 heads of layer 2"
    assert_array_equal(by_layer.weights(2, 0), attention.weights(2).mean(0))
    assert_array_equal(attention.mean().weights(0, 0), attention.weights(2).mean(0))
    with pytest.raises(ValueError, match=naming("layer 1", "attention layers", "2")):
        attention.mean(layers=[1, 2])
    with pytest.raises(ValueError, match=naming("layer 1", "attention layers", "2")):
        attention.max(heads=[(1, 0)])
