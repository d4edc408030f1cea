"""A vision-language model with its whole processor, from the text to the places of its tokens."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnwidget import HeadView
from attnwidget.inputs.media_chat import _places_of
from attnwidget.mechanisms import direct_effects, logit_lens
from fixtures.vision_language import llava_model
from refusals import naming

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
    assert attention.images == ()


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


def test_layers_of_the_tower_above_the_features_have_no_gradient(llava):
    # The text reads the last layer but one of the tower.
    attention = llava.attend("<image> the cat", images=PICTURE, loss="auto")
    assert attention.gradients(0, 0, stack="vision").max() > 0
    assert attention.gradients(0, 0).max() > 0
    assert not attention.gradients(2, 0, stack="vision").any()
    with pytest.raises(
        ValueError, match=naming("layer 0 ('vision')", "LlavaForConditionalGeneration", "gradient")
    ):
        llava.attend("<image> a", images=PICTURE, loss=lambda out: out.logits.detach().mean())


def roles_of(attention):
    tokens = attention.stacks["self"].key
    return list(zip(tokens.text, tokens.roles, tokens.turns, strict=True))


def test_tokens_of_a_chat_with_pictures_have_the_role_of_their_message(llava):
    picture = {"type": "image", "image": PICTURE}
    chat = [
        {"role": "user", "content": [picture, {"type": "text", "text": "one"}]},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": [{"type": "text", "text": "two"}, picture]},
    ]
    marks = roles_of(llava.attend(chat))
    assert marks[:6] == [
        ("[BOS]", "template", None),
        ("us", "template", None),
        ("##e", "template", None),
        ("##r", "template", None),
        (":", "template", None),
        ("p0 r0c0", "user", 0),
    ]
    parts = [(role, turn) for text, role, turn in marks if text.startswith("p")]
    assert parts == [("user", 0)] * 16 + [("user", 2)] * 16
    words = [mark for mark in marks if mark[1] != "template" and not mark[0].startswith("p")]
    assert words == [
        ("one", "user", 0),
        ("y", "assistant", 1),
        ("##e", "assistant", 1),
        ("##s", "assistant", 1),
        ("two", "user", 2),
    ]


def test_the_assistant_writes_the_answer_to_a_chat_with_a_picture(llava):
    attention = llava.generate("what is it?", 3, images=PICTURE, min_new_tokens=3)
    marks = roles_of(attention)
    assert {mark[1:] for mark in marks[attention.n_prompt :]} == {("assistant", 1)}
    question = [text for text, role, _ in marks if role == "user" and not text.startswith("r")]
    assert question == ["what", "is", "it", "?"]


def test_a_text_with_its_own_placeholder_has_no_roles(llava):
    assert llava.attend("<image> what is it?", images=PICTURE).stacks["self"].key.roles == ()


def test_places_of_words_between_pictures_are_told_only_if_there_is_one_way():
    parts = [[1], [5], [2]]
    assert _places_of(parts, [9, 1, 7, 7, 5, 7, 7, 2], [(1, 0), (0, 0)]) == [1, 4, 7]
    assert _places_of(parts, [1, 7, 5, 7, 5, 7, 2], [(0, 0)]) is None, "5 stands in two places"
    assert _places_of(parts, [1, 7, 6, 7, 2], [(0, 0)]) is None
    assert _places_of([[], []], [7, 7], [(0, 0)]) == [0, 2], "a picture alone"


def test_a_video_is_refused_with_what_to_do(llava):
    video = {"type": "video", "video": "cat.mp4"}
    with pytest.raises(ValueError, match=naming("video", '"type": "image"')):
        llava.attend([{"role": "user", "content": [video, {"type": "text", "text": "what"}]}])
