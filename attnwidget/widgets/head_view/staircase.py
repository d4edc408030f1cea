"""The staircase of words over time: when the decoder of a speech model looks for each word."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.text.places import Span
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.wire.values import to_wire
from attnwidget.words.transcript import CROSS, Transcript

#: Seconds of a step of the time: weights within a step are added.
STEP = 0.08
#: Most words that are drawn.
MOST_WORDS = 80


def staircase_to_wire(attention: Attention, head: Head, unit: str) -> dict[str, Any] | None:
    """Return the weights of each word of a transcript over time, for the page.

    The row of a word is the mean of the rows that wrote its tokens. `rows` names, for each word,
    the query that wrote its first token.

    Args:
        attention: The attention.
        head: The shown head.
        unit: Unit of the queries of the page, "tokens" or "words".

    Returns:
        The staircase, with `values` as float32 [words, steps]; None where the head does not attend
        to a sound, and for a transcript without words or with more than 80 words.

    Example:
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.widgets.head_view.staircase import staircase_to_wire
        >>> staircase_to_wire(load_model().attend("The cat sat."), Head(0, 0), "tokens") is None
        True
    """
    stack = attention.stacks.get(CROSS)
    if stack is None or head.stack != CROSS or not _has_times(stack.key):
        return None
    try:
        transcript = Transcript(attention)
    except ValueError:
        return None
    if len(transcript.words) > MOST_WORDS:
        return None
    weights = transcript.weights(head.layer, head.head)
    seconds = attention.audio[0].seconds
    count = max(1, ceil(seconds / STEP - 1e-6))
    middles = (transcript.edges[:-1] + transcript.edges[1:]) / 2
    places = np.minimum((middles / STEP).astype(int), count - 1)
    # The tokens of the sound in each step of the time, [K, steps].
    within = np.eye(count)[places]
    steps = weights @ within
    written = [transcript.rows[group[0]] for group in transcript.words]
    return {
        "stack": head.stack,
        "layer": head.layer,
        "head": head.head,
        "unit": unit,
        "step": STEP,
        "rows": written if unit == "tokens" else _words_of(stack.query, written),
        "words": [transcript.text(group) for group in transcript.words],
        "values": to_wire(
            np.stack([steps[group].mean(axis=0) for group in transcript.words]).astype(np.float32)
        ),
    }


def _has_times(tokens: Tokens) -> bool:
    """Whether tokens are spans of one sound over all frequencies."""
    spans = [place for place in tokens.places if isinstance(place, Span)]
    return bool(spans) and all(span.sound == 0 and span.low is None for span in spans)


def _words_of(tokens: Tokens, places: list[int]) -> list[int]:
    """Return the words of tokens."""
    word = {token: i for i, group in enumerate(tokens.word_groups()) for token in group}
    return [word[place] for place in places]
