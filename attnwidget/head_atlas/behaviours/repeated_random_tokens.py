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
from attnwidget.head_atlas.behaviours.random_heads import RandomHeads
from attnwidget.head_atlas.behaviours.repetitions import DuplicateToken, InductionInText
from attnwidget.probes.untrained_model import untrained_like
from attnwidget.studies.metrics.induction import sequence_result
from attnwidget.studies.metrics.repeated_tokens import Pair, repeated_and_other
from attnwidget.studies.streaming.checkpoint import digest_of
from attnwidget.studies.streaming.input_numbers import ReadInputs, input_numbers

#: Number of sequences: half of them score heads, and half check the result.
SEQUENCES = 16
_LENGTH = 50


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
        numbers = _read(evidence, model, pairs, "repeated")
        random = []
        for number in range(evidence.random_models):
            untrained = untrained_like(model, seed=evidence.seed + number)
            read = _read(evidence, untrained, pairs, f"repeated-random-{number}")
            random.append((read[:, 0] - read[:, 1]).mean(-1))  # [kind, L, H]
        first, second = numbers[..., ::2], numbers[..., 1::2]  # [kind, 2, L, H, sequences]
        found = []
        for kind, rule in enumerate((InductionInText(), DuplicateToken())):
            score, control = first[kind].mean(-1)
            differences = first[kind, 0] - first[kind, 1]
            n = differences.shape[-1]
            low, high, p = t_interval(differences.mean(-1), (differences**2).mean(-1), n)
            heads = RandomHeads.of([excess[kind] for excess in random])
            if heads is not None:
                p = np.maximum(p, heads.p_values(score - control))
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
                    random=float("nan") if heads is None else heads.largest,
                )
            )
        return found


def _read(
    evidence: Evidence, model: AttentionModel, pairs: Sequence[Pair], study: str
) -> NDArray[np.float64]:
    """Return score and control of each kind for all sequences, [kind, 2, L, H, sequences]."""
    batches = [[pair] for pair in pairs]
    numbers, complete = input_numbers(
        "repeated random tokens",
        {"inputs": digest_of(pairs)},
        model,
        ReadInputs(model, _pair_scores).results(batches, evidence.run.executor),
        batches,
        checkpoint=evidence.run.checkpoint(study),
        progress=evidence.run.progress,
        unit="sequence",
    )
    if not complete:
        raise KeyboardInterrupt
    return numbers


def _sequences(model: AttentionModel, seed: int) -> list[Pair]:
    """Return pairs of a repeated and an unrepeated sequence of ids."""
    try:
        return repeated_and_other(model, SEQUENCES, _LENGTH, seed)
    except ValueError as error:
        raise NotApplicableError(str(error)) from error


def _pair_scores(model: AttentionModel, batch: Sequence[Pair]) -> NDArray[np.float64]:
    """Return score and control of induction and duplicate tokens, [2, 2, L, H, 1]."""
    ((repeated, other),) = batch
    results = [
        sequence_result(model, repeated),
        sequence_result(model, other, repeated=repeated),
    ]
    kinds = [[getattr(found, kind) for found in results] for kind in ("induction", "duplicate")]
    return np.array(kinds)[..., None]
