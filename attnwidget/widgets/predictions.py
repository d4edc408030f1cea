"""What heads predict for the sentences that a figure has shown or searched."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.model import AttentionModel
from attnwidget.studies.governors import GovernorPredictions, predict_governors
from attnwidget.studies.relation_results import Unit
from attnwidget.text.treebank import Sentence

#: Bytes of word maps that are kept: some forty sentences of 60 words in a model of 144 heads.
_ROOM = 80_000_000


class Predicted(NamedTuple):
    """Predictions of all heads for one sentence of m words, without the maps.

    Attributes:
        governors: int16 [L, H, 2, m], from 1.
        weights: float32 [L, H, 2, m], the weight behind each.
    """

    governors: NDArray[np.int16]
    weights: NDArray[np.float32]


class Predictions:
    """Predictions by sentence, computed when first asked for.

    Maps grow with the square of a sentence and are kept for the last few; what was predicted is
    small and kept for all. Not safe for threads: the caller holds a lock.

    Args:
        model: what predicts.
        sentences: of a treebank.
        unit: as in `probe_relations`.
    """

    def __init__(self, model: AttentionModel, sentences: list[Sentence], unit: Unit) -> None:
        self._model, self._sentences, self._unit = model, sentences, unit
        self._maps: OrderedDict[int, GovernorPredictions] = OrderedDict()
        self._predicted: dict[int, Predicted] = {}

    def maps(self, index: int) -> GovernorPredictions:
        """Everything about one sentence.

        Raises:
            ValueError: it is too long for the model, or has a word without tokens.
            RuntimeError: the model was closed.
        """
        if index not in self._maps:
            self._maps[index] = predict_governors(
                self._model, self._sentences[index], unit=self._unit
            )
            while len(self._maps) > 1 and self._size() > _ROOM:
                self._maps.popitem(last=False)
        self._maps.move_to_end(index)
        return self._maps[index]

    def predicted(self, index: int) -> Predicted:
        """What was predicted for one sentence; raises as `maps`."""
        if index not in self._predicted:
            found = self.maps(index)
            self._predicted[index] = Predicted(found.governors.astype(np.int16), found.weights)
        return self._predicted[index]

    def _size(self) -> int:
        return sum(one.maps.nbytes for one in self._maps.values())
