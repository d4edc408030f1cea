"""Head scores and losses on random tokens that are repeated once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attnwidget.capture.predict import prediction_task
from attnwidget.corpus.attention_reader import read_attention
from attnwidget.kernels.arrays import Float64Array
from attnwidget.metrics.induction import (
    Induction,
    sequence_result,
    start_and_vocabulary,
)
from attnwidget.metrics.sinks import Sinks

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

#: Titles of the scores, in the order of their axis.
SCORES = (
    "induction (random tokens)",
    "duplicate token (random tokens)",
    "previous token (random tokens)",
    "first token (random tokens)",
)
_SHORTEST = 4

Pair = tuple[list[int], list[int]]


@dataclass(frozen=True, eq=False)
class RepeatedTokens:
    """Head scores and losses on repeated random tokens, for each of S sequences.

    Attributes:
        scores: Scores in the order of `SCORES`, float64 [4, L, H, S].
        controls: Control of each score, [4, L, H, S].
        losses: Mean loss of the tokens in the first and in the second copy, in nats, float64 [2,
            S]. The first token of each copy is excluded, because no earlier copy predicts it. NaN
            for a model without a language-model head.
    """

    scores: Float64Array
    controls: Float64Array
    losses: Float64Array


def repeated_and_other(
    model: AttentionModel, n_sequences: int, length: int, seed: int
) -> list[Pair]:
    """Return pairs of a sequence with repeated random tokens and a sequence with other tokens.

    A sequence is the beginning-of-text token, if the model has one, `length` different random
    tokens, and the same tokens again. In the other sequence of the pair, other random tokens
    replace the second copy. Copies are shorter if two copies of `length` exceed the length limit.

    Raises:
        ValueError: If the length limit of the model is below 4 tokens twice.
    """
    start, vocabulary = start_and_vocabulary(model)
    limit = model.length_limit.tokens
    longest = length if limit is None else (limit - len(start)) // 2
    length = min(length, longest, len(vocabulary) // 2)
    if length < _SHORTEST:
        raise ValueError(
            f"repeated random tokens need {_SHORTEST} tokens twice, and the model has room for "
            f"{length}"
        )
    draw = np.random.default_rng(seed)
    pairs = []
    for _ in range(n_sequences):
        ids = draw.choice(vocabulary, 2 * length, replace=False).tolist()
        pairs.append(([*start, *ids[:length], *ids[:length]], [*start, *ids]))
    return pairs


def read_repeated(model: AttentionModel, pairs: Sequence[Pair]) -> RepeatedTokens:
    """Return the scores and losses of a causal model on pairs from `repeated_and_other`.

    Induction and duplicate-token scores have the other sequence as their control, measured at the
    same positions. The control for attention to the previous and to the first token is the score of
    a head with equal attention to all visible tokens. The atlas behaviors with these names use the
    same scores and controls for induction and duplicate tokens, with a test.

    Raises:
        ValueError: If the model is not causal.
    """
    numbers = np.array([_scores(model, *pair) for pair in pairs])  # [S, 2, 4, L, H]
    scores, controls = np.moveaxis(numbers, 0, -1)
    losses = np.array([_losses(model, repeated) for repeated, _ in pairs]).T
    return RepeatedTokens(scores, controls, losses)


def _scores(model: AttentionModel, repeated: list[int], other: list[int]) -> Float64Array:
    """Return scores and controls of every head on one sequence, [2, 4, L, H]."""
    induction_metric = Induction()
    sinks = Sinks(1)
    read_attention(model.attend(repeated), [induction_metric, sinks], model=model, ids=repeated)
    score = induction_metric.compute()
    control = sequence_result(model, other, repeated=repeated)
    first = sinks.compute()
    # Equal attention is the same for all heads. Layers without attention remain NaN.
    any_head = np.where(np.isnan(score.previous), np.nan, 1.0)
    even_previous = score.even["previous-token score"] * any_head
    scores = [score.induction, score.duplicate, score.previous, first.mass[0]]
    controls = [control.induction, control.duplicate, even_previous, first.even * any_head]
    return np.array([scores, controls])


def _losses(model: AttentionModel, repeated: list[int]) -> list[float]:
    """Return the mean loss of the tokens in each copy, without the first token of each."""
    try:
        predicts = prediction_task(model.hf_model) == "next"
    except TypeError:  # The model has no prediction head.
        predicts = False
    if not predicts:
        return [float("nan")] * 2
    length = len(repeated) // 2
    first = len(repeated) - 2 * length
    copies = [range(first + 1, first + length), range(first + length + 1, len(repeated))]
    positions = [position for copy in copies for position in copy]
    logs = model.predict(repeated, positions=positions).log_probabilities
    losses = -logs[np.arange(len(positions)), np.array(repeated)[positions]].astype(np.float64)
    return [float(copy_losses.mean()) for copy_losses in np.split(losses, 2)]
