"""Lists that could be read in two ways, and memory that the caller writes again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from attnwidget import Attention, AttentionModel, load_model, make_segments
from refusals import naming


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model(device="cpu")


@pytest.mark.parametrize("words", [["The", "cat"], ["The"], ["The", "cat", "sat"]])
def test_a_list_of_words_is_no_pair_of_texts(model: AttentionModel, words: list[str]) -> None:
    texts: Any = [words]
    with pytest.raises(TypeError, match=naming("text 0", "'The'", "tuple")):
        make_segments(texts, model)


def test_pairs_are_tuples_or_lists_of_two_texts(model: AttentionModel) -> None:
    expected = make_segments([("The cat sat.", "It slept.")], model)
    from_json: Any = [["The cat sat.", "It slept."]]
    assert make_segments(from_json, model) == expected
    assert make_segments([("Cats", "Dogs")], model)[0].second == ("dogs",)


@pytest.mark.parametrize("text", [None, float("nan"), b"The cat", 7, ("The cat", None)], ids=repr)
def test_other_entries_are_refused_by_their_number(model: AttentionModel, text: object) -> None:
    texts: Any = ["The cat sat.", text]
    with pytest.raises(TypeError, match=naming("text 1", "tuple", "strings")):
        make_segments(texts, model)


def test_a_table_is_no_list_of_texts(model: AttentionModel) -> None:
    # A table is a list of the names of its columns, which would be read as texts.
    table: Any = pd.DataFrame({"text": ["The cat sat."]})
    with pytest.raises(TypeError, match=naming("list of inputs", "table['text']")):
        make_segments(table, model)
    with pytest.raises(TypeError, match=naming("attend_batch", "list(table['text'])")):
        model.attend_batch(table)
    assert make_segments(table["text"], model) == make_segments(["The cat sat."], model)


def test_rows_are_no_messages_of_one_chat(model: AttentionModel) -> None:
    rows: Any = [{"text": "The cat sat."}]
    with pytest.raises(TypeError, match=naming("text 0", "{'text': 'The cat sat.'}")):
        make_segments(rows, model)
    with pytest.raises(TypeError, match=naming("dict", "attend_batch")):
        model.attend_batch(rows)
    message: Any = [{"role": "user", "content": "Hi"}]
    with pytest.raises(TypeError, match=naming("messages of a chat", "[chat]")):
        make_segments(message, model)


@pytest.mark.parametrize("library", [np, torch])
def test_given_weights_keep_their_numbers(library: Any) -> None:
    memory = library.zeros((2, 3, 4, 4), dtype=library.float32)
    found = []
    for column in range(4):
        memory[:] = 0
        memory[..., column] = 1
        found.append(Attention.from_weights(memory, list("abcd")))
        found.append(Attention.from_weights(list(memory), list("abcd")))
    for column in range(4):
        for attention in found[2 * column : 2 * column + 2]:
            assert attention.weights()[..., column].min() == 1
