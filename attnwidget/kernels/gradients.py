"""Change of a loss with each attention weight."""

from __future__ import annotations

import torch
from torch import Tensor


def class_importance(gradients: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
    """Mean of |dL/da| over some pairs of tokens of each document (Clark et al. 2019, figure 3).

    The magnitude is taken of each entry, then the mean. `gradients` [B, H, Q, K] of the loss with
    respect to the weights after the softmax; `pairs` bool, broadcastable to [B, 1, Q, K]: the
    pairs whose key is in the class. Returns float64 [B, H], 0 for a document without such a pair,
    and bool [B], True for a document with a pair.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.gradients import class_importance
        >>> gradients = torch.tensor([[[[1.0, -3.0], [-2.0, 5.0]]]])
        >>> class_importance(gradients, torch.tensor([True, False]))
        (tensor([[1.5000]], dtype=torch.float64), tensor([True]))
    """
    chosen = pairs.expand(gradients.shape[0], 1, *gradients.shape[-2:])
    sums = torch.where(chosen, gradients.abs(), 0).sum((-2, -1), dtype=torch.float64)
    counts = chosen.sum((-2, -1))  # [B, 1]
    return sums / counts.clamp_min(1), counts[:, 0] > 0
