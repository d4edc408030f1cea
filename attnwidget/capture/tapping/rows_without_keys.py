"""Queries for which a mask hides every key: implementations of attention treat them differently."""

from __future__ import annotations

import torch
from torch import Tensor


def rows_without_keys(mask: Tensor) -> Tensor | None:
    """Return the queries whose keys are all hidden by False or by -inf, [..., Q] bool.

    Returns None if each query may see a key. Keys that are hidden by the lowest finite number do
    not count, because every implementation then attends to all keys equally.

    Args:
        mask: Bool with True = visible, or additive, [..., Q, K].

    Example:
        >>> import torch
        >>> rows_without_keys(torch.tensor([[0.0, -torch.inf], [-torch.inf, -torch.inf]]))
        tensor([False,  True])
    """
    hidden = ~mask if mask.dtype == torch.bool else torch.isneginf(mask)
    rows = hidden.all(-1)
    return rows if bool(rows.any()) else None


def weight_without_keys(mask: Tensor, implementation: str) -> float | None:
    """Return the weight of every key for these queries in an implementation.

    torch's fused functions give 0. The eager functions of transformers give NaN after -inf; None
    marks a bool mask, which eager functions do not accept.
    """
    if implementation != "eager":
        return 0.0
    return None if mask.dtype == torch.bool else float("nan")
