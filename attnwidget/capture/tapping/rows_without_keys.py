"""Queries without visible keys, which implementations of attention treat differently."""

from __future__ import annotations

import torch
from torch import Tensor


def rows_without_keys(mask: Tensor) -> Tensor | None:
    """Return the queries whose keys are all hidden by False or by -inf, [..., Q] bool.

    Return None if every query may see a key. Keys that are hidden by the lowest finite number do
    not count, because every implementation then attends to all keys equally.

    Args:
        mask: Mask [..., Q, K], bool with True = visible, or additive.

    Example:
        >>> import torch
        >>> rows_without_keys(torch.tensor([[0.0, -torch.inf], [-torch.inf, -torch.inf]]))
        tensor([False,  True])
    """
    is_hidden = ~mask if mask.dtype == torch.bool else torch.isneginf(mask)
    rows = is_hidden.all(-1)
    return rows if bool(rows.any()) else None


def weight_without_keys(mask: Tensor, implementation: str) -> float | None:
    """Return the weight of every key for queries without visible keys in an implementation.

    torch's fused functions give 0. The eager functions of transformers give NaN after -inf. The
    result is None for a bool mask, which eager functions do not accept.
    """
    if implementation != "eager":
        return 0.0
    return None if mask.dtype == torch.bool else float("nan")
