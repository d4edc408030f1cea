"""Heads that promote the successor of an ordinal word, for example "Tuesday" after "Monday"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from attnwidget.behaviors.behavior import Need
from attnwidget.behaviors.behavior_score import BehaviorScore, HalfScore, binomial_test
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.study_behavior import NotApplicableError, StudyBehavior
from attnwidget.kernels.arrays import Float64Array
from attnwidget.mechanisms.circuit_weights import CircuitWeights
from attnwidget.mechanisms.copying import NAMES
from attnwidget.mechanisms.head_vocabulary import read_vectors
from attnwidget.mechanisms.single_tokens import token_of_word
from attnwidget.mechanisms.token_vectors import TokenVectors

ORDERS = (
    "one two three four five six seven eight nine ten eleven twelve",
    "first second third fourth fifth sixth seventh eighth ninth tenth",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "January February March April May June July August September October November December",
)
_FEWEST = 8


class Successor(StudyBehavior):
    """Share of ordinal words whose successor gets the largest logit among all ordinal words.

    The head reads only the effective embedding of the word, as in `copying_scores`. The control
    uses a list of names instead of the ordinal words, with the next name as the successor. A
    binomial test compares the score with the control, or with chance if chance is larger.
    """

    name = "successor"
    description = "promotes the word after an ordinal word, such as Tuesday after Monday"
    source = "Gould et al. 2023"
    needs: frozenset[Need] = frozenset({"circuits"})

    def scores(self, evidence: Evidence) -> Sequence[BehaviorScore]:
        model = evidence.model
        try:
            weights = CircuitWeights(model)
            vectors = TokenVectors(weights)
        except (TypeError, ValueError) as error:
            raise NotApplicableError(str(error)) from error
        if model.tokenizer is None:
            raise NotApplicableError("ordinal words need a tokenizer")
        ordinal = [self._ids(model.tokenizer, words.split()) for words in ORDERS]
        names = [self._ids(model.tokenizer, NAMES)]
        n_pairs = sum(max(0, len(ids) - 1) for ids in ordinal)
        if n_pairs < _FEWEST or len(names[0]) < _FEWEST:
            raise NotApplicableError(
                f"{n_pairs} ordinal words and {len(names[0])} names are one token in this "
                f"vocabulary, and {_FEWEST} of each are needed"
            )
        right = _successors_first(weights, vectors, ordinal)  # [L, H, words]
        control_right = _successors_first(weights, vectors, names)
        control: Float64Array = control_right.mean(-1)
        halves = (right[..., ::2], right[..., 1::2])
        first, held_out = (HalfScore(half.mean(-1), control, half.shape[-1]) for half in halves)
        chance = 1 / sum(map(len, ordinal))
        return [
            BehaviorScore.from_halves(
                self,
                first,
                held_out,
                binomial_test(*first, chance=chance),
                control_name="a list of names in place of the ordinal words",
                unit="word",
            )
        ]

    @staticmethod
    def _ids(tokenizer: object, words: Sequence[str]) -> list[int]:
        """Return the ids of the longest run of words that are a single token each."""
        runs: list[list[int]] = [[]]
        for word in words:
            token = token_of_word(tokenizer, word)
            if token is None:
                runs.append([])
            else:
                runs[-1].append(token)
        return max(runs, key=len)


def _successors_first(
    weights: CircuitWeights, vectors: TokenVectors, lists: Sequence[Sequence[int]]
) -> Float64Array:
    """Return whether the successor has the largest logit among all listed words: [L, H, words]."""
    candidates = torch.tensor(
        [token for ids in lists for token in ids], dtype=torch.long, device="cpu"
    )
    words = torch.tensor(
        [token for ids in lists for token in ids[:-1]], dtype=torch.long, device="cpu"
    )
    successors = torch.tensor(
        [token for ids in lists for token in ids[1:]], dtype=torch.long, device="cpu"
    )
    shape = (weights.numbers.n_layers, weights.model.n_heads, len(words))
    right = np.full(shape, np.nan)
    for layer in weights.numbers.numbers:
        circuits = weights.layer(layer)
        normed_vectors = read_vectors(vectors, circuits, layer, words)
        for head in range(shape[1]):
            logits: Tensor = vectors.logits(
                normed_vectors @ circuits.value[head] @ circuits.output[head]
            )
            predictions = candidates.to(logits.device)[
                logits[:, candidates.to(logits.device)].argmax(-1)
            ]
            right[layer, head] = (predictions.cpu() == successors).double().numpy()
    return right


BEHAVIORS = (Successor(),)
