"""Links that a rule predicts in texts, and wrong links of the same kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.corpus.accumulator import Batch
from attnwidget.corpus.batches import BatchMaker
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@dataclass(frozen=True, eq=False)
class RuleLinks:
    """Links of a rule in one text of n tokens.

    Attributes:
        right: Links that the rule predicts, bool [n, n]; rows are queries.
        wrong: For each query, as many links to other ordinary tokens, drawn at random.
        ordinary: Whether a token is no special token, bool [n].
    """

    right: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    ordinary: NDArray[np.bool_]


def links_of_texts(
    model: AttentionModel, rule: LinkRule, texts: Sequence[Segment], *, causal: bool, seed: int
) -> list[RuleLinks]:
    """Return the links of a rule in each text.

    Args:
        model: Model with a tokenizer.
        rule: Rule that predicts links.
        texts: Texts, as the rule reads them.
        causal: Whether each token sees only itself and earlier tokens.
        seed: Seed of the wrong links.
    """
    maker = BatchMaker(model, model.hf_model.base_model, None, {})
    texts_links = []
    for number, text in enumerate(texts):
        batch = maker([text])
        right = rule.visible_links(batch, causal=causal)[0].cpu().numpy()
        ordinary = ordinary_tokens(batch)[0].cpu().numpy()
        wrong = _wrong_links(right, ordinary, causal, np.random.default_rng([seed, number]))
        texts_links.append(RuleLinks(right, wrong, ordinary))
    return texts_links


def ordinary_tokens(batch: Batch) -> Tensor:
    """Return whether a token is neither padding nor a special token, bool [B, n]."""
    special = torch.zeros_like(batch.real)
    for item, axis in enumerate(batch.tokens):
        special[item, : len(axis)] = torch.tensor(
            [bool(kind) for kind in axis.special], dtype=torch.bool, device=special.device
        )
    return batch.real & ~special


def _wrong_links(
    right: NDArray[np.bool_],
    ordinary: NDArray[np.bool_],
    causal: bool,
    random: np.random.Generator,
) -> NDArray[np.bool_]:
    """Return as many links per query as in `right`, to other visible ordinary tokens."""
    wrong = np.zeros_like(right)
    for query in np.flatnonzero(right.any(1)):
        others = ordinary & ~right[query]
        if causal:
            others[query + 1 :] = False
        keys = np.flatnonzero(others)
        count = min(len(keys), int(right[query].sum()))
        wrong[query, random.choice(keys, count, replace=False)] = True
    return wrong


def weights_of_links(links: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return equal weights over the links of each query, [n, n]; 0 for a query without links."""
    counts = links.sum(-1, keepdims=True)
    weights: NDArray[np.float64] = links / np.maximum(counts, 1)
    return weights
