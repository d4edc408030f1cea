"""The texts that an explorer offers, what it shows of one, and the head it opens on elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.attention import Attention
from attnwidget.capture.head import Head
from attnwidget.capture.model import AttentionModel
from attnwidget.text.demonstrations import DemoText, demo_texts
from attnwidget.text.tokens import Tokens

#: What `hidden` names is hidden where it gets more than this share of the words' attention.
_DROWNING = 1 / 3
_HIDDEN = ("cls", "sep", "first")


@dataclass(frozen=True)
class Story:
    """What is worth seeing in a text, and how it is shown.

    Attributes:
        head: that it is about.
        line: it, in a sentence.
        tokens: what is locked to see it.
        hidden: what is left out to see it.
        why: what is left out, in words; "" where nothing is.
    """

    head: Head
    line: str
    tokens: tuple[tuple[str, int], ...] = ()
    hidden: tuple[str, ...] = ()
    why: str = ""

    def told(self, head: Head | None, hidden: list[str]) -> str:
        """The sentence while its head is shown, with what is left out while that is so."""
        if head != self.head:
            return ""
        return (
            f"{self.line}; {self.why}" if self.why and tuple(hidden) == self.hidden else self.line
        )


def is_embedded(model: AttentionModel) -> bool:
    """Whether it is the model that the demonstration texts are about."""
    return model.source == "embedded"


def reads_target(model: AttentionModel) -> bool:
    """Whether a decoder of its own reads a second text."""
    return bool(getattr(model.hf_model.config, "is_encoder_decoder", False))


def reads_pairs(model: AttentionModel) -> bool:
    """Whether its tokenizer marks where a second sentence begins."""
    tokenizer = model.tokenizer
    if tokenizer is None or reads_target(model):
        return False
    marks = tokenizer.num_special_tokens_to_add
    return bool(marks(pair=True) > marks(pair=False))


def examples_for(model: AttentionModel) -> Mapping[str, DemoText]:
    """The demonstration texts that a model can read, by name; none without a tokenizer."""
    if model.tokenizer is None:
        return {}
    pairs = reads_pairs(model)
    return {name: demo for name, demo in demo_texts().items() if pairs or demo.pair is None}


def story_of(attention: Attention, demo: DemoText) -> Story:
    """What a demonstration text shows on the embedded model.

    Locked is the token `demo.query` that gives most to a `demo.key`. [CLS] and [SEP] are hidden
    where words give them more than a third of their attention.

    Example:
        >>> from attnwidget import demo_texts, load_model
        >>> from attnwidget.widgets.explorer.examples import story_of
        >>> demo = demo_texts()["pronouns"]
        >>> story = story_of(load_model().attend(demo.text), demo)
        >>> story.tokens, story.hidden
        ((('query', 7),), ('cls', 'sep'))
    """
    (axis,) = (stack.query for stack in attention.stacks.values())
    weights = attention.map("weights", *demo.head)
    places = {
        wanted: [i for i, text in enumerate(axis.text) if text == wanted]
        for wanted in (demo.query, demo.key)
    }
    pairs = [(i, j) for i in places[demo.query] for j in places[demo.key] if i != j]
    query, _ = max(pairs, key=lambda pair: float(weights[pair]))
    hidden, why = _drowning(axis, axis, weights)
    return Story(Head(*demo.head), demo.look, (("query", query),), hidden, why)


def _drowning(
    query: Tokens, key: Tokens, weights: NDArray[np.float32]
) -> tuple[tuple[str, ...], str]:
    """Special tokens that get much of what words give, as `hidden` has them, and that in words."""
    asks, gets = (
        np.array([kind in _HIDDEN for kind in axis.special], bool) for axis in (query, key)
    )
    share = float(weights[~asks][:, gets].sum(-1).mean()) if gets.any() and not asks.all() else 0.0
    if share <= _DROWNING:
        return (), ""
    names = dict.fromkeys(t for t, kind in zip(key.text, gets, strict=True) if kind)
    said = f"hidden: {' and '.join(names)} ({share * 100:.0f} % of its attention)"
    return tuple(kind for kind in _HIDDEN if kind in key.special), said


def sharpest_head(attention: Attention) -> Story | None:
    """The head of the first stack that looks most sharply at other words; None without such words.

    A head's number is the mean over words of the largest weight that a word gives to another one,
    above what that other one gets from all words on average: a head whose words all look at the
    same one is not sharp. Neither special tokens nor punctuation count, nor a word itself and its
    neighbours. Read from the thumbnails, so that of a text of more than 64 tokens it is the number
    of what they show. Of equals it is the first. [CLS], [SEP] and the first token of a model
    without are hidden where words give them more than a third of its attention.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.explorer.examples import sharpest_head
        >>> attention = load_model().attend("The rain fell on the hill, the rain fell on the town.")
        >>> sharpest_head(attention).line
        'L2 H9: of all heads the one that looks most sharply from words to other words'
    """
    name, stack = next(iter(attention.stacks.items()))
    thumbnails = attention.thumbnails(name)
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
    found = Head(int(layer), int(head), name)
    line = f"{found}: of all heads the one that looks most sharply from words to other words"
    if attention.is_long:
        return Story(found, line)  # its views hide nothing
    hidden, why = _drowning(
        stack.query, stack.key, attention.weights(found.layer, found.head, stack=name)
    )
    return Story(found, line, (), hidden, why)


def _word_cells(axis: Tokens, cells: int) -> NDArray[np.bool_]:
    """Which cells of a thumbnail's side, bool [cells], stand for words and no special token."""
    n = len(axis.text)
    spans = [range(i * n // cells, -(-(i + 1) * n // cells)) for i in range(cells)]
    return np.array(
        [
            not any(axis.special[i] for i in span)
            and any(sign.isalnum() for i in span for sign in axis.text[i])
            for span in spans
        ]
    )
