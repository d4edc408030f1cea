"""Detection of causal attention maps."""

from __future__ import annotations

from torch import Tensor


def is_causal(weights: Tensor, real: Tensor) -> bool:
    """Return whether no query gives any weight to a later token.

    Args:
        weights: Attention weights [B, H, n, n], or only their first rows.
        real: Mask of the same queries, bool [B, n]; False at padding, whose queries are ignored.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.causal import is_causal
        >>> real = torch.ones(1, 2, dtype=torch.bool)
        >>> is_causal(torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]]), real)
        True
        >>> is_causal(torch.full((1, 1, 2, 2), 0.5), real)
        False
    """
    later = weights.triu(1).amax((1, 3))  # [B, n]
    return not bool((later * real).any())
