"""Heads that attend to the rarest token of a text."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from attnwidget.behaviors.behavior import LinkBehavior
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.token_counts import token_counts
from attnwidget.corpus.accumulator import Batch


class RareWords(LinkBehavior):
    """Attention to the least frequent tokens of a text, counted over all texts of the atlas.

    Voita et al. find a head in each model that points to the least frequent tokens of a sentence.

    Args:
        counts: Number of occurrences per vocabulary entry; `prepare` sets it.
        share: Share of the tokens of a text that count as its rarest.
    """

    name = "rare words"
    description = "attends to the rarest tokens of the text"
    source = "Voita et al. 2019, 5.2.3"
    control_name = "other tokens at the same offsets"

    def __init__(self, counts: Mapping[str, int] | None = None, *, share: float = 0.05) -> None:
        self._counts = counts or {}
        self._share = share

    def prepare(self, evidence: Evidence) -> RareWords:
        return RareWords(token_counts(evidence.segments), share=self._share)

    def likely_links(self, name: str, batch: Batch) -> Tensor | None:
        return super().likely_links(name, batch) if self._counts else None

    def links(self, batch: Batch) -> Tensor:
        rare = torch.zeros(batch.real.shape, dtype=torch.bool, device="cpu")
        for item, axis in enumerate(batch.tokens):
            positions = [i for i, kind in enumerate(axis.special) if kind in ("", "first")]
            # If tokens are equally frequent, the first counts as the rarest.
            positions.sort(key=lambda i: (self._counts.get(axis.raw[i], 0), i))
            rare[item, positions[: max(1, round(self._share * len(positions)))]] = True
        rare = rare.to(batch.real.device)
        return rare[:, None].expand(-1, rare.shape[1], -1)


BEHAVIORS = (RareWords(),)
