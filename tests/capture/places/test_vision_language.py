"""A vision-language model with its whole processor, from the text to the places of its tokens."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnwidget import HeadView
from attnwidget.mechanisms import direct_effects, logit_lens
from fixtures.vision_language import llava_model

PICTURE = np.random.default_rng(0).integers(0, 256, (90, 140, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def llava():
    return llava_model()


def boxes(attention, stack="self"):
    return [place for place in attention.stacks[stack].key.places if place is not None]


def test_a_plain_text_gets_the_template_and_its_picture(llava):
    attention = llava.attend("what is it?", images=PICTURE)
    tokens = attention.stacks["self"].key
    assert tokens.text[:2] == ("[BOS]", "us")
    assert tokens.text[-1] == ":"
    assert len(boxes(attention)) == 16
    first = tokens.places.index(boxes(attention)[0])
    assert tokens.text[first : first + 5] == ("r0c0", "r0c1", "r0c2", "r0c3", "r1c0")
    assert boxes(attention, "vision") == boxes(attention)
    # The processor scales the shorter side of 90 pixels to 64, and crops the middle.
    corner = boxes(attention)[0]
    assert corner.left == pytest.approx((140 - 90) / 2, abs=1)
    assert corner.top == pytest.approx(0, abs=1)
    assert corner.right - corner.left == pytest.approx(90 / 4, abs=0.5)
    words = [word for word in tokens.to_words().text if word.startswith("r0")]
    assert words == ["r0c0", "r0c1", "r0c2", "r0c3"]


def test_a_generated_answer_keeps_the_picture(llava):
    attention = llava.generate("what is it?", 4, images=PICTURE, min_new_tokens=4)
    assert len(attention.tokens) == attention.n_prompt + 4
    assert len(boxes(attention)) == 16
    view = HeadView(attention)
    assert view.mode == "places"
    written = str(attention.made_by)
    assert written.startswith("load_model(model, processor).generate(")
    assert "images=images" in written
    view.close()


def test_a_chat_names_the_place_of_its_picture(llava):
    parts = [{"type": "text", "text": "here"}, {"type": "image", "image": PICTURE}]
    attention = llava.attend([{"role": "user", "content": parts}])
    tokens = attention.stacks["self"].key
    before = tokens.text[: tokens.text.index("r0c0")]
    assert "here" in before
    assert len(boxes(attention)) == 16


def test_two_pictures_are_numbered(llava):
    attention = llava.attend("what differs?", images=[PICTURE, PICTURE[:, :90]])
    assert {box.picture for box in boxes(attention)} == {0, 1}
    assert len(boxes(attention)) == 32
    assert "p1 r0c0" in attention.stacks["self"].key.text
    assert "not shown" not in attention.note
    assert len(attention.stacks["vision"].key) == 2 * 17


def test_a_text_alone_has_no_places(llava):
    attention = llava.attend("what is it?")
    assert attention.stacks["self"].key.places == ()
    assert attention.pictures == ()


def test_words_after_a_picture_are_predicted_and_attributed(llava):
    attention = llava.attend("<image> the cat", images=PICTURE)
    with torch.no_grad():
        logits = llava.hf_model(**attention.reading.inputs).logits[0, -1]
    expected = torch.log_softmax(logits, -1).numpy()
    words = llava.predict("<image> the cat", images=PICTURE)
    np.testing.assert_allclose(np.log(words.probabilities[0]), expected, atol=1e-5)
    lens = logit_lens(attention)
    assert lens.log_probabilities.shape[:2] == (3, 1)  # layers of the text only
    np.testing.assert_allclose(lens.log_probabilities[-1, 0], expected, atol=1e-5)
    for position in (None, 10):  # the word after the text, and what follows a patch
        effects = direct_effects(attention, 11, 12, position=position)
        assert effects.head_effects.shape == (2, 4)
        assert effects.to_frame()["direct"].sum() == pytest.approx(
            effects.logit_difference, abs=1e-5
        )
