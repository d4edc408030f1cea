"""Attention heads as an answerer, which predict the most attended word as the governor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.model import AttentionModel
from attnwidget.inputs.advised_error import on_page
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.model_facts.weights_seen import WeightsSeen
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.answerer import (
    Answerer,
    ArcsOptions,
    PageAnswers,
    sentence_to_wire,
    too_long,
)
from attnwidget.widgets.pages.encoding import AS_TEXT, as_json_value, as_text, rounded
from attnwidget.widgets.pages.page_part import Holding
from attnwidget.widgets.pages.size_limit import held_around, held_note
from attnwidget.widgets.shared.relation_choice import ALL, best_on, refuse_other_model
from attnwidget.widgets.wire.values import to_wire
from attnwidget.words.governors import (
    GovernorPredictions,
    Possessive,
    WordUnit,
    predict_governors,
)
from attnwidget.words.relation_results import DIRECTIONS, RelationAccuracies

#: Cache size for word maps in bytes: about forty sentences of 60 words in a model with 144 heads.
_ROOM = 80_000_000
#: Maximum number of sentences on a page. The model has to read each sentence while saving.
_MOST_SENTENCES = 40
# Bytes per word, in addition to one byte per cell: a weight and a governor in both directions.
_BYTES_A_WORD = 2 * (4 + 2)
# Approximate number of JSON characters for a word's text and relation.
_TEXT_A_WORD = 40


class HeadsAnswerer(Answerer):
    """Answerer for the heads of a model; the figure shows the answers of the current head.

    Maps grow with the square of the sentence length, so only those of the last sentences are
    cached. Predictions are small and are cached for all sentences.

    Args:
        model: Model whose heads predict.
        accuracies: Measured accuracies that the figure shows with the predictions, or None.
    """

    def __init__(self, model: AttentionModel, accuracies: RelationAccuracies | None) -> None:
        super().__init__(model)
        self._accuracies = accuracies
        self._unit: WordUnit = accuracies.unit if accuracies is not None else "words"
        # Judge possessors by their clitics if the study did so, or if there is no study.
        self._possessive: Possessive = "clark" if accuracies is None else accuracies.possessive
        self.forget()

    def described(self) -> dict[str, Any]:
        """Return the kind; the page itself adds the name of the current head."""
        return {"kind": "heads"}

    def note(self, options: ArcsOptions) -> str:
        """Return the unit of the maps if it is not words."""
        return "" if self._unit == "words" else f"unit: {self._unit}"

    def opening(self, traits: Mapping[str, Any]) -> dict[str, Any]:
        """Return the best head of the relation if it was measured."""
        relation = traits.get("relation", ALL)
        relations = self._accuracies.relations if self._accuracies is not None else ()
        if self._accuracies is None or "selected" in traits or relation not in relations:
            return {}
        return best_on(self._accuracies, relation, traits.get("direction"))

    def forget(self) -> None:
        """Clear all predictions, and accept the current weights of the model."""
        self._edits = self.model.edits.digest
        self._weights = WeightsSeen(self.model.hf_model)
        self._maps: LatestValues[Sentence, GovernorPredictions]
        self._maps = LatestValues(_ROOM, _bytes_of_maps, at_least=1)
        self._predicted: dict[Sentence, NDArray[np.int16]] = {}

    def predictions(self, sentence: Sentence) -> GovernorPredictions:
        """Return the predictions of every head for a sentence.

        Args:
            sentence: Sentence that the model reads.

        Raises:
            ValueError: If the sentence is too long for the model or has a word without tokens.
            RuntimeError: If the model was closed or its weights have changed.
        """
        self._forget_other_edits()
        return self._maps.get_or_make(sentence, lambda: self._read(sentence))

    def drawn(self, index: int, sentence: Sentence, options: ArcsOptions) -> dict[str, Any]:
        """Return the drawing data, which include the head even if there is a problem."""
        return super().drawn(index, sentence, options) | {"head": options.head}

    def answered(self, sentence: Sentence, options: ArcsOptions) -> dict[str, Any]:
        """Return the governors and the map of the current head; {} without a head."""
        if options.head is None:
            return {}
        if self._accuracies is not None:
            refuse_other_model(self._accuracies, self.model)
        layer, head, _ = options.head
        predictions = self.predictions(sentence)
        governors = predictions.governors[layer, head].astype(np.int32)
        weights = predictions.map(layer, head).astype(np.float32)
        return {"predicted": {"governors": to_wire(governors), "map": to_wire(weights)}}

    def outcomes(
        self, sentence: Sentence, words: list[int], options: ArcsOptions
    ) -> NDArray[np.int64]:
        """Return 1 for each right governor of the current head, 0 otherwise; -1 without a head."""
        if options.head is None:
            return np.full(len(words), -1)
        selection = (*options.head[:2], DIRECTIONS.index(options.direction), words)
        right = self._governors(sentence)[selection] == np.array(sentence.governors)[words]
        return right.astype(np.int64)

    def page_answers(
        self, sentences: Sequence[Sentence], index: int, options: ArcsOptions
    ) -> PageAnswers:
        """Return the sentence and its neighbors with the predictions of every head."""
        sizes = [self._page_size(sentence) for sentence in sentences]

        def embed(room: float) -> tuple[dict[str, Any], list[str]]:
            sentence_range = held_around(index, sizes, room, _MOST_SENTENCES)
            embedded = [self._embedded(i, sentences[i]) for i in sentence_range]
            exact = "weights between words rounded to 8 bits, those of predicted arcs exact"
            notes = [held_note(sentence_range, len(sizes), "sentence"), exact]
            return {"first": sentence_range.start, "held": embedded}, notes

        what = "the sentence with every head's map"
        holding = Holding(what, "show a shorter sentence", sizes[index], embed)
        return PageAnswers(
            title="Dependency arcs of attention heads",
            own={"measured": self._measured(), "follows": False},
            holdings={"sentences": holding},
        )

    def _read(self, sentence: Sentence) -> GovernorPredictions:
        return predict_governors(self.model, sentence, unit=self._unit, possessive=self._possessive)

    def _governors(self, sentence: Sentence) -> NDArray[np.int16]:
        """Return the governors that all heads predict for m words, counted from 1: [L, H, 2, m]."""
        self._forget_other_edits()
        if sentence not in self._predicted:
            self._predicted[sentence] = self.predictions(sentence).governors.astype(np.int16)
        return self._predicted[sentence]

    def _forget_other_edits(self) -> None:
        """Clear the predictions if disabled heads have changed; raise if weights have changed."""
        self._weights.refuse_changed(
            self.model.hf_model, "the figure was made: make it, and what it is of, again"
        )
        if self._edits != self.model.edits.digest:
            self.forget()

    def _page_size(self, sentence: Sentence) -> float:
        """Return the size of a sentence with every head's predictions in a page, in bytes."""
        m = len(sentence)
        n_heads = self.model.n_layers * self.model.n_heads
        return AS_TEXT * n_heads * (m * m + _BYTES_A_WORD * m) + _TEXT_A_WORD * m

    def _embedded(self, index: int, sentence: Sentence) -> dict[str, Any]:
        """Return the words and the tree of a sentence, with every head's predictions.

        Governors and their weights are exact. The other weights of the word maps are rounded to 8
        bits.
        """
        problem = too_long(sentence)
        predicted = None
        if not problem:
            try:
                predictions = self._read(sentence)
            except ValueError as error:
                problem = on_page(error)
            else:
                m = len(sentence)
                maps = [rounded(word_map) for word_map in predictions.maps.reshape(-1, m, m)]
                predicted = {
                    "governors": as_text(predictions.governors.astype(np.uint16)),
                    "weights": as_text(predictions.weights.astype(np.float32)),
                    "maps": as_text(np.stack([levels for levels, _ in maps])),
                    "maxima": [maximum for _, maximum in maps],
                }
        drawing_data = sentence_to_wire(index, sentence, problem)
        return {"drawn": as_json_value(drawing_data), "predicted": predicted}

    def _measured(self) -> dict[str, Any] | None:
        """Return the counts of right answers by head and relation; None without accuracies."""
        accuracies = self._accuracies
        if accuracies is None:
            return None
        numbers: dict[str, Any] = as_json_value(
            {
                "relations": list(accuracies.relations),
                "correct": to_wire(accuracies.correct.astype(np.int32)),
                "counts": to_wire(accuracies.counts.astype(np.int32)),
                "baseline": to_wire(accuracies.baseline.astype(np.float32)),
                "offsets": to_wire(accuracies.baseline_offset.astype(np.int32)),
            }
        )
        return numbers


def _bytes_of_maps(predictions: GovernorPredictions) -> int:
    return predictions.maps.nbytes
