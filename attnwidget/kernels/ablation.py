"""Ablation: replacement weights for an attention head."""

from __future__ import annotations

import torch
from torch import Tensor


def uniform_weights(weights: Tensor, visible: Tensor | None = None) -> Tensor:
    """Return weights of 1/L on the L visible keys of a query (Kovaleva et al. 2019, section 4.3).

    The output of the attention head becomes the mean of the visible values. A query without visible
    keys (for example padding) gets 1/K on every key, like a softmax of equal scores.

    Args:
        weights: Attention weights [..., Q, K]. The result has the same shape and dtype.
        visible: Mask of visible keys, bool, broadcastable to `weights`; None = all keys.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.ablation import uniform_weights
        >>> uniform_weights(torch.eye(3), torch.ones(3, 3).tril().bool())[1].tolist()
        [0.5, 0.5, 0.0]
    """
    is_visible = _expanded(weights, visible)
    exact = torch.promote_types(weights.dtype, torch.float32)
    return (is_visible.to(exact) / is_visible.sum(-1, keepdim=True)).to(weights.dtype)


def first_key_weights(weights: Tensor, visible: Tensor | None = None) -> Tensor:
    """Return weights of 1 on the first visible key of each query, and 0 on other keys.

    The arguments are the same as in `uniform_weights`.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.ablation import first_key_weights
        >>> first_key_weights(torch.eye(3))[2].tolist()
        [1.0, 0.0, 0.0]
    """
    first = _expanded(weights, visible).byte().argmax(-1, keepdim=True)
    return torch.zeros_like(weights).scatter(-1, first, 1.0)


def _expanded(weights: Tensor, visible: Tensor | None) -> Tensor:
    """Expand `visible` to the shape of `weights`; a query without visible keys sees all keys."""
    if visible is None:
        return torch.ones_like(weights, dtype=torch.bool)
    return (visible | ~visible.any(-1, keepdim=True)).expand(weights.shape)
