"""Dependency probe as an answerer, with the probability of each governor for every word."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.probes.dependency.dependency_answers import ProbePredictions
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.answerer import ArcsOptions
from attnwidget.widgets.dependency_arcs.probe_answerer import ProbeAnswerer, score_note
from attnwidget.widgets.wire.values import to_wire

#: Number of heads whose votes the page shows for each word.
_VOTES = 8


class DependencyProbeAnswerer(ProbeAnswerer[ProbePredictions]):
    """Answerer for a probe from `train_dependency_probe`."""

    def __init__(self, probe: DependencyProbe) -> None:
        super().__init__(probe.model)
        self._probe = probe
        self.label = probe.form.kind

    def described(self) -> dict[str, Any]:
        """Return the kind and a name with the form of the probe."""
        return {"kind": "dependency probe", "name": f"probe of {self.label}"}

    def note(self, options: ArcsOptions) -> str:
        """Return the unlabeled attachment score on the development sentences."""
        scores = self._probe.scores
        return score_note("UAS", scores.uas, scores.interval, self._probe.options["n_dev"])

    def answers(self, sentence: Sentence, layer: int) -> ProbePredictions:
        """Return the answers for a sentence, which are the same for all layers."""
        return self._kept((sentence, 0), partial(self._probe.predictions, sentence))

    def votes(self, sentence: Sentence, word: int) -> NDArray[np.float64] | None:
        """Return each head's vote for a word's arc, weight times attention: float64 [L, H, 2]."""
        answers = self.answers(sentence, 0)
        if answers.votes is None:
            return None
        votes: NDArray[np.float64] = answers.votes[..., word, int(answers.governors[word])]
        return votes

    def answered(self, sentence: Sentence, options: ArcsOptions) -> dict[str, Any]:
        """Return governors, probabilities and the strongest votes."""
        answers = self.answers(sentence, options.layer)
        # There is one row per direction, as for heads; a probe gives both the same answer.
        governors = np.stack([answers.governors] * 2).astype(np.int32)
        predicted = {
            "governors": to_wire(governors),
            "map": to_wire(answers.probabilities[:, 1:].astype(np.float32)),
            "root": to_wire(answers.probabilities[:, 0].astype(np.float32)),
            "votes": _strongest_votes(answers),
        }
        return {"predicted": predicted}

    def outcomes(
        self, sentence: Sentence, words: list[int], options: ArcsOptions
    ) -> NDArray[np.int64]:
        """Return 1 for each word with a right governor, 0 for a wrong governor."""
        answers = self.answers(sentence, options.layer)
        right = answers.governors[words] == np.array(sentence.governors)[words]
        return right.astype(np.int64)


def _strongest_votes(answers: ProbePredictions) -> dict[str, Any] | None:
    """Return the strongest votes of each word: their indices in [L, H, 2] and their values."""
    if answers.votes is None:
        return None
    votes = np.stack([answers.votes[..., i, g] for i, g in enumerate(answers.governors.tolist())])
    flat_votes = votes.reshape(len(votes), -1)
    indices = np.argsort(-np.abs(flat_votes), axis=1, kind="stable")[:, :_VOTES]
    return {
        "heads": votes.shape[2],
        "places": to_wire(indices.astype(np.int32)),
        "values": to_wire(np.take_along_axis(flat_votes, indices, 1).astype(np.float32)),
        "sums": to_wire(flat_votes.sum(1).astype(np.float32)),
    }
