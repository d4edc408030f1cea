"""Attention by relative position: to the previous token, the next one, and how far on average."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attnwidget.kernels.cells_at_once import cells_at_once

# Number of weights that are copied to float64 at a time: 2 MB, which stay in the cache.
_CELLS_AT_ONCE = 256 * 1024


def offset_mass(
    weights: Tensor, row_weights: Tensor, offsets: Sequence[int], first: int = 0
) -> Tensor:
    """Mean attention from a token to the one `offset` places after it; 0 is the token itself.

    sum_i r_i a[i, i + offset], over the queries that have such a key. With r_i = 1/n the divisor
    is n at every offset, although n - |offset| queries have a key there (Clark et al. 2019, 3.1).

    `weights` [B, H, n, n], or some of its rows from query `first` on; `row_weights` [B, n] of the
    same queries, 0 at padding. Returns [B, H, len(offsets)].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.position import offset_mass
        >>> to_next = torch.diag(torch.ones(3), 1)[None, None]
        >>> offset_mass(to_next, torch.full((1, 4), 0.25), [-1, 0, 1])
        tensor([[[0.0000, 0.0000, 0.7500]]])
    """
    n_rows, n = weights.shape[-2:]
    mass = weights.new_zeros(*weights.shape[:2], len(offsets))
    for k, offset in enumerate(first + offset for offset in offsets):
        if -n_rows < offset < n:
            rows = row_weights[:, None, max(0, -offset) : min(n_rows, n - offset)]
            mass[..., k] = torch.linalg.vecdot(weights.diagonal(offset, -2, -1), rows)
    return mass


def mean_distances(weights: Tensor, row_weights: Tensor, first: int = 0) -> Tensor:
    """Mean signed and mean absolute distance, in tokens, from a query to what it attends to.

    sum_ij r_i a[i, j] (j - i), which is negative where a head looks back, and the same of |j - i|.

    `weights` [B, H, n, n] with 0 in columns of padding, or some of its rows from query `first` on;
    `row_weights` [B, n] of the same queries, 0 at padding. Returns float64 [B, H, 2], signed before
    absolute: n * n terms of up to n would lose digits in float32.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.position import mean_distances
        >>> weights = torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]])
        >>> mean_distances(weights, torch.full((1, 2), 0.5))
        tensor([[[-0.2500,  0.7500]]], dtype=torch.float64)
    """
    n_documents, n_heads, n_rows, n = weights.shape
    place = torch.arange(n, device=weights.device, dtype=torch.float64)
    signed = place - place[first:][:n_rows, None]  # [n, n], key minus query
    distances = torch.stack([signed, signed.abs()])
    total = place.new_zeros(n_documents, n_heads, 2)
    cells = cells_at_once(weights.device, _CELLS_AT_ONCE)
    step = max(1, min(n_rows, cells // max(1, n_heads * n)))
    together = max(1, cells // max(1, n_heads * n_rows * n))
    # All blocks share one buffer: new memory for each block would cost more than the products.
    exact = place.new_empty(min(together, n_documents), n_heads, step, n)
    for document in range(0, n_documents, together):
        some = slice(document, min(document + together, n_documents))
        of_rows = row_weights[some, None, :, None].double()
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            block = exact[: some.stop - document, :, : rows.stop - start]
            block.copy_(weights[some, :, rows])
            factors = (distances[:, rows] * of_rows[:, :, rows]).flatten(2)  # [documents, 2, cells]
            total[some] += block.flatten(2) @ factors.mT
    return total
