"""Heads that attend broadly."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from attnwidget.behaviors.behavior import MapBehavior, Reads
from attnwidget.behaviors.link_rule import visible_keys
from attnwidget.corpus.accumulator import LayerBatch
from attnwidget.kernels.entropy import entropy


class Broad(MapBehavior):
    """Attention entropy of a query as a share of the largest possible entropy.

    The control is the median head of the layer, because even attention has more entropy in longer
    texts. Heads with random weights also attend broadly, so this behavior does not name heads.
    """

    name = "broad"
    description = "attends broadly"
    source = "Clark et al. 2019, 3.3"
    names_heads = False
    reads: ClassVar[Reads] = "both"
    control_name = "the median head of the layer"

    def numbers(self, layer: LayerBatch, *, causal: bool) -> tuple[Tensor, Tensor]:
        batch = layer.batch
        n_keys = visible_keys(batch, causal=causal)
        counted = batch.real & (n_keys > 1)
        shares = entropy(layer.weights, batch.lengths)
        shares = shares / n_keys.float().log().clamp_min(1e-6)[:, None]
        rows = counted.float() / counted.sum(-1, keepdim=True).clamp_min(1)
        scores = torch.linalg.vecdot(shares.clamp(0, 1), rows[:, None])  # [B, H]
        return scores, scores.median(-1, keepdim=True).values.expand_as(scores)


BEHAVIORS = (Broad(),)
