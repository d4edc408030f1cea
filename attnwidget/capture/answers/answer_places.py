"""The tokens that a tagger labels, and the spans that can answer a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attnwidget.model_facts.answer_logits import TokenSpan

# Tokens of the longest span.
_LONGEST = 30
_MARKS = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id", "pad_token_id")


def labeled_places(tokenizer: Any, ids: Sequence[int]) -> list[int]:
    """Return the places of the tokens that a tagger labels: all but the template's tokens.

    If the text has no further tokens, or without a tokenizer, these are all tokens.
    """
    marks = _marks(tokenizer)
    places = [place for place, token in enumerate(ids) if token not in marks]
    return places or list(range(len(ids)))


def answer_spans(tokenizer: Any, ids: Sequence[int]) -> tuple[TokenSpan, ...]:
    """Return the spans that can answer the question of an input.

    The spans have up to 30 tokens of the context: the last part of the input between separators.
    The first token of the input stands for "no answer" if it is a special token.
    """
    marks = _marks(tokenizer)
    context: list[int] = []
    for place, token in enumerate(ids):
        if token in marks:
            continue
        if context and place > context[-1] + 1:
            context = []
        context.append(place)
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
