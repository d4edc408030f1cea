"""Heads that attend to fixed tokens, whatever the query is, get no name that says more."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from attnwidget import AttentionModel, load_model, read_segments
from attnwidget.behaviors import measure_behaviors
from attnwidget.behaviors.scores.behavior_table import BehaviorTable
from attnwidget.demo import demo_prose
from attnwidget.text.segments import Segment

FREQUENT, MARKS, POSITION, EVEN = range(4)
BEHAVIORS = [
    "rests on punctuation",
    "within sentence",
    "duplicate token",
    "rare words",
    "current token",
]


def planted(model: AttentionModel, segments: list[Segment]) -> AttentionModel:
    """Return a model whose heads attend to frequent words, to marks, and to the tenth token."""
    size = 32
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(model.tokenizer),
        hidden_size=size,
        intermediate_size=size,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=128,
    )
    made = BertForMaskedLM(config).eval()
    counts = Counter(token for segment in segments for token in (*segment.first, *segment.second))
    marks = model.tokenizer.convert_tokens_to_ids([".", ","])
    frequent = [token for token, _ in counts.most_common(6) if token not in (".", ",")]
    frequent_ids = model.tokenizer.convert_tokens_to_ids(frequent)
    embeddings = made.bert.embeddings
    attention = made.bert.encoder.layer[0].attention.self
    with torch.no_grad():
        words = embeddings.word_embeddings.weight.normal_(0, 1)
        words[:, :4] = 0
        words[[*marks, *frequent_ids], FREQUENT] = 4
        words[marks, MARKS] = 4
        words[frequent_ids, EVEN] = 4  # as large as the vectors of marks
        positions = embeddings.position_embeddings.weight.zero_()
        positions[10, POSITION] = 4
        embeddings.token_type_embeddings.weight.zero_()
        for projection in (attention.query, attention.key):
            projection.weight.zero_()
            projection.bias.zero_()
        for head in range(3):
            first = head * size // 4
            attention.query.bias[first] = 10
            attention.key.weight[first, head] = 1
    return load_model(made, model.tokenizer, device="cpu")


@pytest.fixture(scope="module")
def table(model: AttentionModel) -> BehaviorTable:
    segments = read_segments(demo_prose(), model)
    heads = planted(model, segments)
    return measure_behaviors(heads, segments, BEHAVIORS, n_random_models=0, progress=False)


def test_a_head_that_looks_at_frequent_words_is_not_about_punctuation(
    table: BehaviorTable,
) -> None:
    assert table["rests on punctuation"].score[0, FREQUENT] > 0.25
    assert table["rests on punctuation"].excess[0, FREQUENT] < 0.05
    assert table.names[0, FREQUENT] == ""


def test_a_head_that_looks_at_punctuation_is_named_so(table: BehaviorTable) -> None:
    assert table.names[0, MARKS] == "rests on punctuation"
    assert table["rests on punctuation"].strength[0, MARKS] > 0.9
    assert table["rests on punctuation"].control_name == "other frequent tokens at the same offsets"


def test_a_head_that_looks_at_one_token_is_in_no_sentence(table: BehaviorTable) -> None:
    within = table["within sentence"]
    assert 0.4 < within.score[0, POSITION] < 0.6
    for score, control in (
        (within.score, within.control),
        (within.held_out, within.held_out_control),
    ):
        np.testing.assert_allclose(score[0], control[0], atol=0.05)
    assert table.names[0, POSITION] == "" == table.names[0, EVEN]
    for name in BEHAVIORS:
        assert (table[name].control <= 1).all() and (table[name].control >= 0).all()
