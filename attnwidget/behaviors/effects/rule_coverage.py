"""Coverage of a rule: share of a head's attention on the links that the rule predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from attnwidget.behaviors.effects.rule_links import ordinary_tokens
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.accumulator import Accumulator, LayerBatch, Subject


@dataclass(frozen=True)
class RuleCoverage:
    """Share of a head's attention that a rule predicts.

    Queries are ordinary tokens. Attention to special tokens, and to the first token of a causal
    model, does not count unless the rule predicts it.

    Attributes:
        coverage: Share of the attention of all queries on predicted links.
        where_applied: Share of the attention of queries with a predicted link; NaN without any.
        applied: Share of the queries with a predicted link.
        n_queries: Number of queries.
    """

    coverage: float
    where_applied: float
    applied: float
    n_queries: int


class RuleCoverages(Accumulator[Any]):
    """Coverage of the rules of some heads.

    Args:
        rules: Rule of each head.
        causal: Whether each token sees only itself and earlier tokens.
    """

    name = "rule coverage"

    def __init__(self, rules: Mapping[Head, LinkRule], *, causal: bool) -> None:
        self._rules = rules
        self._heads = sorted(rules)
        self._causal = causal

    def start(self, subject: Subject) -> None:
        super().start(subject)
        # Attention on links, counted attention, counted attention of queries with a link; numbers
        # of queries with a link and of queries.
        self.sums = {"numbers": np.zeros((len(self._heads), 5))}

    def update(self, layer: LayerBatch) -> None:
        batch = layer.batch
        number = self.layers.numbers[layer.layer]
        queries = ordinary_tokens(batch)
        counted = queries.clone()
        if self._causal:
            counted[:, 0] = False
        for row, head in enumerate(self._heads):
            if head.layer != number:
                continue
            links = self._rules[head].visible_links(batch, causal=self._causal)
            weights = layer.weights[:, head.head].double() * queries[:, :, None]
            counts = torch.where(links | counted[:, None], weights, 0.0).sum(-1)  # [B, n]
            has_link = links.any(-1) & queries
            values = (
                (weights * links).sum(),
                counts.sum(),
                (counts * has_link).sum(),
                has_link.sum(),
                queries.sum(),
            )
            self.sums["numbers"][row] += [float(value) for value in values]

    def compute(self) -> dict[Head, RuleCoverage]:
        found = {}
        for head, numbers in zip(self._heads, self.sums["numbers"], strict=True):
            on_links, counted, at_rule, n_with, n_queries = numbers.tolist()
            found[head] = RuleCoverage(
                coverage=_ratio(on_links, counted),
                where_applied=_ratio(on_links, at_rule),
                applied=_ratio(n_with, n_queries),
                n_queries=int(n_queries),
            )
        return found


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")
