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
    """Return the softmax of scaled query-key products, like the model's eager attention.

    Args:
        query: Queries after position encoding, [..., H, Q, D].
        key: Keys after position encoding, [..., Hkv, K, D]. H is a multiple of Hkv, and query head
            h reads key head h // (H / Hkv) (grouped-query attention).
        scaling: Factor of the scores.
        mask: Numbers to add to the scores, broadcastable to [..., H, Q, K]; None = no mask.
        softcap: Bound of the scores, softcap * tanh(scores / softcap), applied before bias and
            mask; None = no bound.
        position_bias: Numbers to add to the scores, broadcastable to [..., H, Q, K]; None = no
            bias.
        sinks: Additional logit per row whose probability is dropped, so that rows sum to less than
            1, [H]; None = no sinks.

    Returns:
        Weights, float32 [..., H, Q, K].

    Raises:
        ValueError: H is not a multiple of Hkv.

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
    """Return the scores before the softmax, [..., H, Q, K], in the dtype of the queries.

    The arguments are the same as in `attention_weights`.
    """
    heads = query.shape[-3]
    key_heads = key.shape[-3]
    if heads % key_heads:
        raise ValueError(f"{heads} query heads cannot share {key_heads} key heads evenly")
    key = key.repeat_interleave(heads // key_heads, dim=-3) if heads != key_heads else key
    # Scale in place, because allocating memory of this size takes as long as the products.
    scores = torch.matmul(query, key.transpose(-1, -2)).mul_(scaling)  # [..., H, Q, K]
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if position_bias is not None:
        scores = scores + position_bias
    if mask is not None:
        scores = scores + mask
    return scores
