"""Comparison of models over pictures and sounds, head by head."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from transformers import ViTImageProcessor

from attnwidget import AttentionModel, compare, load_model
from attnwidget.demo import drawn_shapes
from fixtures.speech_models import whisper_model
from refusals import naming

DRAWN = drawn_shapes(3, seed=11)
run = partial(compare, progress=False)


@pytest.fixture(scope="module")
def shapes() -> AttentionModel:
    return load_model("attnwidget/shapes", device="cpu")


def changed(model: AttentionModel, processor: object = None) -> AttentionModel:
    """A copy of a model with other weights in its second layer."""
    hf_model = copy.deepcopy(model.hf_model)
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in hf_model.named_parameters():
            if ".1." in name:
                parameter += 0.1 * torch.randn_like(parameter)
    return load_model(hf_model, model.processor if processor is None else processor)


def test_cosines_and_metrics_are_those_of_single_pictures(
    shapes: AttentionModel, tmp_path: Path
) -> None:
    other = changed(shapes)
    found = run(shapes, other, DRAWN.images, metrics=["attention_distance"])
    pairs = [
        [model.attend(images=picture) for model in (shapes, other)] for picture in DRAWN.images
    ]
    for layer, head in [(0, 0), (1, 2), (3, 3)]:
        for number, pair in enumerate(pairs):
            a, b = (one.weights(layer, head).astype(float).ravel() for one in pair)
            cosine = a @ b / np.sqrt((a @ a) * (b @ b))
            assert found.segments["cosine"][layer, head, number] == pytest.approx(cosine, abs=1e-5)
            a, b = (one.weights(layer, head)[1:, 1:].astype(float).ravel() for one in pair)
            cosine = a @ b / np.sqrt((a @ a) * (b @ b))
            words = found.segments["cosine without special tokens"]
            assert words[layer, head, number] == pytest.approx(cosine, abs=1e-5)
    np.testing.assert_allclose(found.cosine[0], 1, atol=1e-6)
    assert (found.cosine[2:] < 0.999).all()
    assert "mean distance (pixels) change" in found.heads()
    file = tmp_path / "sums.npz"
    run(shapes, other, DRAWN.images[:2], resume=file)
    with pytest.raises(ValueError, match=naming("sums.npz", "metrics", "'segments'", "another")):
        run(shapes, other, DRAWN.images[::-1], resume=file)


def test_models_with_other_tokens_are_refused(shapes: AttentionModel) -> None:
    config = transformers.ViTConfig(
        hidden_size=48,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=32,
        image_size=32,
        patch_size=8,
    )
    coarse = load_model(transformers.ViTModel(config), shapes.processor)
    with pytest.raises(ValueError, match=naming("65 and 17", "input 0", "ViTModel")):
        run(shapes, coarse, DRAWN.images)
    cropping = ViTImageProcessor(size={"height": 32, "width": 32})
    wide = np.concatenate([DRAWN.images[0]] * 2, axis=1)
    inputs = {"do_center_crop": True, "crop_size": {"height": 32, "width": 32}}
    cropped = transformers.CLIPImageProcessor(size={"shortest_edge": 32}, **inputs)
    with pytest.raises(ValueError, match=naming("input 0", "processor", "places")):
        run(load_model(shapes.hf_model, cropping), changed(shapes, cropped), [wide])


def test_options_of_texts_are_refused(shapes: AttentionModel) -> None:
    with pytest.raises(ValueError, match=naming("max_loaded_models", "pad_to", "texts")):
        run(shapes, shapes, DRAWN.images, pad_to=100)
    with pytest.raises(TypeError, match=naming("ndarray at 0", "words")):
        run(shapes, shapes, DRAWN.images, unit="words")
    with pytest.raises(ValueError, match=naming("position", "'self'", "'comparison'")):
        run(shapes, shapes, DRAWN.images, metrics=["position"])


def test_sounds_are_compared_in_the_encoder() -> None:
    model = whisper_model(1)
    sound = np.random.default_rng(0).normal(0, 0.1, 9000).astype(np.float32)
    found = run(model, changed(model), [(sound, 16000)])
    assert found.cosine.shape == (1, 4) and found.n_segments == 1
