"""Induction and duplicate-token heads on repeated random tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.behaviors.behavior import LinkBehavior, Need
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.paired_inputs import InputPair, PairedInputs, PairedScore
from attnwidget.behaviors.repetitions import DuplicateToken, InductionInText
from attnwidget.behaviors.study_behavior import NotApplicableError
from attnwidget.kernels.induction import induction_targets, mass_on_targets
from attnwidget.metrics.repeated_tokens import repeated_and_other

#: Number of sequences. Half of them score heads, and the other half checks the result.
SEQUENCES = 16
_LENGTH = 50


def _in_random_tokens(rule: LinkBehavior) -> PairedScore:
    return PairedScore(
        name=f"{rule.name} (random tokens)",
        description=f"{rule.description}, in repeated random tokens",
        source=rule.source,
        rule=rule,
    )


class RepeatedRandomTokens(PairedInputs):
    """Attention to earlier copies, and to the tokens after them, in repeated random tokens.

    A sequence repeats its random tokens once. In the control sequence, other random tokens replace
    the second copy, and attention is measured at the same positions. The numbers are the scores
    "induction" and "duplicate token" of `induction_scores`, with other sequences and this control.
    """

    name = "repeated random tokens"
    description = "attends to earlier copies of random tokens, or to the tokens after them"
    source = "Olsson et al. 2022; Wang et al. 2023"
    needs: frozenset[Need] = frozenset({"causal"})
    family = "same word"
    control_name = "other random tokens at the same places"
    unit = "sequence"
    behaviors = (
        _in_random_tokens(InductionInText()),
        _in_random_tokens(DuplicateToken()),
    )

    def pairs(self, evidence: Evidence) -> Sequence[InputPair]:
        try:
            pairs = repeated_and_other(evidence.model, SEQUENCES, _LENGTH, evidence.seed)
        except ValueError as error:
            raise NotApplicableError(str(error)) from error
        return [InputPair(repeated, other, len(repeated) % 2) for repeated, other in pairs]

    def numbers(self, weights: NDArray[np.float32], pair: InputPair) -> NDArray[np.float32]:
        ids = torch.tensor([pair.ids], dtype=torch.long, device="cpu")
        targets = induction_targets(ids, torch.ones_like(ids, dtype=torch.bool))
        maps = torch.from_numpy(weights)
        masses = [mass_on_targets(maps, kind) for kind in (targets.induction, targets.duplicate)]
        numbers: NDArray[np.float32] = torch.stack(masses).numpy()
        return numbers


BEHAVIORS = (RepeatedRandomTokens(),)
