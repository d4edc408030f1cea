"""Output of a head from one token to another, in words of the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
import torch

from attnwidget.capture.answers.predictions import Answers
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model_reading import language_model, whole_reading_of
from attnwidget.capture.predict import vocabulary_answers
from attnwidget.capture.tapping.head import Head, HeadName, takes_head
from attnwidget.kernels.arrays import Float64Array
from attnwidget.mechanisms.checked_places import head_at
from attnwidget.mechanisms.direct_path import linear_pass
from attnwidget.text.place_of_token import TokenName, place_of_token

_WHAT = "what a head writes in words"


class WrittenWord(NamedTuple):
    """Vocabulary entry in readable form and in the spelling of the vocabulary, with its logit."""

    answer: str
    token: str
    logit: float


@dataclass(frozen=True, eq=False)
class WrittenVocabulary:
    """Direct effect of a head's output from one token on all logits at another token.

    Attributes:
        head: Head that writes.
        query, key: Indices of the token at which the head writes, and of the token that it reads.
        logits: Logits, float64 [V]; the mean is 0, since only differences of logits matter.
        answers: Vocabulary entries (V).
        note: Remark that the model caps or scales its logits afterwards, or "".
    """

    head: Head
    query: int
    key: int
    logits: Float64Array
    answers: Answers
    note: str

    def promoted(self, count: int) -> list[WrittenWord]:
        """Return the entries with the largest logits, largest first."""
        return self._words(np.argsort(-self.logits, kind="stable")[:count].tolist())

    def suppressed(self, count: int) -> list[WrittenWord]:
        """Return the entries with the smallest logits, smallest first."""
        return self._words(np.argsort(self.logits, kind="stable")[:count].tolist())

    def _words(self, ids: list[int]) -> list[WrittenWord]:
        spelt = self.answers.spelt(ids)
        return [
            WrittenWord(*names, float(self.logits[i])) for i, names in zip(ids, spelt, strict=True)
        ]


@overload
def written_vocabulary(
    attention: Attention,
    head: HeadName,
    query: TokenName,
    key: TokenName,
    *,
    stack: str | None = None,
) -> WrittenVocabulary: ...


@overload
def written_vocabulary(
    attention: Attention,
    layer: int,
    head: int,
    query: TokenName,
    key: TokenName,
    *,
    stack: str | None = None,
) -> WrittenVocabulary: ...


@takes_head
def written_vocabulary(
    attention: Attention,
    layer: int | HeadName,
    head: int | None,
    query: TokenName,
    key: TokenName,
    *,
    stack: str | None = None,
) -> WrittenVocabulary:
    """Return the effect of a head's output from one token on every logit at another token.

    This is direct logit attribution (Elhage et al. 2021) for the whole vocabulary: the vector
    a_j u_j W_O goes through all later norms, with their statistics at the query, and through the
    unembedding. Later layers that read the vector are ignored. The model processes the input again,
    in one forward pass.

    Args:
        attention: Attention of one input, from a causal language model in float32.
        layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.
        query: Token at which the head writes: its index, a word that occurs once, or ("he", 2)
            for the second "he".
        key: Token that the head reads, in the same forms.
        stack: Stack of layers, if there are several.

    Raises:
        TypeError, ValueError, RuntimeError: As in `direct_effects`.

    Example:
        >>> import torch, transformers
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms.written_vocabulary import written_vocabulary
        >>> config = transformers.GPT2Config(n_layer=2, n_head=4, n_embd=32, vocab_size=8192)
        >>> model = load_model(transformers.GPT2LMHeadModel(config), load_model().tokenizer)
        >>> attention = model.attend("The cat sat on the")
        >>> words = written_vocabulary(attention, 1, 2, query=4, key=2)
        >>> words.logits.shape, len(words.promoted(3))
        ((8192,), 3)
    """
    selected_head = head_at(attention, layer, head, stack)
    axes = attention.stacks[selected_head.stack]
    query = place_of_token("query", query, axes.query)
    key = place_of_token("key", key, axes.key)
    reading = whole_reading_of(attention, _WHAT)
    model = language_model(reading, _WHAT)
    with model.lock.in_turn():
        run = linear_pass(model.hf_model, reading.inputs, query)
        vector = run.heads.at(selected_head.layer).of_source(selected_head.head)[key]
        contribution = run.carried(selected_head.layer, vector)
        with torch.no_grad():
            logits = contribution.to(run.unembedding) @ run.unembedding.T
        changed = run.changed
    logits = (logits - logits.mean()).double().cpu()
    return WrittenVocabulary(
        head=selected_head,
        query=query,
        key=key,
        logits=logits.numpy(),
        answers=vocabulary_answers(model.tokenizer, len(logits)),
        note="before the model caps or scales its logits" if changed else "",
    )
