"""Heads that stay within their sentence of a pair."""

from __future__ import annotations

import torch
from torch import Tensor

from attnwidget.behaviors.behavior import LinkBehavior, Need
from attnwidget.corpus.accumulator import Batch


class WithinSentence(LinkBehavior):
    """Attention to tokens of the same text of a pair, without special tokens."""

    name = "within sentence"
    description = "attends to tokens of the same text of a pair"
    source = "Kovaleva et al. 2019, 4.1 (block pattern)"
    needs: frozenset[Need] = frozenset({"pairs"})
    family = "neighbor"

    def links(self, batch: Batch) -> Tensor:
        n = batch.real.shape[1]
        sentences = torch.full((len(batch.real), n), -1, dtype=torch.long, device=batch.real.device)
        for item, axis in enumerate(batch.tokens):
            if len(set(axis.segments)) > 1:
                sentences[item, : len(axis)] = torch.tensor(
                    axis.segments, dtype=torch.long, device="cpu"
                )
        special = batch.classes["[CLS]"] | batch.classes["[SEP]"]
        sentences = sentences.masked_fill(special, -1)
        same = sentences[:, :, None] == sentences[:, None]
        return same & (sentences >= 0)[:, :, None]


BEHAVIORS = (WithinSentence(),)
