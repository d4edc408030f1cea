"""Decomposition of attention score differences and of their variance."""

from __future__ import annotations

import torch
from torch import Tensor


def capped(scores: Tensor, softcap: float | None) -> Tensor:
    """Bound scores by softcap * tanh(scores / softcap).

    Args:
        scores: Attention scores.
        softcap: Bound; None = leave the scores unchanged.

    Example:
        >>> import torch
        >>> capped(torch.tensor([0.0, 100.0]), 2.0)
        tensor([0., 2.])
    """
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def source_products(query_parts: Tensor, key_parts: Tensor, scaling: float) -> Tensor:
    """Return the score of each pair of parts, [Wq, Wk].

    The sum over all pairs is the score of the whole query and key.

    Args:
        query_parts: Parts that sum to a query, [Wq, D].
        key_parts: Parts that sum to a key, or to the difference of two keys, [Wk, D].
        scaling: Factor of the scores.

    Example:
        >>> import torch
        >>> source_products(torch.eye(2), torch.tensor([[1.0, 2.0]]), 0.5)
        tensor([[0.5000],
                [1.0000]])
    """
    return scaling * query_parts @ key_parts.T


def centered_rows(values: Tensor, visible: Tensor | None) -> Tensor:
    """Subtract from each row its mean over visible cells; hidden cells are 0.

    Args:
        values: Values [..., Q, K].
        visible: Mask of visible cells, bool, broadcastable to `values`; None = all cells.

    Example:
        >>> import torch
        >>> centered_rows(torch.tensor([[1.0, 3.0, 9.0]]), torch.tensor([[True, True, False]]))
        tensor([[-1.,  1.,  0.]])
    """
    if visible is None:
        return values - values.mean(-1, keepdim=True)
    values = torch.where(visible, values, 0)
    counts = visible.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(visible, values - values.sum(-1, keepdim=True) / counts, 0)


def variance_shares(parts: Tensor, scores: Tensor, visible: Tensor | None) -> Tensor:
    """Return the share of each part in the variance of row-centered scores.

    The share of a part is its covariance with the scores, divided by their variance. If the parts
    sum to the scores, the shares sum to 1. A part that lowers the variance has a negative share.

    Args:
        parts: Parts of the scores, [P, ..., Q, K].
        scores: Scores [..., Q, K].
        visible: Mask of the cells to count, bool, broadcastable to [Q, K]; None = all cells.

    Returns:
        Shares [P, ...]; NaN if all scores of each row are equal.

    Example:
        >>> import torch
        >>> parts = torch.tensor([[[0.0, 3.0]], [[0.0, 1.0]]])
        >>> variance_shares(parts, parts.sum(0), None)
        tensor([0.7500, 0.2500])
    """
    centered_scores = centered_rows(scores, visible)
    covariances = (centered_rows(parts, visible) * centered_scores).sum((-1, -2))
    return covariances / centered_scores.square().sum((-1, -2))
