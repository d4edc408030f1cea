"""Sharpening of attention maps, and the entropy of sharpened maps."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def sharpened(weights: Tensor, exponents: Tensor) -> Tensor:
    """Return maps whose scores are multiplied by a factor before the softmax.

    The softmax of t s is the t-th power of the softmax of s, normalized to the sum 1. Queries and
    keys are therefore not needed, and hidden keys stay hidden.

    Args:
        weights: Attention weights [..., Q, K].
        exponents: Factors above 0, broadcastable to [...]; 1 changes nothing.

    Returns:
        Sharpened weights [..., Q, K]; rows without keys stay 0, and NaN stays NaN.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.sharpness import sharpened
        >>> sharpened(torch.tensor([[0.25, 0.75, 0.0]]), torch.tensor(2.0))
        tensor([[0.1000, 0.9000, 0.0000]])
    """
    return _powers(_parts_of_largest(weights), exponents)


def _parts_of_largest(weights: Tensor) -> Tensor:
    """Return weights relative to the largest weight of their row, so powers do not underflow."""
    return weights / weights.amax(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)


def _powers(parts: Tensor, exponents: Tensor) -> Tensor:
    """Return powers of weights, normalized to the sum 1."""
    powers = parts ** exponents[..., None, None].to(parts)
    total = powers.sum(-1, keepdim=True)
    return torch.where(total == 0, 0, powers / total)


def entropies_at(weights: Tensor, rows: Tensor, exponents: Sequence[float]) -> Tensor:
    """Return the entropy of maps that are sharpened with each of several exponents, in nats.

    Args:
        weights: Attention weights [B, H, Q, K].
        rows: Share of each query in the mean, [B, Q]; 0 to ignore a query.
        exponents: E exponents.

    Returns:
        Mean entropy over the queries, [B, H, E].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.sharpness import entropies_at
        >>> weights = torch.tensor([0.25, 0.75]).expand(1, 1, 1, 2)
        >>> entropies_at(weights, torch.ones(1, 1), [1, 1000]).round(decimals=3)
        tensor([[[0.5620, 0.0000]]])
    """
    means = []
    parts = _parts_of_largest(weights)
    shares = rows[:, None].to(weights)
    for exponent in exponents:
        powers = _powers(parts, parts.new_tensor(exponent))
        entropy = -torch.xlogy(powers, powers).sum(-1)
        means.append(torch.linalg.vecdot(entropy, shares))
    return torch.stack(means, -1)
