"""Tokens that a tagger labels, and spans that can answer a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attnwidget.model_facts.answer_logits import TokenSpan

# Maximum number of tokens in an answer span.
_LONGEST = 30
_MARKS = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id", "pad_token_id")


def labeled_places(tokenizer: Any, ids: Sequence[int]) -> list[int]:
    """Return the positions of the tokens that a tagger labels: all except the template's tokens.

    If the text has no other tokens, or if there is no tokenizer, all positions are returned.
    """
    marks = _marks(tokenizer)
    positions = [place for place, token in enumerate(ids) if token not in marks]
    return positions or list(range(len(ids)))


def answer_spans(tokenizer: Any, ids: Sequence[int]) -> tuple[TokenSpan, ...]:
    """Return the spans that can answer the question of an input.

    Spans have up to 30 tokens from the context, which is the last part of the input between
    separators. If the first token of the input is special, it represents "no answer".
    """
    marks = _marks(tokenizer)
    context: list[int] = []
    for position, token in enumerate(ids):
        if token in marks:
            continue
        if context and position > context[-1] + 1:
            context = []
        context.append(position)
    spans = [
        (first, last)
        for first in context
        for last in range(first, min(first + _LONGEST, context[-1] + 1))
    ]
    return tuple([(0, 0)] * (len(ids) > 0 and ids[0] in marks) + spans)


def _marks(tokenizer: Any) -> set[int]:
    """Return the ids of the tokens that a template adds to a text."""
    ids = [getattr(tokenizer, name, None) for name in _MARKS]
    return {mark for mark in ids if mark is not None}
