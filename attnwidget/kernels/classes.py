"""Attention to classes of tokens, such as separators and full stops."""

from __future__ import annotations

from torch import Tensor


def class_mass(weights: Tensor, row_weights: Tensor, members: Tensor) -> Tensor:
    """Attention to all tokens of a class together, on average over groups of queries.

    sum_i r_i sum_{j in class} a[i, j] (Clark et al. 2019, section 3.2): the mass is summed over the
    class, so it grows with the number of its tokens; 0 where there is none.

    `weights` [B, H, n, n], or some of its rows; `row_weights` [B, R, n] of the same queries, 0 at
    padding, one row per group of queries;
    `members` [B, C, n], 1 where a key is in the class. Returns [B, H, R, C].

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
