"""Heads of layers with windows are switched off, measured and drawn, or refused by name."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

from attnwidget import (
    AttentionModel,
    HeadGrid,
    HeadView,
    load_model,
    measure_attention,
)
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.capture.maps.whole_maps import LONG_FROM
from fixtures import zoo
from fixtures.block_models import BlockModel, build_blocks
from fixtures.picture_models import drawn
from refusals import naming

PICTURE = drawn(150, 90)


@pytest.fixture(scope="module")
def swin() -> BlockModel:
    return build_blocks("Swin with padding")


@pytest.fixture(scope="module")
def attention(swin: BlockModel) -> Any:
    return swin.reader.attend(images=PICTURE)


def test_a_stage_is_a_stack_with_its_own_heads(attention: Any) -> None:
    assert list(attention.stacks) == ["stage 1", "stage 2"]
    assert [stack.n_heads for stack in attention.stacks.values()] == [2, 4]
    assert [len(stack.key) for stack in attention.stacks.values()] == [96, 32]
    assert attention.stacks["stage 1"].key.special.count("padding") == 16
    with pytest.raises(ValueError, match=naming("which stack", "SwinModel", "'stage 1'")):
        attention.weights(0, 0)


@pytest.mark.parametrize("method", ["uniform", "zero"])
def test_a_head_is_switched_off_within_its_windows(attention: Any, method: str) -> None:
    edited = attention.disabled([(0, 1, "stage 1")], method=method)
    weights = edited.weights(0, 1, stack="stage 1")
    seen = attention.visible(0, 1, stack="stage 1")
    wanted = seen / 16 if method == "uniform" else np.zeros_like(weights)
    assert np.allclose(weights, wanted)
    others = (edited.weights(0, 0, stack="stage 1"), attention.weights(0, 0, stack="stage 1"))
    assert np.array_equal(*others)
    later = (edited.weights(1, stack="stage 1"), attention.weights(1, stack="stage 1"))
    assert not np.allclose(*later)


def test_a_mean_is_over_all_windows(swin: BlockModel) -> None:
    family = swin
    reference = family.pixels()
    with family.reader.disabled((0, 1, "stage 1"), reference=dict(reference)) as model:
        edited = model.attend(images=PICTURE)
    assert "mean over 96 tokens" in edited.model_name


def test_links_in_windows_are_refused(swin: BlockModel) -> None:
    with (
        swin.reader.scaled_links([(0, 3)], 0, (0, 1, "stage 1")) as model,
        pytest.raises(ValueError, match=naming("links name tokens", "'uniform'")),
    ):
        model.attend(images=PICTURE)


@pytest.mark.parametrize("method", ["first", "patch"])
def test_changes_that_name_tokens_are_refused(swin: BlockModel, method: str) -> None:
    options: dict[str, Any] = {"method": method}
    if method == "patch":
        options["reference"] = dict(swin.pixels())
    with (
        swin.reader.disabled((0, 1, "stage 1"), **options) as model,
        pytest.raises(ValueError, match=naming(f"'{method}'", "tokens", "'uniform'")),
    ):
        model.attend(images=PICTURE)


def test_gradients_are_those_of_the_weights_in_windows(swin: BlockModel) -> None:
    def loss(output: Any) -> Tensor:
        return output[0].square().sum()

    attention = swin.reader.attend(images=PICTURE, loss=loss)
    gradients = attention.gradients(1, 0, stack="stage 1")
    seen = attention.visible(1, 0, stack="stage 1")
    assert gradients[seen].any() and not gradients[~seen].any()


@pytest.mark.skipif(
    zoo.TRANSFORMERS_4, reason="the reference reads modules by their names in transformers 5"
)
def test_norms_are_lengths_of_the_vectors_that_weights_scale(
    swin: BlockModel, attention: Any
) -> None:
    layer: Any = swin.model.encoder.layers[0].blocks[1]
    read: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, args: read.append(args[0]))
    swin.reader.attend(images=PICTURE)
    hook.remove()
    with torch.no_grad():
        values = layer.attention.v_proj(layer.layernorm_before(read[0][0]))[:, :8]
        lengths = (values @ layer.attention.o_proj.weight[:, :8].T).norm(dim=-1)
    norms = attention.value_norms(1, stack="stage 1")
    assert np.allclose(norms[0, :80], lengths.numpy(), rtol=1e-4)
    weights = attention.weights(1, 0, stack="stage 1")
    assert np.allclose(attention.norms(1, 0, stack="stage 1"), weights * norms[0], rtol=1e-4)


def test_rows_columns_tiles_and_links_are_parts_of_the_map(attention: Any) -> None:
    whole = np.where(
        attention.visible(1, 0, stack="stage 1"), attention.weights(1, 0, stack="stage 1"), np.nan
    )
    rows = attention.rows(1, 0, [3, 40], stack="stage 1")
    assert np.array_equal(rows, np.nan_to_num(whole[[3, 40]]))
    column = attention.token_values("key", 40, layer=1, stack="stage 1")[0]
    assert np.array_equal(column, whole[:, 40], equal_nan=True)
    row = attention.token_values("query", 40, layer=1, stack="stage 1")[0]
    assert np.array_equal(row, whole[40], equal_nan=True)
    link = attention.top_links(1, 0, 1, stack="stage 1").loc[0]
    query, key, weight = int(link["query"]), int(link["key"]), link["weight"]
    assert weight == whole[query, key] == np.nanmax(whole)


def test_pickles_and_figures_show_the_same_maps(attention: Any) -> None:
    copied = pickle.loads(pickle.dumps(attention))
    for stack in attention.stacks:
        assert np.array_equal(copied.weights(stack=stack), attention.weights(stack=stack))
    drawn_thumbnails = draw_thumbnails(attention, "stage 1")
    assert drawn_thumbnails.values.shape[:2] == (2, 2) and drawn_thumbnails.values.any()
    view = HeadView(attention, layer=0, head=1, stack="stage 1", mode="places")
    assert view.mode == "places"
    grid = HeadGrid(attention, stack="stage 2")
    assert "stage 2" in repr(view) and grid.stack == "stage 2"
    view.close()
    grid.close()


def test_the_attention_distance_of_windows_is_short(attention: Any) -> None:
    measured = measure_attention(attention, "attention_distance", stack="stage 1").to_frame()
    distances = measured[measured["metric"] == "mean distance (patches)"]
    weights = attention.weights(0, 0, stack="stage 1")[:80, :80]
    place = np.indices((8, 10)).reshape(2, -1).T
    apart = np.linalg.norm(place[:, None] - place, axis=-1)
    wanted = ((weights * apart).sum(-1) / weights.sum(-1)).mean()
    assert distances["value"].iloc[0] == pytest.approx(wanted, rel=1e-3)
    assert distances["value"].max() < 3 * np.sqrt(2)


def test_many_tokens_have_no_whole_maps() -> None:
    family = build_blocks("Swin of many tokens")
    attention = family.reader.attend(family.pixels())
    assert len(attention.stacks["stage 1"].key) > LONG_FROM and attention.is_long
    weights = attention.weights(1, 0, stack="stage 1")
    rows = attention.rows(1, 0, [5, 900], stack="stage 1")
    assert np.array_equal(weights[[5, 900]], rows)
    assert np.abs(weights.sum(-1) - 1).max() < 1e-5
    assert draw_thumbnails(attention, "stage 1").values.any()


class _Mixing(nn.Module):
    """A norm that mixes each token with the next one."""

    def forward(self, states: Tensor) -> Tensor:
        return states + states.roll(1, 1)


def test_a_layer_that_mixes_tokens_before_its_windows_is_refused() -> None:
    family = build_blocks("Swin")
    family.model.encoder.layers[0].blocks[1].layernorm_before = _Mixing()
    with pytest.raises(
        ValueError, match=naming("'stage 1'", "SwinModel", "4 windows", "not one token")
    ):
        family.reader.attend(family.pixels())


def test_outputs_that_go_to_other_tokens_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.models.swin import modeling_swin

    original = modeling_swin.window_reverse

    def turned(windows: Tensor, *args: Any) -> Tensor:
        return original(windows.flip(0), *args)

    monkeypatch.setattr(modeling_swin, "window_reverse", turned)
    family = build_blocks("Swin")
    with pytest.raises(
        ValueError, match=naming("'stage 1'", "SwinModel", "outputs go to other tokens")
    ):
        family.reader.attend(family.pixels())


def test_pooled_keys_are_refused_as_before() -> None:
    config = transformers.SegformerConfig(
        num_encoder_blocks=2,
        depths=[1, 1],
        sr_ratios=[2, 1],
        hidden_sizes=[8, 16],
        patch_sizes=[7, 3],
        strides=[4, 2],
        num_attention_heads=[1, 2],
        mlp_ratios=[2, 2],
    )
    model = load_model(transformers.SegformerModel(config).eval())
    with pytest.raises(ValueError, match=naming("SegformerModel", "16 keys", "not the tokens")):
        model.attend({"pixel_values": torch.zeros(1, 3, 32, 32)})


def test_the_size_of_a_model_with_stages_is_that_of_its_first_stage(swin: BlockModel) -> None:
    model: AttentionModel = swin.reader
    assert (model.n_layers, model.n_heads) == (2, 2)
    assert "2×2 heads" in repr(model)


@pytest.mark.skipif(zoo.TRANSFORMERS_4, reason="the module has another layout")
def test_a_stage_of_one_layer_counts_from_zero() -> None:
    family = build_blocks("Swin of single layers")
    attention = family.reader.attend(family.pixels())
    assert [stack.n_layers for stack in attention.stacks.values()] == [1, 1]
    assert attention.weights(0, 0, stack="stage 2").any()


@pytest.mark.skipif(zoo.TRANSFORMERS_4, reason="parts of the model have the names of version 5")
def test_sam_names_the_part_that_can_be_read() -> None:
    vision = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 64,
        "patch_size": 16,
        "num_pos_feats": 8,
        "window_size": 2,
        "global_attn_indexes": [1],
        "mlp_dim": 32,
        "output_channels": 16,
    }
    prompts = {"hidden_size": 16, "image_size": 64, "patch_size": 16}
    decoder = {"hidden_size": 16, "mlp_dim": 32, "num_attention_heads": 2, "num_hidden_layers": 2}
    config = transformers.SamConfig(
        vision_config=vision,
        prompt_encoder_config=prompts,
        mask_decoder_config={**decoder, "iou_head_hidden_dim": 16},
    )
    whole = transformers.SamModel(config).eval()
    processor = transformers.ViTImageProcessor(size={"height": 64, "width": 64})
    model = load_model(whole, processor)
    assert "SamModel" in repr(model)
    with pytest.raises(ValueError, match=naming("'encoder'", "load_model(model.vision_encoder)")):
        model.attend(images=PICTURE)
    part = load_model(whole.vision_encoder, processor).attend(images=PICTURE)
    assert part.stacks["self"].n_layers == 2 and all(part.stacks["self"].key.places)
