"""Gradients of a loss with respect to attention weights."""

from __future__ import annotations

import torch
from torch import Tensor


def class_importance(gradients: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of |dL/da| over some token pairs of each document.

    The mean is over absolute values, as in figure 3 of Clark et al. 2019.

    Args:
        gradients: Gradients of the loss with respect to the weights after the softmax,
            [B, H, Q, K].
        pairs: Mask of the pairs whose key is in the class, bool, broadcastable to [B, 1, Q, K].

    Returns:
        Mean of |dL/da|, float64 [B, H], 0 for a document without such a pair; and bool [B], whether
        each document has such a pair.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.gradients import class_importance
        >>> gradients = torch.tensor([[[[1.0, -3.0], [-2.0, 5.0]]]])
        >>> class_importance(gradients, torch.tensor([True, False]))
        (tensor([[1.5000]], dtype=torch.float64), tensor([True]))
    """
    in_class = pairs.expand(gradients.shape[0], 1, *gradients.shape[-2:])
    sums = torch.where(in_class, gradients.abs(), 0).sum((-2, -1), dtype=torch.float64)
    counts = in_class.sum((-2, -1))  # [B, 1]
    return sums / counts.clamp_min(1), counts[:, 0] > 0
