"""Parts of differences of attention scores, and of their variance."""

from __future__ import annotations

import torch
from torch import Tensor


def capped(scores: Tensor, softcap: float | None) -> Tensor:
    """Bound scores by softcap * tanh(scores / softcap); With None, scores stay unchanged.

    Example:
        >>> import torch
        >>> capped(torch.tensor([0.0, 100.0]), 2.0)
        tensor([0., 2.])
    """
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def source_products(query_parts: Tensor, key_parts: Tensor, scaling: float) -> Tensor:
    """Return the score of every pair of parts: [Wq, Wk], which sums to the score of the sums.

    Args:
        query_parts: [Wq, D], parts that sum to a query.
        key_parts: [Wk, D], parts that sum to a key, or to the difference of two keys.
        scaling: Factor of the scores.

    Example:
        >>> import torch
        >>> source_products(torch.eye(2), torch.tensor([[1.0, 2.0]]), 0.5)
        tensor([[0.5000],
                [1.0000]])
    """
    return scaling * query_parts @ key_parts.T


def centered_rows(values: Tensor, visible: Tensor | None) -> Tensor:
    """Subtract from each row its mean over the visible cells; hidden cells are 0.

    Args:
        values: [..., Q, K].
        visible: Bool, broadcastable to `values`; None = all cells.

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

    The share of a part is its covariance with the scores, divided by their variance. The shares of
    parts that sum to the scores sum to 1; a part that lowers the variance has a negative share.

    Args:
        parts: [P, ..., Q, K].
        scores: [..., Q, K].
        visible: Bool, broadcastable to [Q, K]: the cells that count; None = all.

    Returns:
        [P, ...]; NaN if all scores of each row are equal.

    Example:
        >>> import torch
        >>> parts = torch.tensor([[[0.0, 3.0]], [[0.0, 1.0]]])
        >>> variance_shares(parts, parts.sum(0), None)
        tensor([0.7500, 0.2500])
    """
    whole = centered_rows(scores, visible)
    covariances = (centered_rows(parts, visible) * whole).sum((-1, -2))
    return covariances / whole.square().sum((-1, -2))
