"""Models whose tokens have no places in a picture, and the reasons in their notes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BertLMHeadModel,
    GotOcr2ImageProcessor,
    VisionEncoderDecoderModel,
    ViTImageProcessor,
)

from attnwidget import Attention, load_model
from attnwidget.capture.places.picture_places import FrameFinder
from fixtures import picture_models, zoo
from fixtures.picture_models import drawn
from sweep.small_models import build, inputs_of

PICTURE = drawn(150, 90)


def read(kind: str, name: str) -> Attention:
    """The attention of a small model of the sweep over a picture."""
    model = build(kind, name)
    inputs = inputs_of(model)
    height, width = inputs["pixel_values"].shape[-2:]
    processor = ViTImageProcessor(size={"height": height, "width": width})
    others = {key: value for key, value in inputs.items() if key != "pixel_values"}
    return load_model(model, processor).attend(others or None, images=PICTURE)


def n_places(tokens: Any) -> int:
    return sum(place is not None for place in tokens.places)


@pytest.mark.skipif(zoo.TRANSFORMERS_4, reason="configurations are not made of configurations")
def test_queries_that_look_at_all_patches_have_no_places_and_their_keys_have() -> None:
    attention = read("blip-2", "Blip2ForConditionalGeneration")
    assert (
        "the tokens of 'self' have no boxes in the picture: they mix patches of the picture"
        in attention.note
    )
    assert (
        "the tokens of 'qformer' have no boxes in the picture: none of them is made of one part of "
        "the picture" in attention.note
    )
    stacks = attention.stacks
    assert stacks["self"].key.places == stacks["qformer"].key.places == ()
    assert n_places(stacks["vision"].key) == n_places(stacks["qformer cross"].key) > 0
    assert stacks["qformer cross"].key.text[:2] == ("[CLS]", "r0c0")


def test_cells_of_a_convolution_have_no_places() -> None:
    attention = read("detr", "DetrModel")
    assert "'encoder'" in attention.note and "the size of its patches" in attention.note
    assert not any(stack.key.places for stack in attention.stacks.values())


@pytest.mark.skipif(zoo.TRANSFORMERS_4, reason="configurations are not made of configurations")
def test_a_text_beside_a_picture_has_no_places_and_no_note() -> None:
    attention = read("clip", "CLIPModel")
    assert "boxes" not in attention.note
    assert attention.stacks["self"].key.places == ()
    assert n_places(attention.stacks["vision"].key) == 16


def test_the_keys_of_a_decoder_are_the_patches_of_its_encoder() -> None:
    encoder = build("vit", "ViTModel")
    config = build("bert", "BertLMHeadModel").config
    config.is_decoder = config.add_cross_attention = True
    model = VisionEncoderDecoderModel(encoder=encoder, decoder=BertLMHeadModel(config)).eval()
    processor = ViTImageProcessor(size={"height": 16, "width": 16})
    inputs = {"decoder_input_ids": torch.arange(30, 35)[None]}
    attention = load_model(model, processor).attend(inputs, images=PICTURE)
    keys = attention.stacks["cross"].key
    assert keys.places == attention.stacks["encoder"].key.places
    assert n_places(keys) == 16 and attention.stacks["decoder"].key.places == ()
    assert "boxes" not in attention.note


def test_tokens_of_shuffled_patches_have_the_boxes_of_their_patches() -> None:
    model = build("vit_mae", "ViTMAEModel")
    noise = inputs_of(model)["noise"]
    processor = ViTImageProcessor(size={"height": 16, "width": 16})
    attention = load_model(model, processor).attend({"noise": noise}, images=drawn(160, 80))
    order = noise[0].argsort().tolist()
    for patch, place in zip(order, attention.stacks["self"].key.places[1:], strict=False):
        expected = [patch % 4 * 40, patch // 4 * 20]
        assert np.allclose([place.left, place.top], expected, atol=0.5)


def test_tokens_that_mix_patches_have_no_places() -> None:
    model = build("vit", "ViTModel")
    embeddings = next(m for m in model.modules() if type(m).__name__ == "ViTEmbeddings")
    embeddings.register_forward_hook(lambda _, __, states: states + states.roll(1, 1))
    processor = ViTImageProcessor(size={"height": 16, "width": 16})
    attention = load_model(model, processor).attend(images=PICTURE)
    assert "they mix patches of the picture" in attention.note
    assert attention.stacks["self"].key.places == ()


def test_a_model_in_half_precision_has_places() -> None:
    family = picture_models.build("ViT")
    model = load_model(family.model.to(torch.bfloat16), family.processor)
    attention = model.attend(images=PICTURE)
    assert n_places(attention.stacks["self"].key) == 16 and "boxes" not in attention.note


def test_options_that_a_processor_gives_to_its_image_processor_are_kept() -> None:
    kinds = SimpleNamespace(_defaults={"images_kwargs": {"crop_to_patches": True}})
    images = GotOcr2ImageProcessor(size={"height": 64, "width": 64}, max_patches=4)
    whole = SimpleNamespace(image_processor=images, valid_processor_kwargs=kinds)
    inputs = images(images=PICTURE, crop_to_patches=True, return_tensors="pt")
    frames = FrameFinder()(whole, [PICTURE], inputs).frames
    assert len(frames) == len(inputs["pixel_values"]) > 2
    assert all(frame is not None for frame in frames)
