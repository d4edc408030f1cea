"""A sentence with what a head predicts for it, as it crosses to the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnwidget.capture.head import Head
from attnwidget.studies.governors import GovernorPredictions
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.wire import to_wire

#: A figure of more words could be neither read nor drawn in time.
_MOST_WORDS = 1000


def too_long(sentence: Sentence) -> str:
    """Why a sentence cannot be drawn, "" where it can."""
    if len(sentence) <= _MOST_WORDS:
        return ""
    return f"{sentence.label} has {len(sentence):,} words; up to {_MOST_WORDS:,} are drawn."


def sentence_to_wire(
    index: int,
    sentence: Sentence,
    head: Head | None,
    predicted: GovernorPredictions | None,
    problem: str,
) -> dict[str, Any]:
    """A sentence of m words as the page draws it.

    Args:
        index: of the sentence.
        sentence: with its tree.
        head: the head shown, or None.
        predicted: what heads predict, or None.
        problem: why there is nothing to draw: then no word crosses.
    """
    words = slice(0, 0 if problem else None)
    shown = None
    if predicted is not None and head is not None:
        shown = {
            "governors": to_wire(predicted.governors[head[:2]].astype(np.int32)),
            "map": to_wire(predicted.map(*head[:2]).astype(np.float32)),
        }
    return {
        "sentence": index,
        "name": sentence.name or sentence.source,
        "words": list(sentence.words[words]),
        "spaces": list(sentence.space_after[words]),
        "relations": list(sentence.relations[words]),
        "governors": to_wire(np.array(sentence.governors[words], np.int32)),
        "head": head,
        "predicted": shown,
        "problem": problem,
    }
