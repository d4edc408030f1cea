"""The explorer shows pictures and sounds, with the texts that are read beside them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnwidget import Attention, Head, explore, load_model
from attnwidget.demo import drawn_shapes
from attnwidget.results import Box
from attnwidget.widgets.explorer.opening import opening_of
from fixtures.speech_models import whisper_model
from fixtures.vision_language import clip_model, llava_model
from refusals import naming

PICTURE = np.random.default_rng(0).integers(0, 256, (90, 140, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def llava():
    return llava_model()


def test_a_picture_opens_on_a_patch_that_the_class_token_looks_at():
    drawn = drawn_shapes(1, seed=1)
    explorer = explore(load_model("attnwidget/shapes"), images=drawn.images[0], atlas=False)
    try:
        assert explorer.tokens == [("query", 0)]
        assert explorer.view.mode == "places"
        assert explorer.unit == "tokens"
        row = explorer.attention.rows(*explorer.head[:2], 0)
        box = explorer.attention.stacks["self"].key.places[int(row.argmax())]
        shape = drawn.boxes[0]
        inside = box.left < shape.right and box.right > shape.left
        assert inside and box.top < shape.bottom and box.bottom > shape.top
    finally:
        explorer.close()


def test_a_typed_text_keeps_the_picture(llava):
    explorer = explore(llava, "what is it?", images=PICTURE, atlas=False)
    try:
        assert explorer.text == "what is it?"
        explorer.text = "who is there?"
        assert len(explorer.attention.images) == 1
        assert "there" in explorer.attention.tokens
    finally:
        explorer.close()


def test_an_answer_is_written_after_a_picture(llava):
    explorer = explore(llava, "what is it?", images=PICTURE, max_new_tokens=4, atlas=False)
    try:
        assert explorer.attention.n_prompt is not None
        assert len(explorer.attention.images) == 1
        assert explorer.view.mode == "places"
    finally:
        explorer.close()


def test_an_explorer_of_speech_predicts_the_token_after_the_transcript():
    whisper = whisper_model(2)
    sound = (np.sin(np.arange(16000) / 5), 16000)
    written = {"decoder_input_ids": torch.tensor([[3, 5, 6]])}
    for given in (None, written):
        explorer = explore(whisper, given, audio=sound, atlas=False)
        try:
            explorer.wait()
            assert explorer.view.mode == "places"
            assert explorer.predictions is not None
        finally:
            explorer.close()


def test_an_explorer_opens_on_the_tower_that_reads_the_picture():
    clip = clip_model()
    explorer = explore(clip, "the cat sat", images=PICTURE, atlas=False)
    try:
        assert explorer.selected[0].stack == "vision"
        assert explorer.view.mode == "places"
        explorer.wait()
        explorer.selected = [Head(0, 1)]
        explorer.wait()
    finally:
        explorer.close()


def test_a_word_beside_a_picture_is_opened_rather_than_a_patch():
    names = ["r0c0", "r0c1", "r1c0", "r1c1", "what", "is", "it"]
    places = [Box(0, x, y, x + 70, y + 45) for y in (0, 45) for x in (0, 70)]
    weights = np.tril(np.full((7, 7), 0.05))
    weights[3, 0] = 0.9  # a patch looks at another patch
    weights[4, 1] = 0.6  # a word looks at a patch
    np.fill_diagonal(weights, 0)
    np.fill_diagonal(weights, np.maximum(1 - weights.sum(1), 0))
    attention = Attention.from_weights(
        (weights / weights.sum(1, keepdims=True))[None, None],
        names,
        places=[*places, None, None, None],
        images=[PICTURE],
    )
    opening = opening_of(attention)
    assert opening.tokens == (("query", 4),) and opening.key == (1,)


def test_a_model_of_pictures_has_no_examples():
    with pytest.raises(ValueError, match=naming("example", "images=...", "audio=...")):
        explore(load_model("attnwidget/shapes"))
