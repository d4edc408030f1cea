"""Whether heads make the links that a rule predicts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class RuleOutcomes:
    """Outcome of each query with a predicted link, for some heads.

    Attributes:
        right: Whether the query attends most to a predicted key, bool [B, H, n].
        wrong: Whether the query attends most to another key, bool [B, H, n].
        missed: Whether the predicted keys together get less weight than under even attention,
            bool [B, H, n].
        top_keys: Most attended key of each query, int64 [B, H, n].
        predicted_keys: First predicted key of each query, int64 [B, H, n]; 0 without a prediction.
    """

    right: Tensor
    wrong: Tensor
    missed: Tensor
    top_keys: Tensor
    predicted_keys: Tensor


def rule_outcomes(
    weights: Tensor, links: Tensor, resting: Tensor, seen_keys: Tensor
) -> RuleOutcomes:
    """Compare the attention of heads with the links of a rule.

    Attention to resting keys does not count for the most attended key, unless the rule predicts
    these keys.

    Args:
        weights: Attention weights, [B, H, n, n].
        links: Predicted links, bool [B, n, n]; rows are queries.
        resting: Whether a key is [CLS] or [SEP], bool [B, n].
        seen_keys: Number of keys that each query sees, [B, n]; at least 1.

    Example:
        >>> import torch
        >>> from attnwidget.behaviors.examples.rule_outcomes import rule_outcomes
        >>> weights = torch.tensor([[[[1.0, 0.0], [0.75, 0.25]]]])
        >>> previous = torch.tensor([[[False, False], [True, False]]])
        >>> none = torch.zeros(1, 2, dtype=torch.bool)
        >>> rule_outcomes(weights, previous, none, torch.full((1, 2), 2.0)).right.tolist()
        [[[False, True]]]
    """
    n_keys = links.sum(-1)  # [B, n]
    has_prediction = (n_keys > 0)[:, None]
    mass = torch.einsum("bhij,bij->bhi", weights, links.to(weights.dtype))
    missed = (mass < (n_keys / seen_keys)[:, None]) & has_prediction
    is_counted = links | ~resting[:, None]
    top_keys = weights.where(is_counted[:, None], -1).argmax(-1)
    is_right = links[:, None].expand_as(weights).gather(-1, top_keys[..., None])[..., 0]
    return RuleOutcomes(
        right=is_right & has_prediction,
        wrong=~is_right & has_prediction,
        missed=missed,
        top_keys=top_keys,
        predicted_keys=links.float().argmax(-1)[:, None].expand_as(top_keys),
    )
