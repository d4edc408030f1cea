"""Induction and duplicate-token heads on repeated random tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.model import AttentionModel
from attnwidget.head_atlas.behaviours.behaviour import Need, StudyBehaviour
from attnwidget.head_atlas.behaviours.behaviour_score import BehaviourScore, t_interval
from attnwidget.head_atlas.behaviours.evidence import Evidence
from attnwidget.head_atlas.behaviours.not_applicable import NotApplicableError
from attnwidget.head_atlas.behaviours.repetitions import DuplicateToken, InductionInText
from attnwidget.studies.metrics.induction import sequence_result, start_and_vocabulary
from attnwidget.studies.streaming.checkpoint import digest_of
from attnwidget.studies.streaming.input_numbers import ReadInputs, input_numbers

#: Number of sequences: half of them score heads, and half check the result.
SEQUENCES = 16
_LENGTH = 50
_SHORTEST = 4

Pair = tuple[list[int], list[int]]


class RepeatedRandomTokens(StudyBehaviour):
    """Attention to earlier copies, and to the tokens after them, in repeated random tokens.

    A sequence has random tokens twice. The control is a sequence with other random tokens in the
    place of the second copy, read at the same places.
    """

    name = "repeated random tokens"
    description = "attends to earlier copies of random tokens, or to the tokens after them"
    source = "Olsson et al. 2022; Wang et al. 2023"
    needs: frozenset[Need] = frozenset({"causal"})  # type: ignore[misc]

    def scores(self, evidence: Evidence) -> Sequence[BehaviourScore]:
        model = evidence.model
        pairs = _sequences(model, evidence.seed)
        batches = [[pair] for pair in pairs]
        numbers, complete = input_numbers(
            "repeated random tokens",
            {"inputs": digest_of(pairs)},
            model,
            ReadInputs(model, _pair_scores).results(batches, evidence.run.executor),
            batches,
            checkpoint=evidence.run.checkpoint("repeated"),
            progress=evidence.run.progress,
            unit="sequence",
        )
        if not complete:
            raise KeyboardInterrupt
        first, second = numbers[..., ::2], numbers[..., 1::2]  # [kind, 2, L, H, sequences]
        found = []
        for kind, rule in enumerate((InductionInText(), DuplicateToken())):
            score, control = first[kind].mean(-1)
            differences = first[kind, 0] - first[kind, 1]
            n = differences.shape[-1]
            low, high, p = t_interval(differences.mean(-1), (differences**2).mean(-1), n)
            held_out, held_out_control = second[kind].mean(-1)
            found.append(
                BehaviourScore(
                    name=f"{rule.name} (random tokens)",
                    description=f"{rule.description}, in repeated random tokens",
                    source=rule.source,
                    control_name="other random tokens at the same places",
                    score=score,
                    control=control,
                    low=low,
                    high=high,
                    p=p,
                    n=n,
                    unit="sequence",
                    held_out=held_out,
                    held_out_control=held_out_control,
                    held_out_n=second.shape[-1],
                    auc=np.full_like(score, np.nan),
                    rule=rule,
                    corpus="segments",
                )
            )
        return found


def _sequences(model: AttentionModel, seed: int) -> list[Pair]:
    """Return pairs of a repeated and an unrepeated sequence of ids."""
    start, vocabulary = start_and_vocabulary(model)
    limit = model.length_limit.tokens
    room = _LENGTH if limit is None else (limit - len(start)) // 2
    length = min(_LENGTH, room, len(vocabulary) // 2)
    if length < _SHORTEST:
        raise NotApplicableError(
            f"repeated random tokens need {_SHORTEST} tokens twice, and the model has room for "
            f"{length}"
        )
    draw = np.random.default_rng(seed)
    pairs = []
    for _ in range(SEQUENCES):
        ids = draw.choice(vocabulary, 2 * length, replace=False).tolist()
        pairs.append(([*start, *ids[:length], *ids[:length]], [*start, *ids]))
    return pairs


def _pair_scores(model: AttentionModel, batch: Sequence[Pair]) -> NDArray[np.float64]:
    """Return score and control of induction and duplicate tokens, [2, 2, L, H, 1]."""
    ((repeated, other),) = batch
    results = [
        sequence_result(model, repeated),
        sequence_result(model, other, repeated=repeated),
    ]
    kinds = [[getattr(found, kind) for found in results] for kind in ("induction", "duplicate")]
    return np.array(kinds)[..., None]
