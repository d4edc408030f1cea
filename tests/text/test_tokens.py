"""Axes: special tokens, sentences and words."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from attnwidget.text.tokens import Tokens
from refusals import naming


def test_wordpieces_join_into_words() -> None:
    tokens = Tokens.plain(["[CLS]", "un", "##happy", "cats", "[SEP]"])
    assert tokens.word_groups() == [[0], [1, 2], [3], [4]]
    words = tokens.to_words()
    assert words.text == ("[CLS]", "unhappy", "cats", "[SEP]")
    assert words.special == ("cls", "", "", "sep")
    assert len(words.to_words()) == len(words)


def test_the_first_token_of_a_model_without_cls_is_marked() -> None:
    assert Tokens.plain(["The", "cat"]).special == ("first", "")


def test_words_do_not_cross_sentences() -> None:
    tokens = dataclasses.replace(Tokens.plain(["a", "b"]), words=(0, 0), segments=(0, 1))
    assert tokens.word_groups() == [[0], [1]]


def test_a_continuation_at_the_start_is_a_word() -> None:
    assert Tokens.plain(["[CLS]", "##ing", "x"]).word_groups() == [[0], [1], [2]]


def test_fields_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=naming("'segments'", "entry")):
        Tokens.plain(["a", "b"], segments=[0])


def test_words_are_found_once_and_are_no_part_of_the_tokens() -> None:
    tokens = Tokens.plain(["[CLS]", "him", "##self", "[SEP]"])
    fresh = dataclasses.replace(tokens)
    tokens.word_groups()[1].append(9)
    assert tokens.word_groups() == [[0], [1, 2], [3]]
    assert tokens.to_words() is tokens.to_words()
    assert pickle.dumps(tokens) == pickle.dumps(fresh)
    assert pickle.loads(pickle.dumps(tokens)) == tokens
