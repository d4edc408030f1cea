"""Pictures and sounds of many tokens are read without whole maps, as texts are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BlipVisionConfig,
    BlipVisionModel,
    Dinov2Config,
    Dinov2Model,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    SiglipVisionConfig,
    Wav2Vec2Config,
    Wav2Vec2Model,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

from attnwidget import load_model
from attnwidget.model_facts import free_memory
from fixtures import zoo
from refusals import naming

pytestmark = pytest.mark.skipif(
    zoo.TRANSFORMERS_4, reason="transformers 4 shows no queries of some of these models"
)
SIZES: dict[str, Any] = {
    "hidden_size": 8,
    "num_attention_heads": 1,
    "num_hidden_layers": 2,
    "intermediate_size": 8,
}
SIDE = 33  # 1,089 patches


def picture() -> tuple[Any, dict[str, Any]]:
    model = Dinov2Model(Dinov2Config(**SIZES, mlp_ratio=1, image_size=4 * SIDE, patch_size=4))
    return model, {"pixel_values": torch.randn(1, 3, 4 * SIDE, 4 * SIDE)}


def sound() -> tuple[Any, dict[str, Any]]:
    config = Wav2Vec2Config(
        **SIZES,
        conv_dim=[8],
        conv_stride=[4],
        conv_kernel=[8],
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
    )
    return Wav2Vec2Model(config), {"input_values": torch.randn(1, 4 * 1200)}


def speech() -> tuple[Any, dict[str, Any]]:
    config = WhisperConfig(
        vocab_size=99,
        d_model=8,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=1,
        decoder_attention_heads=1,
        encoder_ffn_dim=8,
        decoder_ffn_dim=8,
        num_mel_bins=8,
        max_source_positions=1100,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    inputs = {
        "input_features": torch.randn(1, 8, 2200),
        "decoder_input_ids": torch.tensor([[1, 5, 6]]),
    }
    return WhisperForConditionalGeneration(config), inputs


def question_about_a_picture() -> tuple[Any, dict[str, Any]]:
    config = LlavaConfig(
        vision_config=SiglipVisionConfig(**SIZES, image_size=4 * SIDE, patch_size=4).to_dict(),
        text_config=LlamaConfig(**SIZES, vocab_size=99, max_position_embeddings=2048).to_dict(),
        image_token_id=98,
        vision_feature_select_strategy="full",
    )
    ids = torch.tensor([[98] * SIDE**2 + [5, 6, 7]])
    return LlavaForConditionalGeneration(config), {
        "input_ids": ids,
        "pixel_values": torch.randn(1, 3, 4 * SIDE, 4 * SIDE),
    }


LONG = [picture, sound, speech, question_about_a_picture]


@pytest.mark.parametrize("made", LONG)
def test_many_tokens_of_pictures_and_sounds_have_no_whole_maps(made: Any) -> None:
    torch.manual_seed(0)
    model, inputs = made()
    reader = load_model(model.eval())
    attention = reader.attend(inputs)
    assert attention.is_long and attention.note == "long input"
    whole = reader.attend(inputs, long=False)
    assert not whole.is_long
    for stack in whole.stacks:
        for layer in range(2):
            difference = attention.weights(layer, 0, stack=stack) - whole.weights(
                layer, 0, stack=stack
            )
            assert np.abs(difference).max() < 1e-5


def test_a_picture_with_few_patches_is_read_whole_in_one_pass() -> None:
    model, _ = picture()
    reader = load_model(model.eval())
    passes = []
    model.register_forward_hook(lambda *_: passes.append(1))
    inputs = {"pixel_values": torch.randn(1, 3, 120, 120)}
    assert not reader.attend(inputs).is_long
    passes.clear()
    assert not reader.attend(inputs).is_long
    assert len(passes) == 1


def test_whole_maps_of_a_picture_must_fit_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    config = BlipVisionConfig(**SIZES, image_size=4 * SIDE, patch_size=4)
    reader = load_model(BlipVisionModel(config).eval())
    inputs = {"pixel_values": torch.randn(1, 3, 4 * SIDE, 4 * SIDE)}
    assert not reader.attend(inputs).is_long, "this model shows its weights alone"
    monkeypatch.setattr(free_memory, "free_memory", lambda: 4 * 2 * 1000**2)
    with pytest.raises(ValueError, match=naming("2 heads", "1,090 tokens", "1,000")):
        reader.attend(inputs)


def test_heads_off_leave_whole_maps_of_a_sound_that_fit_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, inputs = speech()
    reader = load_model(model.eval())
    with reader.disabled((0, 0, "encoder")):
        assert not reader.attend(inputs).is_long
        monkeypatch.setattr(free_memory, "free_memory", lambda: 1000)
        with pytest.raises(ValueError, match=naming("1,100 tokens", "whole maps")):
            reader.attend(inputs)
