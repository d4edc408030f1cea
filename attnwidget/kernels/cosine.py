"""How alike two maps are as wholes: the cosine of the angle between them."""

from __future__ import annotations

import torch
from torch import Tensor

from attnwidget.kernels.cache_blocks import cache_blocks, fitting, scratch


def map_cosines(
    weights: Tensor, others: Tensor, rows: Tensor, apart: Tensor
) -> tuple[Tensor, Tensor]:
    """Cosine between two maps of each head, flattened to vectors (Kovaleva et al. 2019, 4.3).

    Products of a row are summed in float32, rows in float64: right to 1e-6.

    Args:
        weights: float32 [B, H, n, n].
        others: the same of another reading.
        rows: bool [B, n], the queries that count. Every key does.
        apart: bool [B, n], the tokens that the second cosine is without, as queries and as keys.

    Returns:
        Two float64 [B, H], with the tokens `apart` and without them; 0 to 1: exactly 1 where the
        two are equal, 0 where one has no weight at all, NaN where no row counts.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.cosine import map_cosines
        >>> itself, even = torch.eye(4)[None, None], torch.full((1, 1, 4, 4), 0.25)
        >>> every, none = torch.ones(1, 4, dtype=torch.bool), torch.zeros(1, 4, dtype=torch.bool)
        >>> map_cosines(itself, even, every, none)[0]
        tensor([[0.5000]], dtype=torch.float64)
    """
    if weights.shape != others.shape:
        raise ValueError(
            f"maps of one shape are compared, got {list(weights.shape)} and {list(others.shape)}"
        )
    kept = (~apart)[:, None, None].to(weights.dtype)  # [B, 1, 1, n]
    # Both kinds of sums are made: a difference of the two would lose the smaller one.
    whole = weights.new_empty(3, *weights.shape[:3])  # of the two, of the first, of the second
    without, room = torch.empty_like(whole), scratch(weights, 2)
    for block in cache_blocks(weights.shape):
        a, b = weights[block], others[block]
        own, other = room[(slice(None), *fitting(block))]
        torch.mul(a, kept[block[0]], out=own)
        torch.mul(b, kept[block[0]], out=other)
        for sums, x, y in zip(whole, (a, a, b), (b, a, b), strict=True):
            sums[block] = torch.linalg.vecdot(x, y)
        for sums, x, y in zip(without, (own, own, other), (b, a, b), strict=True):
            sums[block] = torch.linalg.vecdot(x, y)
    return _cosines(whole, rows), _cosines(without, rows & ~apart)


def _cosines(products: Tensor, rows: Tensor) -> Tensor:
    """[B, H] of the products of rows [3, B, H, n]: of both maps, the first's own, the second's."""
    both, first, second = torch.linalg.vecdot(products.double(), rows[:, None].double())
    lengths = (first * second).sqrt().clamp(min=torch.finfo(torch.float64).tiny)
    cosines = torch.where((both == first) & (both == second), 1.0, (both / lengths).clamp(0, 1))
    return cosines.masked_fill(~rows.any(-1)[:, None], torch.nan)
