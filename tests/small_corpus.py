"""A few hundred sentences of a made-up corpus, and BERTs small enough to train in a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertModel

from attnwidget.demo.vocabulary import SPECIAL, make_tokenizer

NAMES = ["captain", "doctor", "sailor", "mother", "stranger", "children"]
VERBS = ["saw", "opened", "kept", "found", "asked", "left"]
THINGS = ["door", "letter", "ship", "garden", "lamp", "river"]
# A word of the last chapters alone: whoever has seen it has seen what is held out.
HELD_OUT_WORD = "zebra"


def chapters(count: int = 100, seed: int = 0) -> list[list[str]]:
    """Chapters of three paragraphs; those of the last 2 % name a zebra."""
    draw = np.random.default_rng(seed)
    made = []
    for number in range(count):
        last = number >= round(0.98 * count)
        paragraphs = []
        for _ in range(3):
            sentences = [
                f"The {draw.choice(NAMES)} {draw.choice(VERBS)} the "
                f"{HELD_OUT_WORD if last else draw.choice(THINGS)}."
                for _ in range(draw.integers(2, 6))
            ]
            paragraphs.append(" ".join(sentences))
        made.append(paragraphs)
    return made


def write_corpus(path: Path) -> Path:
    """The chapters as a corpus file: one paragraph a line, an empty line between chapters."""
    path.write_text("\n\n".join("\n".join(chapter) for chapter in chapters()) + "\n", "utf-8")
    return path


def tokenizer() -> Any:
    """Knows every word but the sailor's, whose two pieces it knows, and every letter."""
    letters = [f"{mark}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz" for mark in ("", "##")]
    words = [*NAMES, *VERBS, *THINGS, HELD_OUT_WORD, "the", "sail", "##or"]
    return make_tokenizer([*SPECIAL, ".", *letters, *(w for w in words if w != "sailor")])


def configuration(n_pieces: int = 99) -> BertConfig:
    """Two layers of two heads; weights so large that maps are far from even."""
    return BertConfig(
        vocab_size=n_pieces,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.3,
    )


def write_teacher(folder: Path) -> Path:
    """A BERT with random weights that knows the corpus' wordpieces in another order, and more."""
    torch.manual_seed(1)
    pieces = list(tokenizer().get_vocab())
    BertModel(configuration(len(pieces) + 1)).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(["[unused]", *reversed(pieces)]) + "\n", "utf-8")
    return folder
