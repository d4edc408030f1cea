"""Attention to token classes, such as separators and full stops."""

from __future__ import annotations

from torch import Tensor


def class_mass(weights: Tensor, row_weights: Tensor, members: Tensor) -> Tensor:
    """Return the total attention to all tokens of a class, averaged over query groups.

    The result is sum_i r_i sum_{j in class} a[i, j] (Clark et al. 2019, section 3.2). The sum over
    the class grows with the number of its tokens, and is 0 for a class without tokens.

    Args:
        weights: Attention weights [B, H, n, n], or only some of their rows.
        row_weights: Weight of each query in each of R query groups, [B, R, n]; 0 at padding.
        members: Membership of each key in each of C classes, 0 or 1, [B, C, n].

    Returns:
        Attention of each query group to each class, [B, H, R, C].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.classes import class_mass
        >>> weights = torch.tensor([[[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0]]]])
        >>> last_two = torch.tensor([[[0.0, 1.0, 1.0]]])
        >>> class_mass(weights, torch.full((1, 1, 3), 1 / 3), last_two)
        tensor([[[[0.8000]]]])
    """
    received = row_weights[:, None] @ weights  # [B, H, R, n]
    return received @ members[:, None].transpose(-1, -2)
