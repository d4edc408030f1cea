"""Sentences for the relation probe, of every kind that its rules tell apart, and small models."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from attnwidget import AttentionModel, load_model
from attnwidget.text.treebank import Sentence

SENTENCES = [
    Sentence.from_lists(words.split(), governors, relations.split(), name=words)
    for words, governors, relations in [
        (
            "The cat sat on the mat .",
            [2, 3, 0, 6, 6, 3, 3],
            "det nsubj root case det obl punct",
        ),
        (
            "the player 's cat played",
            [2, 4, 2, 5, 0],
            "det nmod:poss case nsubj root",
        ),
        ("it 's the cat 's mat", [6, 6, 4, 6, 4, 0], "nsubj cop det nmod:poss case root"),
        ("players ' mats sat", [3, 1, 4, 0], "nmod:poss case nsubj root"),
        (
            "the naïve 🙂 playing of the cat",
            [4, 4, 4, 0, 7, 7, 4],
            "det amod nmod root case det nmod",
        ),
        ("play", [0], "root"),
        (
            "The mat was played , didn't it ?",
            [2, 4, 4, 0, 6, 4, 6, 4],
            "det nsubj:pass aux:pass root punct parataxis nsubj punct",
        ),
    ]
]


def reader(tokenizer: Any) -> AttentionModel:
    """A small model with random weights, large enough for maps with peaks."""
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_attention_heads=4,
        num_hidden_layers=2,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    model = transformers.BertModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 0.3)
    return load_model(model, tokenizer)
