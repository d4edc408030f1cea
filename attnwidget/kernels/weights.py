"""Attention weights from queries and keys."""

from __future__ import annotations

import torch
from torch import Tensor


def attention_weights(
    query: Tensor,
    key: Tensor,
    *,
    scaling: float,
    mask: Tensor | None = None,
    softcap: float | None = None,
    position_bias: Tensor | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Softmax of scaled query-key products, as the model's own eager attention computes it.

    `query` [..., H, Q, D] and `key` [..., Hkv, K, D], both after position encoding; H is a multiple
    of Hkv and query head h reads key head h // (H / Hkv) (grouped-query attention). `mask` and
    `position_bias` are added to the scores and broadcast to [..., H, Q, K]; `softcap` bounds the
    scores by softcap * tanh(scores / softcap) before that; `sinks` [H] is an additional logit per
    row with a dropped probability, so that rows sum to less than 1.

    Returns [..., H, Q, K] float32. Raises ValueError where H is no multiple of Hkv.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.weights import attention_weights
        >>> attention_weights(torch.zeros(1, 2, 4), torch.zeros(1, 5, 4), scaling=0.5)[0, 0]
        tensor([0.2000, 0.2000, 0.2000, 0.2000, 0.2000])
    """
    scores = attention_scores(
        query, key, scaling=scaling, mask=mask, softcap=softcap, position_bias=position_bias
    )
    if sinks is None:
        return torch.softmax(scores, dim=-1, dtype=torch.float32)
    sink = sinks.to(scores.dtype).reshape(-1, 1, 1).expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1, dtype=torch.float32)[..., :-1]


def attention_scores(
    query: Tensor,
    key: Tensor,
    *,
    scaling: float,
    mask: Tensor | None = None,
    softcap: float | None = None,
    position_bias: Tensor | None = None,
) -> Tensor:
    """What `attention_weights` takes the softmax of, [..., H, Q, K] in the dtype of the queries."""
    heads = query.shape[-3]
    key_heads = key.shape[-3]
    if heads % key_heads:
        raise ValueError(f"{heads} query heads cannot share {key_heads} key heads evenly")
    key = key.repeat_interleave(heads // key_heads, dim=-3) if heads != key_heads else key
    # In place, because new memory of this size costs as much as the products.
    scores = torch.matmul(query, key.transpose(-1, -2)).mul_(scaling)  # [..., H, Q, K]
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if position_bias is not None:
        scores = scores + position_bias
    if mask is not None:
        scores = scores + mask
    return scores
