"""Staircase of words over time: the sound positions that a speech decoder attends to per word."""

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

#: Length of a time step in seconds; weights within a step are added.
STEP = 0.08
#: Maximum number of words in a staircase.
MOST_WORDS = 80


def staircase_to_wire(attention: Attention, head: Head, unit: str) -> dict[str, Any] | None:
    """Return the weights of each transcript word over time, for the page.

    The row of a word is the mean over the queries that generated its tokens. `rows` has the query
    that generated the first token of each word.

    Args:
        attention: Attention of the speech model.
        head: Head whose weights are returned.
        unit: Unit of the page's queries, "tokens" or "words".

    Returns:
        The staircase, with `values` as float32 [words, steps]. None if the head does not attend to
        a sound, or if the transcript has no words or more than 80 words.

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
    centers = (transcript.edges[:-1] + transcript.edges[1:]) / 2
    step_of_token = np.minimum((centers / STEP).astype(int), count - 1)
    # Indicator of the sound tokens in each time step, [K, steps].
    indicator = np.eye(count)[step_of_token]
    steps = weights @ indicator
    queries = [transcript.rows[group[0]] for group in transcript.words]
    return {
        "stack": head.stack,
        "layer": head.layer,
        "head": head.head,
        "unit": unit,
        "step": STEP,
        "rows": queries if unit == "tokens" else _words_of(stack.query, queries),
        "words": [transcript.text(group) for group in transcript.words],
        "values": to_wire(
            np.stack([steps[group].mean(axis=0) for group in transcript.words]).astype(np.float32)
        ),
    }


def _has_times(tokens: Tokens) -> bool:
    """Return True if the tokens are spans of one sound over all frequencies."""
    spans = [place for place in tokens.places if isinstance(place, Span)]
    return bool(spans) and all(span.sound == 0 and span.low is None for span in spans)


def _words_of(tokens: Tokens, places: list[int]) -> list[int]:
    """Return the words that contain the tokens at some positions."""
    word_of_token = {token: i for i, group in enumerate(tokens.word_groups()) for token in group}
    return [word_of_token[position] for position in places]
