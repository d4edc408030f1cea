"""How concentrated a query's attention is: entropy, and the largest weight."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Two float32 copies of so many weights stay in a core's cache while they are worked on.
_CELLS_AT_ONCE = 128 * 1024


def entropy(weights: Tensor, lengths: Tensor, *, smoothing: float = 1e-4, first: int = 0) -> Tensor:
    """Return the entropy in nats of each query's attention, smoothed to avoid the logarithm of 0.

    H = -sum_j p_j ln p_j with p = (1 - smoothing) a + smoothing / n, over the n keys of a document
    (Clark et al. 2019, section 3.3, with the smoothing of their code: at 128 tokens it moves a head
    by at most 0.0014 nats). Without smoothing, 0 ln 0 is 0. No token is left out.

    `weights` [B, H, n, n] with 0 in columns of padding, or some of its rows from query `first` on;
    `lengths` int64 [B], real tokens of each document, on the left. Returns [B, H, n], of these
    queries; 0 in rows of padding.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.entropy import entropy
        >>> entropy(torch.full((1, 1, 4, 4), 0.25), torch.tensor([4]))[0, 0, 0].exp()
        tensor(4.)
    """
    entropies = weights.new_zeros(weights.shape[:-1])
    n_heads = weights.shape[1]
    for document, n in enumerate(lengths.tolist()):
        uniform = torch.tensor(smoothing / n, dtype=weights.dtype, device=weights.device)
        real = max(0, min(n - first, weights.shape[-2]))
        heads = max(1, _CELLS_AT_ONCE // max(1, n * real))
        rows = real if heads > 1 else max(1, _CELLS_AT_ONCE // n)
        for head in range(0, n_heads, heads):
            for row in range(0, real, max(1, rows)):
                at = (document, slice(head, head + heads), slice(row, min(row + rows, real)))
                p = torch.add(uniform, weights[at][..., :n], alpha=1 - smoothing)
                positive = p if smoothing else p.clamp_min(torch.finfo(p.dtype).tiny)
                entropies[at] = torch.linalg.vecdot(p, positive.log2())
    return entropies.mul_(-math.log(2))


def confidence(weights: Tensor, excluded: Tensor | None = None) -> Tensor:
    """The largest weight of each query (Voita et al. 2019, section 5.1, before their mean).

    `weights` [B, H, n, n], or some of its rows; `excluded` bool [B, n]: keys that do not count, as
    Voita et al. leave out the end of the sentence. The remaining weights are not
    renormalised. Returns [B, H, n].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.entropy import confidence
        >>> weights = torch.tensor([[[[0.1, 0.9], [0.5, 0.5]]]])
        >>> confidence(weights, torch.tensor([[False, True]]))
        tensor([[[0.1000, 0.5000]]])
    """
    if excluded is not None:
        weights = weights.masked_fill(excluded[:, None, None, :], 0)
    return weights.amax(-1)
