"""Models with towers: every stack has the maps of its own modules, whatever lengths agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attnwidget import Head, HeadView, load_model, measure_attention
from attnwidget.capture.maps.block_probe import BlockProbe, NotInBlocks
from attnwidget.capture.maps.readable_stacks import leave_out_unreadable
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.stack_names import default_stack, stack_roles
from fixtures import zoo
from refusals import naming
from sweep.small_models import build, inputs_of
from sweep.tower_models import returned_by_towers

pytestmark = pytest.mark.skipif(
    zoo.TRANSFORMERS_4, reason="transformers 4 returns the maps of towers in other places"
)
SMALL = 1e-6
BOTH_RETURNED = {
    "clip": "CLIPModel",
    "siglip": "SiglipModel",
    "blip": "BlipModel",
    "lxmert": "LxmertModel",
    "owlvit": "OwlViTModel",
    "vision-text-dual-encoder": "VisionTextDualEncoderModel",
}
LANGUAGE_MODELS = {
    "llava": "LlavaForConditionalGeneration",
    "paligemma": "PaliGemmaForConditionalGeneration",
    "smolvlm": "SmolVLMForConditionalGeneration",
}


def furthest(attention: Any, stack: str, own: list[Tensor]) -> float:
    """The largest difference between a stack's maps and the model's own maps, [1, H, Q, K]."""
    weights = attention.weights(stack=stack)
    assert len(weights) == len(own)
    return max(
        float(np.abs(layer - wanted[0].float().numpy()).max())
        for layer, wanted in zip(weights, own, strict=True)
    )


@pytest.mark.parametrize("kind", BOTH_RETURNED)
def test_text_and_picture_have_the_maps_of_their_own_towers(kind: str) -> None:
    model = build(kind, BOTH_RETURNED[kind])
    inputs = inputs_of(model)
    attention = load_model(model).attend(inputs)
    with torch.no_grad():
        own = returned_by_towers(model, model(**inputs, output_attentions=True))
    text, picture = (len(attention.stacks[name].query) for name in own)
    assert text == picture, "the towers are told apart by their modules alone"
    for stack, maps in own.items():
        assert furthest(attention, stack, maps) < SMALL
    assert "," not in attention.note or kind == "lxmert"


@pytest.mark.parametrize("kind", LANGUAGE_MODELS)
def test_a_language_model_is_read_apart_from_the_tower_that_it_reads(kind: str) -> None:
    model = build(kind, LANGUAGE_MODELS[kind])
    inputs = inputs_of(model)
    attention = load_model(model).attend(inputs)
    assert attention.n_layers == model.config.text_config.num_hidden_layers
    pixels = inputs["pixel_values"]
    inside = model.model
    tower = inside.vision_model if kind == "smolvlm" else inside.vision_tower
    with torch.no_grad():
        language = model(**inputs, output_attentions=True).attentions
        vision = tower(pixels[0] if pixels.ndim == 5 else pixels, output_attentions=True).attentions
    assert furthest(attention, "self", language) < SMALL
    assert furthest(attention, "vision", vision) < SMALL
    assert attention.weights().shape == attention.weights(stack="self").shape


def test_a_long_input_keeps_towers_apart_too() -> None:
    model = build("llava", "LlavaForConditionalGeneration")
    reader = load_model(model)
    whole, long = (reader.attend(inputs_of(model), long=long) for long in (False, True))
    assert list(long.stacks) == ["self", "vision"]
    for stack in whole.stacks:
        difference = np.abs(long.weights(2, stack=stack) - whole.weights(2, stack=stack)).max()
        assert difference < 1e-5


def test_questions_and_answers_about_a_picture_have_five_stacks() -> None:
    model = build("blip", "BlipForQuestionAnswering")
    inputs = inputs_of(model)
    stacks = load_model(model).attend(inputs).stacks
    assert list(stacks) == ["encoder", "decoder", "vision", "cross", "encoder cross"]
    question, answer = (
        list(map(str, inputs[f"{side}input_ids"][0].tolist())) for side in ("", "decoder_")
    )
    assert (
        list(stacks["encoder"].query.text) == list(stacks["encoder cross"].query.text) == question
    )
    assert list(stacks["decoder"].query.text) == list(stacks["cross"].query.text) == answer
    assert list(stacks["cross"].key.text) == question
    assert stacks["encoder cross"].key.text[0] == "0"


def test_tokens_of_the_text_name_the_text_alone() -> None:
    model = build("clip", "CLIPModel")
    inputs = inputs_of(model)
    attention = load_model(model).attend(inputs)
    assert attention.tokens == list(map(str, inputs["input_ids"][0].tolist()))
    assert attention.stacks["vision"].query.text[:3] == ("[CLS]", "r0c0", "r0c1")


def test_a_head_without_a_stack_belongs_to_the_language_model() -> None:
    model = build("llava", "LlavaForConditionalGeneration")
    reader = load_model(model)
    inputs = inputs_of(model)
    attention = reader.attend(inputs)
    assert attention.head((1, 2)) == Head(1, 2, "self")
    assert HeadView(attention, layer=1, head=2).selected[-1] == Head(1, 2, "self")
    with reader.disabled((1, 2), method="zero"):
        edited = reader.attend(inputs)
    same = [
        np.array_equal(edited.weights(3, stack=s), attention.weights(3, stack=s))
        for s in attention.stacks
    ]
    assert same == [False, True]
    with reader.disabled((1, 2, "vision"), method="zero"):
        edited = reader.attend(inputs)
    assert not np.array_equal(
        edited.weights(3, stack="vision"), attention.weights(3, stack="vision")
    )


def test_a_text_alone_has_the_language_model_alone() -> None:
    model = build("paligemma", "PaliGemmaForConditionalGeneration", "eager")
    ids = torch.arange(30, 40)[None]
    attention = load_model(model).attend({"input_ids": ids})
    with torch.no_grad():
        own = model(input_ids=ids, output_attentions=True).attentions
    assert list(attention.stacks) == ["self"]
    assert furthest(attention, "self", own) < SMALL


def test_a_tower_that_reads_tiles_has_one_map_over_all_tiles() -> None:
    model = build("idefics3", "Idefics3ForConditionalGeneration")
    inputs = inputs_of(model)
    attention = load_model(model).attend(inputs)
    assert list(attention.stacks) == ["self", "vision"]
    pixels = inputs["pixel_values"][0]
    weights = attention.weights(stack="vision")
    for number in range(2):
        part = load_model(model.model.vision_model).attend(
            {"pixel_values": pixels[number : number + 1]}
        )
        own = slice(16 * number, 16 * number + 16)
        assert np.abs(weights[..., own, own] - part.weights()).max() < SMALL
    assert not weights[..., :16, 16:].any() and not weights[..., 16:, :16].any()


def test_a_tower_whose_tokens_are_not_known_is_left_out_with_its_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(*_: object) -> None:
        raise NotInBlocks("their entries are not one token each")

    model = build("idefics3", "Idefics3ForConditionalGeneration")
    monkeypatch.setattr(BlockProbe, "__call__", unknown)
    attention = load_model(model).attend(inputs_of(model))
    assert list(attention.stacks) == ["self"]
    assert "the stack 'vision' is not shown: its layers attend within 2 windows" in attention.note
    assert "and their entries are not one token each" in attention.note
    assert "load_model(model.model.vision_model) reads this part" in attention.note


def test_the_error_about_a_language_model_names_the_parts_that_can_be_read() -> None:
    model = build("clip", "CLIPModel")
    kept = load_model(model).attend(inputs_of(model)).head_maps.layers
    items = [{stack: list(layers.values()) for stack, layers in kept.items()}]
    parts = ("load_model(model.text_model)", "model.vision_model")
    with pytest.raises(ValueError, match=naming("'self'", "CLIPModel", *parts)):
        leave_out_unreadable(items, {"self": "attend apart"}, model, find_sites(model))


def test_half_of_the_input_of_two_towers_is_refused_with_the_parts() -> None:
    for kind, name in (("clip", "CLIPModel"), ("siglip", "SiglipModel")):
        model = build(kind, name)
        inputs = inputs_of(model)
        for given, missing in (("input_ids", "pixel_values"), ("pixel_values", "input_ids")):
            with pytest.raises(ValueError, match=naming(missing, "load_model(model.text_model)")):
                load_model(model).attend({given: inputs[given]})


def test_modules_that_are_read_in_two_directions_are_not_shown() -> None:
    model = build("lxmert", "LxmertModel")
    attention = load_model(model).attend(inputs_of(model))
    assert "run twice, once in each direction" in attention.note
    assert not any("cross" in stack for stack in attention.stacks)


def test_padding_of_a_text_cuts_no_boxes_of_a_picture_of_the_same_number() -> None:
    model = build("lxmert", "LxmertModel")
    inputs = inputs_of(model, padded="left")
    assert inputs["visual_feats"].shape[:2] == inputs["attention_mask"].shape
    attention = load_model(model).attend(inputs)
    assert len(attention.stacks["r_layers"].query) == inputs["visual_feats"].shape[1]
    assert len(attention.tokens) == int(inputs["attention_mask"].sum())


def test_pictures_beside_one_text_may_have_any_first_dimension() -> None:
    model = build("qwen2_vl", "Qwen2VLForConditionalGeneration")
    inputs = inputs_of(model)
    assert len(inputs["pixel_values"]) == 16
    reader = load_model(model)
    attention = reader.attend(inputs)
    assert [len(stack.query) for stack in attention.stacks.values()] == [16, 16]
    assert attention.disabled([(0, 1)]).weights().shape == attention.weights().shape
    with pytest.raises(ValueError, match=naming("batch of 1", "attend_batch")):
        reader.attend(inputs | {"input_ids": inputs["input_ids"].repeat(2, 1)})


@pytest.mark.parametrize(
    ("kind", "name", "stack"),
    [
        ("detr", "DetrForObjectDetection", "encoder"),
        ("whisper", "WhisperForAudioClassification", "self"),
    ],
)
def test_models_without_a_text_need_no_text_of_a_decoder(kind: str, name: str, stack: str) -> None:
    model = build(kind, name)
    given = inputs_of(model)
    inputs = {n: v for n, v in given.items() if n != "decoder_input_ids"}
    attention = load_model(model).attend(inputs)
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    own = getattr(output, "encoder_attentions", None) or output.attentions
    assert furthest(attention, stack, own) < SMALL


def test_the_metrics_of_a_model_with_towers_are_of_its_language_model() -> None:
    model = build("siglip", "SiglipModel")
    attention = load_model(model).attend(inputs_of(model))
    measured = measure_attention(attention, ["entropy"])
    assert measured.stack == "self"
    vision = measure_attention(attention, ["entropy"], stack="vision")
    assert vision["entropy"].entropy.shape == (4, 4)
    assert not np.allclose(vision["entropy"].entropy, measured["entropy"].entropy)


LIMITS = {
    ("llava", "LlavaForConditionalGeneration"): 64,
    ("paligemma", "PaliGemmaForConditionalGeneration"): 64,
    ("clip", "CLIPModel"): 64,
    ("flava", "FlavaModel"): 64,
    ("blip-2", "Blip2ForConditionalGeneration"): 64,
}


@pytest.mark.parametrize(("kind", "name"), LIMITS)
def test_the_limit_of_a_text_is_no_number_of_patches(kind: str, name: str) -> None:
    model = build(kind, name)
    reader = load_model(model)
    assert reader.length_limit.tokens == LIMITS[kind, name]
    assert load_model(model, max_tokens=40).length_limit.tokens == 40


def test_the_limit_of_a_decoder_is_no_number_of_patches() -> None:
    from transformers import (
        BertConfig,
        CLIPVisionConfig,
        VisionEncoderDecoderConfig,
        VisionEncoderDecoderModel,
    )

    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 32,
    }
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        CLIPVisionConfig(**sizes, image_size=16, patch_size=4),
        BertConfig(
            **sizes,
            vocab_size=99,
            max_position_embeddings=200,
            is_decoder=True,
            add_cross_attention=True,
        ),
    )
    assert load_model(VisionEncoderDecoderModel(config)).length_limit.tokens == 200


@pytest.mark.parametrize(
    ("paths", "stacks"),
    [
        (["layers.0.attn", "layers.1.attn"], ["self", "self"]),
        (["layer_0.attn", "layer_1.attn"], ["self", "self"]),
        (["h.0.mixer", "h.1.attn"], ["self", "self"]),
        (["encoder1.layers.0.attn", "encoder2.layers.0.attn"], ["self", "encoder2"]),
        (["encoder.layers.0.attn", "decoder.layers.0.attn"], ["encoder", "decoder"]),
        (["image_encoder.layers.0.attn", "encoder.layers.0.attn"], ["vision", "self"]),
        (["layers.0.text_attn", "layers.0.image_attn"], ["self", "vision"]),
        (["audio_tower.h.0.attn", "language_model.decoder.layers.0.attn"], ["audio", "self"]),
    ],
)
def test_paths_before_the_number_of_the_layer_tell_stacks_apart(
    paths: list[str], stacks: list[str]
) -> None:
    assert [role.stack for role in stack_roles(paths, [False] * len(paths))] == stacks


def test_stacks_of_equal_standing_must_be_named() -> None:
    assert default_stack(["encoder", "decoder"]) is None
    model = build("t5", "T5ForConditionalGeneration")
    with pytest.raises(
        ValueError, match=naming("which stack", "T5ForConditionalGeneration", "'encoder'")
    ):
        load_model(model).attend(inputs_of(model)).weights()
