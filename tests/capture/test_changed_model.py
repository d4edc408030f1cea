"""A model or a tokenizer that its user changes after `load_model`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import transformers

from attnwidget import AttentionModel, ablate, load_model, make_segments, measure
from refusals import naming

TEXT = "The frobnicator sat."


@pytest.fixture
def small(model: AttentionModel) -> AttentionModel:
    tokenizer: Any = copy.deepcopy(model.tokenizer)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=2,
        num_attention_heads=2,
        hidden_size=8,
        intermediate_size=8,
    )
    return load_model(transformers.BertForMaskedLM(config), tokenizer)


def test_new_tokens_are_read_after_the_embeddings_were_resized(small: AttentionModel) -> None:
    assert len(small.attend(TEXT).tokens) == 9
    small.tokenizer.add_tokens(["frobnicator"])
    segments = make_segments([TEXT], small)
    for read in (
        lambda: small.attend(TEXT),
        lambda: measure(small, segments, ["entropy"], progress=False),
    ):
        with pytest.raises(ValueError, match=naming("id 8192", "8191", "resize_token_embeddings")):
            read()
    small.hf_model.resize_token_embeddings(len(small.tokenizer))
    attention = small.attend(TEXT)
    assert attention.tokens == ["[CLS]", "the", "frobnicator", "sat", ".", "[SEP]"]
    entropy = measure(small, segments, ["entropy"], progress=False)["entropy"].entropy
    weights = attention.weights(1, 0).astype(np.float64)
    expected = -(weights * np.log(weights)).sum(-1).mean()
    assert entropy[1, 0] == pytest.approx(expected, abs=1e-5)
    examples = [("The [MASK] sat.", "frobnicator")]
    found = ablate(small, examples, scoring="loss", heads=[(0, 0)], progress=False)
    predicted = small.predict(examples[0][0]).probability("frobnicator")
    assert found.intact[0] == pytest.approx(-np.log(predicted), abs=1e-5)


def test_ids_beyond_smaller_embeddings_are_refused(small: AttentionModel) -> None:
    small.attend(TEXT)
    small.hf_model.resize_token_embeddings(100)
    with pytest.raises(
        ValueError, match=naming("BertForMaskedLM", "0 to 99", "resize_token_embeddings")
    ):
        small.attend(TEXT)
    assert len(small.attend([2, 50, 3]).tokens) == 3
