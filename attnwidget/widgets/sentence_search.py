"""Where in a treebank a head is right, or wrong: read sentence by sentence until one is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np

from attnwidget.capture.head import Head
from attnwidget.studies.relation_results import DIRECTIONS
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.predictions import Predictions
from attnwidget.widgets.relation_words import words_of
from attnwidget.widgets.sentence_wire import too_long


@dataclass(frozen=True)
class Sought:
    """What is looked for: a word of `relation` that a head is right on, or wrong.

    Attributes:
        head: whose predictions.
        right: whether the predicted governor is the annotated one, or another.
        relation: as in the figures, such as "nsubj" or "all".
        direction: who attends to whom, one of `DIRECTIONS`.
        threshold: the weight behind the prediction at least.
    """

    head: Head
    right: bool
    relation: str
    direction: str
    threshold: float

    def is_in(self, sentence: Sentence, predictions: Predictions, index: int) -> bool:
        """Whether a sentence has such a word; one that no head can read has none."""
        words = words_of(sentence, self.relation)
        if not words or too_long(sentence):
            return False
        try:
            predicted = predictions.predicted(index)
        except ValueError:
            return False  # said when it is shown
        at = (*self.head[:2], DIRECTIONS.index(self.direction), words)
        is_right = predicted.governors[at] == np.array(sentence.governors)[words]
        return bool(((is_right == self.right) & (predicted.weights[at] >= self.threshold)).any())


def next_sentence(
    sentences: Sequence[Sentence],
    predictions: Predictions,
    sought: Sought | None,
    *,
    start: int,
    step: int,
    until: float,
) -> tuple[int | None, int]:
    """The next sentence with what is sought, going on at the other end of the list.

    Args:
        sentences: of a treebank.
        predictions: of the same sentences.
        sought: None finds nothing.
        start: the sentence to start from, which is not looked at.
        step: 1 for the next, -1 for the previous one.
        until: when to give up, in seconds of `time.monotonic`.

    Returns:
        Its index or None, and how many sentences were looked at.
    """
    count = len(sentences)
    for away in range(1, count if sought else 0):
        if monotonic() > until:
            return None, away - 1
        index = (start + step * away) % count
        if sought and sought.is_in(sentences[index], predictions, index):
            return index, away
    return None, count - 1
