"""Places on the axes of language models that read pictures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch
from torch import nn

from attnwidget import AttentionModel, load_model
from attnwidget.text.places import Box
from fixtures.picture_models import build, drawn
from fixtures.picture_processors import QUESTIONS, keep_line_ends, with_processor


@cache
def loaded(name: str) -> AttentionModel:
    family = build(name)
    return load_model(family.model, with_processor(name, family))


@pytest.fixture
def passes() -> Iterator[list[str]]:
    """The models that ran, in order."""
    ran: list[str] = []

    def note(module: nn.Module, *_: Any) -> None:
        if type(module).__name__.endswith("ForConditionalGeneration"):
            ran.append(type(module).__name__)

    handle = nn.modules.module.register_module_forward_pre_hook(note)
    yield ran
    handle.remove()


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_words_of_a_question_stand_beside_the_parts_of_the_picture(name: str) -> None:
    attention = loaded(name).attend(QUESTIONS[name], images=drawn(150, 90))
    assert "boxes" not in attention.note
    axis = attention.stacks["self"].key
    assert axis.text[-3:] == ("what", "is", "this")
    placed = [i for i, place in enumerate(axis.places) if place is not None]
    assert placed and {axis.special[i] for i in placed} == {""}
    assert len({axis.words[i] for i in placed}) == len(placed), "each part is a word"
    assert [axis.words[i] is None for i in range(len(axis))] == [
        kind != "" for kind in axis.special
    ]
    ends = {"LLaVA": "r3c3", "LLaVA-NeXT": "t3 r", "Gemma 3": "r1c1", "Idefics3": "whole r1c1"}
    assert axis.text[placed[-1]].startswith(ends[name])
    if "vision" in attention.stacks:
        assert any(attention.stacks["vision"].key.places)


def test_the_ends_of_rows_are_named_and_are_no_parts_of_the_picture() -> None:
    attention = loaded("LLaVA-NeXT").attend(QUESTIONS["LLaVA-NeXT"], images=drawn(150, 90))
    axis = attention.stacks["self"].key
    assert "<image>" not in axis.text
    ends = [i for i, text in enumerate(axis.text) if text.startswith("[row end")]
    assert [axis.text[i] for i in ends] == [f"[row end {n}]" for n in range(1, len(ends) + 1)]
    assert ends and {axis.special[i] for i in ends} == {"other"}
    assert {axis.places[i] for i in ends} == {None}
    tops = [axis.places[i - 1].top for i in ends]
    assert tops == sorted(set(tops)), "each follows another row of patches"


def test_a_chat_has_roles_if_line_ends_are_written_around_its_pictures() -> None:
    """As by the processor of Gemma 3, whose tokenizer joins them with those of the template."""
    family = build("Gemma 3")
    processor = with_processor("Gemma 3", family)
    keep_line_ends(processor.tokenizer)
    processor.chat_template = (
        "{% for m in messages %}{{ m['role'] }}\n{% for c in m['content'] %}"
        "{% if c['type'] == 'image' %}<start>{% else %}{{ c['text'] }}{% endif %}{% endfor %}"
        "{{ '\n' }}{% endfor %}"
    )
    picture = {"type": "image", "image": drawn(150, 90)}
    chat = [
        {"role": "user", "content": [picture, {"type": "text", "text": "what is this"}]},
        {"role": "model", "content": [{"type": "text", "text": "that"}]},
        {"role": "user", "content": [{"type": "text", "text": "is this"}, picture]},
    ]
    tokens = load_model(family.model, processor).attend(chat).stacks["self"].key
    assert tokens.remark == ""
    assert "\n\n\n" in tokens.raw, "the line ends of the template and of the picture are joined"
    marks = list(zip(tokens.text, tokens.roles, tokens.turns, strict=True))
    boxes = [mark[1:] for mark, place in zip(marks, tokens.places, strict=True) if place]
    assert boxes == [("user", 0)] * 4 + [("user", 2)] * 4
    words = [mark for mark in marks if mark[0] in ("what", "is", "this", "that")]
    assert words == [
        ("what", "user", 0),
        ("is", "user", 0),
        ("this", "user", 0),
        ("that", "model", 1),
        ("is", "user", 2),
        ("this", "user", 2),
    ]
    assert [role for text, role, _ in marks if text == "model"] == ["template"]


def test_two_pictures_have_numbers_in_the_names_of_their_parts() -> None:
    question = "<image> what is this <image> and that"
    attention = loaded("LLaVA").attend(question, images=[drawn(150, 90), drawn(91, 97, 1)])
    axis = attention.stacks["self"].key
    first, second = axis.text.index("p0 r0c0"), axis.text.index("p1 r3c3")
    assert isinstance(axis.places[first], Box) and axis.places[first].picture == 0
    assert isinstance(axis.places[second], Box) and axis.places[second].picture == 1
    assert axis.text[second + 1 :] == ("and", "that")


def test_another_question_about_pictures_of_the_same_size_asks_the_model_nothing(
    passes: list[str],
) -> None:
    model = loaded("LLaVA")
    first = model.attend("<image> what is this", images=drawn(150, 90, 1))
    passes.clear()
    again = model.attend("<image> what is that and this", images=drawn(150, 90, 2))
    once = len(passes)
    passes.clear()
    model.attend({"input_ids": torch.tensor([[1, 4, 5]])})
    assert once == len(passes), "as many passes as for a text alone"
    assert again.stacks["self"].key.text[-5:] == ("what", "is", "that", "and", "this")
    assert again.stacks["self"].key.places[:16] == first.stacks["self"].key.places[:16]
    before = model.attend("this is <image> what", images=drawn(150, 90)).stacks["self"].key
    assert before.text[:3] == ("this", "is", "r0c0") and before.text[-2:] == ("r3c3", "what")


def test_a_text_without_pictures_has_no_places() -> None:
    attention = loaded("LLaVA").attend("what is this")
    assert attention.stacks["self"].key.places == ()
