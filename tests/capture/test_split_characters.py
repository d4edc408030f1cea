"""Characters that are split over tokens: the parts of each in figures, tables and answers."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
import transformers

from attnwidget import Attention, AttentionModel, HeadGrid, HeadView, load_model
from attnwidget.inputs.token_axes import entry_names, plain_axis, token_axis
from attnwidget.text.alignment import SharedAxis
from fixtures.svg_picture import texts
from fixtures.vocabularies import byte_level, sentencepiece

BROKEN = re.compile("<0x|\ufffd|[\udc80-\udcff]")


def model_of(tokenizer: Any) -> AttentionModel:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_layer=2, n_head=2, n_embd=16, n_positions=96
    )
    return load_model(transformers.GPT2LMHeadModel(config).eval(), tokenizer, device="cpu")


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return model_of(byte_level())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("東京", ["東 1/3", "…2/3", "…3/3", "京 1/3", "…2/3", "…3/3"]),
        ("🙂", ["🙂 1/2", "…2/2"]),
        ("кот", ["к 1/2", "…2/2", "о 1/2", "…2/2", "т 1/2", "…2/2"]),
        ("שלום", ["ש 1/2", "…2/2", "ל 1/2", "…2/2", "ו 1/2", "…2/2", "ם 1/2", "…2/2"]),
    ],
)
def test_tokens_show_their_part_of_a_character(text: str, shown: list[str]) -> None:
    tokenizer = byte_level()
    axis = token_axis(tokenizer, tokenizer(text).input_ids)
    assert list(axis.text) == shown
    assert list(axis.to_words().text) == [text]


def test_bytes_of_a_vocabulary_of_pieces_show_their_part() -> None:
    tokenizer = sentencepiece(split=False)
    ids = tokenizer("café 河", add_special_tokens=False).input_ids
    axis = token_axis(tokenizer, ids)
    if not any(token.startswith("<0x") for token in axis.raw):
        pytest.skip("this version of tokenizers has no bytes in this vocabulary")
    assert not BROKEN.search("".join(axis.text))
    assert "河 1/3" in axis.text and "…3/3" in axis.text


def test_a_token_with_the_end_of_a_character_and_more_shows_both() -> None:
    # "é" is C3 A9: its second byte is in a token with the letter "s", after the mark of a space.
    axis = plain_axis(["Ġcaf", "Ã", "©s", "Ġ"])
    assert axis.text[:3] == ("caf", "é 1/2", "…2/2 s")


def test_a_character_of_which_a_part_is_missing_keeps_its_bytes() -> None:
    tokenizer = byte_level()
    ids = tokenizer("東x").input_ids
    cut = token_axis(tokenizer, [ids[0], *ids[2:]])
    assert cut.text[0].startswith("<0x") and cut.text[-1] == "x"


def test_parts_of_different_characters_are_different_tokens_in_a_comparison() -> None:
    tokenizer = byte_level()
    first, second = (token_axis(tokenizer, tokenizer(text).input_ids) for text in ("東a", "京a"))
    assert first.text[1] == second.text[1] == "…2/3"
    assert first.raw[1] != second.raw[1]
    pairs = SharedAxis(first, second).pairs
    equal = {(i, j) for i, a in enumerate(first.raw) for j, b in enumerate(second.raw) if a == b}
    assert set(pairs) <= equal


def test_a_joiner_without_shape_is_named() -> None:
    tokenizer = byte_level()
    axis = token_axis(tokenizer, tokenizer("a\u2060b").input_ids)
    assert "<U+2060> 1/3" in axis.text


def test_unrelated_answers_are_not_joined_to_a_character(model: AttentionModel) -> None:
    ids = model.tokenizer("東").input_ids
    assert [name for name, _ in entry_names(model.tokenizer, ids)] == [
        "<0xE6>",
        "<0x9D>",
        "<0xB1>",
    ]
    spelt = model.predict("東", top=len(model.tokenizer)).answers.spelt(ids)
    assert [answer for answer, _ in spelt] == ["<0xE6>", "<0x9D>", "<0xB1>"]


@pytest.mark.parametrize("text", ["東京 猫 x", "مرحبا بك"])
def test_figures_and_tables_show_no_broken_character(model: AttentionModel, text: str) -> None:
    attention = model.attend(text)
    for mode in ("lines", "matrix"):
        view = HeadView(attention, selected=[(0, 0)], mode=mode, hidden=[])
        figure = view.figure()
        # Letters from right to left stand between marks that isolate them.
        drawn = [re.sub("[\u2066-\u2069]", "", each) for each in texts(figure)]
        assert not BROKEN.search(" ".join(drawn))
        assert not BROKEN.search(figure.table.to_string())
        assert sum(attention.tokens[0] in each for each in drawn) >= 2
    grid = HeadGrid(attention, hidden=[])
    assert not BROKEN.search(grid.figure().table.to_string())
    frame = attention.to_frame()
    assert not BROKEN.search(" ".join(frame["query_token"].unique()))
    assert isinstance(attention, Attention)
