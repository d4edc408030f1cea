"""Induction and duplicate-token heads on repeated random tokens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.behaviours.behaviour import Need, StudyBehaviour
from attnwidget.behaviours.behaviour_score import BehaviourScore, t_interval
from attnwidget.behaviours.evidence import Evidence
from attnwidget.behaviours.matched_sharpness import exponents_over_ids, read_maps
from attnwidget.behaviours.not_applicable import NotApplicableError
from attnwidget.behaviours.random_heads import RandomHeads
from attnwidget.behaviours.repetitions import DuplicateToken, InductionInText
from attnwidget.behaviours.shuffled_model import shuffled_like
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.input_numbers import ReadInputs, input_numbers
from attnwidget.corpus.resume_file import digest_of
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.induction import induction_targets, mass_on_targets
from attnwidget.metrics.repeated_tokens import Pair, repeated_and_other

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
            shuffled = shuffled_like(model, seed=evidence.seed + number)
            exponents = exponents_over_ids(model, shuffled, [repeated for repeated, _ in pairs])
            study = f"repeated-random-{number}"
            random.append(_read(evidence, shuffled, pairs, study, exponents).mean(-1))
        first, second = numbers[..., ::2], numbers[..., 1::2]  # [kind, 2, L, H, sequences]
        found = []
        for kind, rule in enumerate((InductionInText(), DuplicateToken())):
            score, control = first[kind].mean(-1)
            differences = first[kind, 0] - first[kind, 1]
            n = differences.shape[-1]
            low, high, p = t_interval(differences.mean(-1), (differences**2).mean(-1), n)
            heads = RandomHeads.of([(read[kind, 0], read[kind, 1]) for read in random])
            if heads is not None:
                p = np.maximum(p, heads.p_values(score, control))
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
    evidence: Evidence,
    model: AttentionModel,
    pairs: Sequence[Pair],
    study: str,
    exponents: Float64Array | None = None,
) -> NDArray[np.float64]:
    """Return score and control of each kind for all sequences, [kind, 2, L, H, sequences].

    `exponents` sharpen the maps of random heads, as in `read_maps`.
    """
    batches = [[pair] for pair in pairs]
    numbers, complete = input_numbers(
        "repeated random tokens",
        {"inputs": digest_of(pairs)},
        model,
        ReadInputs(model, partial(_pair_scores, exponents=exponents)).results(
            batches, evidence.run.executor
        ),
        batches,
        resume=evidence.run.resume_file(study),
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


def _pair_scores(
    model: AttentionModel, batch: Sequence[Pair], *, exponents: Float64Array | None
) -> NDArray[np.float64]:
    """Return score and control of induction and duplicate tokens, [2, 2, L, H, 1]."""
    ((repeated, other),) = batch
    ids = torch.tensor([repeated], dtype=torch.long, device="cpu")
    targets = induction_targets(ids, torch.ones_like(ids, dtype=torch.bool))
    maps = [torch.from_numpy(read_maps(model, read, exponents)) for read in (repeated, other)]
    kinds = [
        [mass_on_targets(of_input, target) for of_input in maps]
        for target in (targets.induction, targets.duplicate)
    ]
    return np.array(kinds, np.float64)[..., None]
