"""Sentences with their trees for the studies of words, and the maps of one text read alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import transformers

from attnwidget import load_model
from attnwidget.text.treebank import Sentence
from vocabularies import MAKERS


def sentence(text: str, tags: str, xpos: str, governors: Sequence[int], relations: str) -> Sentence:
    return Sentence(
        tuple(text.split()),
        tuple(governors),
        tuple(relations.split()),
        tuple(tags.split()),
        tuple(xpos.split()),
        name=text,
    )


SENTENCES = [
    sentence(
        "The captain 's men never saw unforgettable ships .",
        "DET NOUN PART NOUN ADV VERB ADJ NOUN PUNCT",
        "DT NN POS NNS RB VBD JJ NNS .",
        [2, 4, 2, 6, 6, 0, 8, 6, 6],
        "det nmod:poss case nsubj advmod root amod obj punct",
    ),
    sentence(
        "She was seen by him and it should sleep",
        "PRON AUX VERB ADP PRON CCONJ PRON AUX VERB",
        "PRP VBD VBN IN PRP CC PRP MD VB",
        [3, 3, 0, 5, 3, 9, 9, 9, 3],
        "nsubj:pass aux:pass root case obl:agent cc nsubj aux conj",
    ),
    sentence("Yes !", "INTJ PUNCT", "UH .", [0, 1], "root punct"),
    sentence(
        "Did n't Antananarivo reward whoever helped her ?",
        "AUX PART PROPN VERB PRON VERB PRON PUNCT",
        "VBD RB NNP VB WP VBD PRP .",
        [4, 4, 4, 0, 4, 5, 6, 4],
        "aux advmod nsubj root obj acl:relcl obj punct",
    ),
]


def small_model() -> Any:
    """A model of random weights with another vocabulary, whose words have many tokens."""
    tokenizer = MAKERS["roberta"]()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_attention_heads=4,
        num_hidden_layers=2,
        intermediate_size=48,
        max_position_embeddings=256,
    )
    return load_model(transformers.BertModel(config), tokenizer)


def maps_of(model: Any, words: Sequence[str]) -> tuple[np.ndarray, list[list[int]], Any]:
    """[L, H, n, n] of one text read alone, the tokens of each word, and the axis."""
    attention = model.attend(list(words))
    axis = attention.stacks["self"].query
    groups = [[i for i, own in enumerate(axis.words) if own == w] for w in range(len(words))]
    maps = [
        [attention.weights(layer, head) for head in range(model.n_heads)]
        for layer in range(model.n_layers)
    ]
    return np.array(maps), groups, axis


def over_heads(maps: np.ndarray, function: Any) -> np.ndarray:
    layers, heads = maps.shape[:2]
    return np.array([[function(maps[la, h]) for h in range(heads)] for la in range(layers)])
