"""Base class of the answerers for trained probes."""

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

# Number of sentences with cached answers.
_KEPT = 50
AnswersT = TypeVar("AnswersT", ProbePredictions, PredictedTree)


class ProbeAnswerer(Answerer, Generic[AnswersT]):
    """Answerer for a trained probe with its model.

    Attributes:
        label: Kind of the probe, for `repr`.
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
        """Return the probe's answers for a sentence.

        Args:
            sentence: Sentence that the model reads.
            layer: Layer of the answers, for a probe with answers per layer.

        Raises:
            ValueError: If the sentence is too long for the model or has a word without tokens, if
                the model has changed since the training, or if the layer was not probed.
        """

    def votes(self, sentence: Sentence, word: int) -> NDArray[np.float64] | None:
        """Return the votes of heads for a word's governor; None without votes."""
        return None

    def forget(self) -> None:
        """Clear the cached answers."""
        self._answers.clear()

    def page_answers(
        self, sentences: Sequence[Sentence], index: int, options: ArcsOptions
    ) -> PageAnswers:
        """Return only the current sentence, because other sentences would need the model."""
        return PageAnswers(
            title="What a probe answers",
            own=self._page_layers(sentences[index], options),
            drawn=as_json_value(self.drawn(0, sentences[index], options)),
            remark="holds the sentence shown: others need a notebook",
        )

    def _page_layers(self, sentence: Sentence, options: ArcsOptions) -> dict[str, Any]:
        """Return drawing data and notes by layer; empty if answers do not depend on the layer."""
        return {"probe": {}, "notes": {}}

    def _kept(self, key: tuple[Sentence, int], read: Callable[[], AnswersT]) -> AnswersT:
        """Return the cached answers; if there are none, read the sentence and cache its answers."""
        return self._answers.get_or_make(key, read)


def score_note(measure: str, value: float, interval: tuple[float, float], n_sentences: int) -> str:
    """Return a note with a probe's score and interval in percent, and the number of sentences."""
    low, high = interval
    return (
        f"{measure} {100 * value:.1f}\xa0% ({100 * low:.1f} to {100 * high:.1f}) "
        f"on {n_sentences:,} sentences"
    )
