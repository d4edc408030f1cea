"""Heads that attend to earlier copies of a token, or to the token after, in natural text."""

from __future__ import annotations

import torch
from torch import Tensor

from attnwidget.behaviors.behavior import LinkBehavior, Need
from attnwidget.corpus.accumulator import Batch
from attnwidget.kernels.induction import induction_targets

# At offsets 1 and 2, a positional head would count as a repetition head.
_NEAREST = 3


class DuplicateToken(LinkBehavior):
    """Attention to other copies of the token, at least three tokens away."""

    name = "duplicate token"
    description = "attends to copies of the same token"
    source = "Wang et al. 2023"
    family = "same word"

    def links(self, batch: Batch) -> Tensor:
        duplicate = induction_targets(batch.inputs["input_ids"], batch.real).duplicate
        return _apart(batch, duplicate | duplicate.mT)


class InductionInText(LinkBehavior):
    """Attention to the token after an earlier copy, at least three tokens back."""

    name = "induction"
    description = "attends to the token after an earlier copy of the token"
    source = "Olsson et al. 2022"
    needs: frozenset[Need] = frozenset({"causal"})

    def links(self, batch: Batch) -> Tensor:
        return _apart(batch, induction_targets(batch.inputs["input_ids"], batch.real).induction)


def _apart(batch: Batch, links: Tensor) -> Tensor:
    """Return the links between ordinary tokens that are at least `_NEAREST` tokens apart."""
    positions = torch.arange(batch.real.shape[1], dtype=torch.long, device=batch.real.device)
    is_far = (positions[None, :] - positions[:, None]).abs() >= _NEAREST
    ordinary = ~(batch.classes["[CLS]"] | batch.classes["[SEP]"])
    return links & is_far & ordinary[:, :, None] & ordinary[:, None]


BEHAVIORS = (DuplicateToken(), InductionInText())
