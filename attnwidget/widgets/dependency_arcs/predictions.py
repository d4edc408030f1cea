"""What heads predict for the sentences of a figure, and the next sentence they are right on."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.hub_model.weights_seen import WeightsSeen
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.studies.words.governors import GovernorPredictions, WordUnit, predict_governors
from attnwidget.studies.words.relation_results import DIRECTIONS
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.shared.relation_words import words_of
from attnwidget.widgets.wire.values import to_wire

#: Bytes of word maps that are kept: some forty sentences of 60 words in a model of 144 heads.
_ROOM = 80_000_000
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
    """Return a sentence as the page draws it, with the head's predictions if both are known.

    `problem` is why there is nothing to draw: then no word crosses.
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
        "structure": None,
        "problem": problem,
    }


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


class _Predicted(NamedTuple):
    """Predictions of all heads for one sentence of m words, without the maps.

    Attributes:
        governors: int16 [L, H, 2, m], from 1.
        weights: float32 [L, H, 2, m], the weight behind each.
    """

    governors: NDArray[np.int16]
    weights: NDArray[np.float32]


class SentencePredictions:
    """Predictions by sentence, computed when first asked for.

    Maps grow with the square of a sentence and are kept for the last few; what was predicted is
    small and kept for all. Not safe for threads: the caller holds a lock.

    Args:
        model: what predicts.
        sentences: of a treebank.
        unit: as in `probe_relations`.
        by_clitic: as in `predict_governors`.
    """

    def __init__(
        self, model: AttentionModel, sentences: list[Sentence], unit: WordUnit, by_clitic: bool
    ) -> None:
        self._model = model
        self._sentences = sentences
        self._unit = unit
        self._by_clitic = by_clitic
        self._edits = model.edits.digest
        self._weights = WeightsSeen(model.hf_model)
        self._maps: OrderedDict[int, GovernorPredictions] = OrderedDict()
        self._predicted: dict[int, _Predicted] = {}

    def maps(self, index: int) -> GovernorPredictions:
        """Everything about one sentence.

        Raises:
            ValueError: it is too long for the model, or has a word without tokens.
            RuntimeError: the model was closed, or its weights are others by now.
        """
        self._forget_other_edits()
        if index not in self._maps:
            self._maps[index] = predict_governors(
                self._model,
                self._sentences[index],
                unit=self._unit,
                by_clitic=self._by_clitic,
            )
            while len(self._maps) > 1 and self._size() > _ROOM:
                self._maps.popitem(last=False)
        self._maps.move_to_end(index)
        return self._maps[index]

    def next_with(
        self, sought: Sought | None, *, start: int, step: int, until: float
    ) -> tuple[int | None, int]:
        """Return the next matching sentence, and wrap around at the end of the list.

        Args:
            sought: None finds nothing.
            start: the sentence to start from, which is not looked at.
            step: 1 for the next, -1 for the previous one.
            until: when to give up, in seconds of `time.monotonic`.

        Returns:
            Its index or None, and how many sentences were looked at.

        Raises:
            RuntimeError: the model was closed.
        """
        count = len(self._sentences)
        for away in range(1, count if sought else 0):
            if monotonic() > until:
                return None, away - 1
            index = (start + step * away) % count
            if sought and self._has(index, sought):
                return index, away
        return None, count - 1

    def _has(self, index: int, sought: Sought) -> bool:
        """Whether a sentence matches; a sentence that no head can read does not match."""
        sentence = self._sentences[index]
        words = words_of(sentence, sought.relation)
        if not words or too_long(sentence):
            return False
        try:
            predicted = self._without_maps(index)
        except ValueError:
            return False  # said when it is shown
        at = (*sought.head[:2], DIRECTIONS.index(sought.direction), words)
        is_right = predicted.governors[at] == np.array(sentence.governors)[words]
        is_strong = predicted.weights[at] >= sought.threshold
        return bool(((is_right == sought.right) & is_strong).any())

    def _without_maps(self, index: int) -> _Predicted:
        self._forget_other_edits()
        if index not in self._predicted:
            prediction = self.maps(index)
            self._predicted[index] = _Predicted(
                prediction.governors.astype(np.int16), prediction.weights
            )
        return self._predicted[index]

    def _forget_other_edits(self) -> None:
        """Forget results from before a change of disabled heads or of weights."""
        self._weights.refuse_changed(
            self._model.hf_model, "the figure was made: make it, and what it is of, again"
        )
        if self._edits != self._model.edits.digest:
            self._edits = self._model.edits.digest
            self._maps.clear()
            self._predicted.clear()

    def _size(self) -> int:
        return sum(prediction.maps.nbytes for prediction in self._maps.values())
