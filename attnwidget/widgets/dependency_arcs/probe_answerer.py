"""The part of an answerer that both kinds of trained probes share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.model import AttentionModel
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.probes.dependency.dependency_answers import ProbePredictions
from attnwidget.probes.structural.structural_result import PredictedTree
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.answerer import Answerer, ArcsOptions, PageAnswers
from attnwidget.widgets.pages.encoding import as_json_value

# Sentences whose answers are kept.
_KEPT = 50
AnswersT = TypeVar("AnswersT", ProbePredictions, PredictedTree)


class ProbeAnswerer(Answerer, Generic[AnswersT]):
    """A trained probe with its model.

    Attributes:
        label: What the probe is trained on, for `repr`.
    """

    label: str

    def __init__(self, model: AttentionModel | None) -> None:
        if model is None:
            raise ValueError(
                "no model is at hand to read sentences: load_probe(path, model), or "
                "probe.for_model(model)"
            )
        super().__init__(model)
        self._answers: LatestValues[tuple[Sentence, int], AnswersT] = LatestValues(_KEPT)

    @abstractmethod
    def answers(self, sentence: Sentence, layer: int) -> AnswersT:
        """Return the answers of the probe for a sentence, and for a layer if it has several.

        Raises:
            ValueError: The sentence is too long for the model or has a word without tokens; the
                model has changed since the training; the layer was not probed.
        """

    def votes(self, sentence: Sentence, word: int) -> NDArray[np.float64] | None:
        """Return the votes of heads for the governor of a word; None without votes."""
        return None

    def forget(self) -> None:
        """Forget all answers."""
        self._answers.clear()

    def page_answers(
        self, sentences: Sequence[Sentence], index: int, options: ArcsOptions
    ) -> PageAnswers:
        """Return the shown sentence alone: another one would need the model."""
        return PageAnswers(
            title="What a probe answers",
            own=self._page_layers(sentences[index], options),
            drawn=as_json_value(self.drawn(0, sentences[index], options)),
            remark="holds the sentence shown: others need a notebook",
        )

    def _page_layers(self, sentence: Sentence, options: ArcsOptions) -> dict[str, Any]:
        """Return drawing data and notes by layer, if the answers depend on the layer."""
        return {"probe": {}, "notes": {}}

    def _kept(self, key: tuple[Sentence, int], read: Callable[[], AnswersT]) -> AnswersT:
        """Return the kept answers; else read the sentence, and forget the oldest answers."""
        return self._answers.get_or_make(key, read)


def score_note(measure: str, value: float, interval: tuple[float, float], n_sentences: int) -> str:
    """Return the score of a probe with its interval, in percent, and the number of sentences."""
    low, high = interval
    return (
        f"{measure} {100 * value:.1f}\xa0% ({100 * low:.1f} to {100 * high:.1f}) "
        f"on {n_sentences:,} sentences"
    )
