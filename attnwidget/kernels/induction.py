"""Attention from repeated tokens: induction, duplicate-token and previous-token heads."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Targets(NamedTuple):
    """Keys to which each kind of head would attend, for each query; bool [B, n, n].

    Attributes:
        induction: Tokens that follow an earlier copy of the query's token.
        duplicate: Earlier copies of the query's token.
        previous: Token directly before the query.
    """

    induction: Tensor
    duplicate: Tensor
    previous: Tensor


def induction_targets(ids: Tensor, real: Tensor | None = None) -> Targets:
    """Return the targets of induction, duplicate-token and previous-token heads.

    As in Olsson et al. 2022, an induction head attends from a token to tokens that follow an
    earlier copy of it. A key is always before its query.

    Args:
        ids: Token ids, int64 [B, n].
        real: Mask of real tokens, bool [B, n]; padding is never a target and has no target. None =
            no padding.

    Returns:
        Targets, bool [B, n, n]; rows are queries.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.induction import induction_targets
        >>> targets = induction_targets(torch.tensor([[7, 8, 9, 7, 8]]))
        >>> [mask[0, 4].nonzero().flatten().tolist() for mask in targets]
        [[2], [1], [3]]
    """
    n = ids.shape[-1]
    before = torch.ones(n, n, dtype=torch.bool, device=ids.device).tril(-1).expand(len(ids), n, n)
    if real is not None:
        before = before & real[:, :, None] & real[:, None, :]
    same = ids[:, :, None] == ids[:, None, :]
    after_same = same.roll(1, dims=-1)
    # The first token follows no other token, but `roll` moves the last column to it.
    after_same[..., 0] = False
    return Targets(after_same & before, same & before, before.triu(-1))


def mass_on_targets(weights: Tensor, targets: Tensor) -> Tensor:
    """Return the total attention to a query's targets, averaged over queries with targets.

    Args:
        weights: Attention weights [B, H, n, n].
        targets: Mask of targets, bool [B, n, n].

    Returns:
        Mean attention [B, H]; NaN if no query of an input has a target.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.induction import induction_targets, mass_on_targets
        >>> targets = induction_targets(torch.tensor([[7, 8, 9, 7, 8]]))
        >>> mass_on_targets(torch.full((1, 1, 5, 5), 0.2), targets.induction)
        tensor([[0.2000]])
    """
    mass = torch.einsum("bhij,bij->bh", weights, targets.to(weights.dtype))
    return mass / targets.any(-1).sum(-1)[:, None]


def even_spread(targets: Tensor) -> Tensor:
    """Return `mass_on_targets` of a head with equal attention to all tokens up to the query, [B].

    Args:
        targets: Mask of targets, bool [B, n, n].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.induction import even_spread, induction_targets
        >>> even_spread(induction_targets(torch.tensor([[7, 8, 7]])).duplicate)
        tensor([0.3333])
    """
    n = targets.shape[-1]
    visible = torch.ones(n, n, dtype=torch.float32, device=targets.device).tril()
    return mass_on_targets((visible / visible.sum(-1, keepdim=True))[None, None], targets)[:, 0]
