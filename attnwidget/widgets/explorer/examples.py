"""The examples of an explorer, and the head that the explorer opens on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.text.demonstrations import DemoText, demo_texts
from attnwidget.text.tokens import Tokens


@dataclass(frozen=True)
class Story:
    """The head that an explorer opens on, and how the explorer shows it.

    Attributes:
        head: The attention head.
        name: The name of the head in the sentence about it.
        line: A sentence about an example of the package; "" for other texts.
        tokens: The locked tokens of that sentence, as (side, index).
    """

    head: Head
    name: str
    line: str = ""
    tokens: tuple[tuple[str, int], ...] = ()


def is_embedded(model: AttentionModel) -> bool:
    """Whether a model is the embedded model, which the examples were chosen for."""
    return model.source == "embedded"


def reads_target(model: AttentionModel) -> bool:
    """Whether a model is an encoder-decoder, whose decoder reads a second text."""
    return bool(getattr(model.hf_model.config, "is_encoder_decoder", False))


def reads_pairs(model: AttentionModel) -> bool:
    """Whether the tokenizer of a model marks the beginning of a second sentence."""
    tokenizer = model.tokenizer
    if tokenizer is None or reads_target(model):
        return False
    marks = tokenizer.num_special_tokens_to_add
    return bool(marks(pair=True) > marks(pair=False))


def examples_for(model: AttentionModel) -> Mapping[str, DemoText]:
    """Return the examples that a model can read, by name; {} without a tokenizer."""
    if model.tokenizer is None:
        return {}
    pairs = reads_pairs(model)
    return {name: demo for name, demo in demo_texts().items() if pairs or demo.pair is None}


def story_of(attention: Attention, demo: DemoText) -> Story:
    """Return how to show an example on the embedded model.

    The locked token is the `demo.query` with the largest weight to a `demo.key`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_texts
        >>> from attnwidget.widgets.explorer.examples import story_of
        >>> demo = demo_texts()["pronouns"]
        >>> story_of(load_model().attend(demo.text), demo).tokens
        (('query', 7),)
    """
    (axis,) = (stack.query for stack in attention.stacks.values())
    weights = attention.map("weights", *demo.head)
    places = {
        wanted: [i for i, text in enumerate(axis.text) if text == wanted]
        for wanted in (demo.query, demo.key)
    }
    pairs = [(i, j) for i in places[demo.query] for j in places[demo.key] if i != j]
    query, _ = max(pairs, key=lambda pair: float(weights[pair]))
    head = Head(*demo.head)
    return Story(head, str(head), demo.look, (("query", query),))


def in_words(
    attention: Attention, head: Head, tokens: Sequence[tuple[str, int]]
) -> tuple[tuple[str, int], ...]:
    """Return locked tokens as places of their words on the axes of a head.

    Example:
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.widgets.explorer.examples import in_words
        >>> attention = load_model().attend("The otters purred.")
        >>> in_words(attention, Head(2, 8), [("query", 4)])
        (('query', 3),)
    """
    stack = attention.stacks[head.stack]
    groups = {side: getattr(stack, side).word_groups() for side in ("query", "key")}
    return tuple(
        (side, next(word for word, group in enumerate(groups[side]) if index in group))
        for side, index in tokens
    )


def sharpest_head(attention: Attention) -> Head | None:
    """Return the sharpest head of the first stack; None if the text has no two distant words.

    The sharpness of a head is a mean over words: the largest weight from the word to another word,
    minus the mean weight that this word gets from all words. So a head is not sharp if all words
    look at the same word. Special tokens, punctuation, the word itself and its neighbours do not
    count. The weights come from the thumbnails, which are pooled above 64 tokens. The first head
    wins a tie.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.explorer.examples import sharpest_head
        >>> attention = load_model().attend("The rain fell on the hill, the rain fell on the town.")
        >>> str(sharpest_head(attention))
        'L2 H9'
    """
    name, stack = next(iter(attention.stacks.items()))
    thumbnails = draw_thumbnails(attention, name)
    shares = np.square(thumbnails.values / np.float32(255))
    weights = shares * thumbnails.maxima[..., None, None]  # [L, H, R, C]
    rows, columns = (
        _word_cells(axis, cells)
        for axis, cells in zip((stack.query, stack.key), weights.shape[-2:], strict=True)
    )
    counted = rows[:, None] & columns
    if stack.query == stack.key:
        apart = np.abs(np.subtract.outer(np.arange(len(rows)), np.arange(len(columns))))
        counted &= apart > 1
    if not counted.any():
        return None
    seen = np.where(counted, weights, 0)
    usual = seen.sum(-2, keepdims=True) / np.maximum(counted.sum(-2), 1)
    above = np.where(counted, weights - usual, 0).max(-1)[..., counted.any(-1)]
    layer, head = np.unravel_index(above.mean(-1).argmax(), above.shape[:2])
    return Head(int(layer), int(head), name)


def _word_cells(axis: Tokens, cells: int) -> NDArray[np.bool_]:
    """Return which rows or columns of a thumbnail are words and no special tokens, bool [cells]."""
    n = len(axis.text)
    spans = [range(i * n // cells, -(-(i + 1) * n // cells)) for i in range(cells)]
    return np.array(
        [
            not any(axis.special[i] for i in span)
            and any(sign.isalnum() for i in span for sign in axis.text[i])
            for span in spans
        ]
    )
