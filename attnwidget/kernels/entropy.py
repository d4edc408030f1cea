"""Concentration of a query's attention: entropy and largest weight."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from attnwidget.kernels.cache_blocks import cache_blocks, from_zero, scratch
from attnwidget.kernels.cells_at_once import cells_at_once
from attnwidget.kernels.divergence import log2

# A float32 sum over more keys would lose small terms: the error is 2e-5 nats at 8192 keys.
_KEYS_AT_ONCE = 1024


def entropy(weights: Tensor, lengths: Tensor, *, smoothing: float = 1e-4, first: int = 0) -> Tensor:
    """Return the entropy in nats of each query's attention, smoothed to avoid the logarithm of 0.

    The entropy is H = -sum_j p_j ln p_j with p = (1 - smoothing) a + smoothing / n, over the n keys
    of a document (Clark et al. 2019, section 3.3, with the smoothing of their code; at 128 tokens,
    the smoothing changes the entropy of a head by at most 0.0014 nats). Without smoothing, 0 ln 0
    is 0. The sum includes all tokens of the document.

    Args:
        weights: Attention weights [B, H, n, n] with 0 in padding columns, or only some rows from
            query `first` on. The last columns may be missing if they are 0.
        lengths: Number of real tokens in each document, which are on the left, int64 [B].
        smoothing: Weight of the uniform distribution, 0 or more and below 1.
        first: Index of the first query in `weights`.

    Returns:
        Entropies of these queries, [B, H, n]; 0 in padding rows.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.entropy import entropy
        >>> entropy(torch.full((1, 1, 4, 4), 0.25), torch.tensor([4]))[0, 0, 0].exp()
        tensor(4.)
    """
    if weights.device.type != "cpu":
        return _by_torch(weights, lengths, smoothing, first)
    entropies = weights.new_zeros(weights.shape[:-1])
    document = 0
    # Process documents of equal length together, because a call takes longer than a small map.
    for n, group in groupby(lengths.tolist()):
        documents = slice(document, document := document + len(list(group)))
        real = max(0, min(n - first, weights.shape[-2]))
        if real and n:
            maps = weights[documents, :, :real, :n]
            entropies[documents, :, :real] = _by_numpy(maps, smoothing, n)
    return entropies.mul_(-math.log(2))


def _by_torch(weights: Tensor, lengths: Tensor, smoothing: float, first: int) -> Tensor:
    """Return the entropies of maps on a GPU, without copying the lengths to the CPU.

    The arguments and the result are the same as in `entropy`.
    """
    n_documents, n_heads, n_rows, n = weights.shape
    position = torch.arange(n, dtype=torch.long, device=weights.device)
    is_real = position < lengths[:, None]  # [B, n]
    uniform = smoothing / lengths.clamp(min=1).to(weights.dtype)
    # Smoothing changes the missing weights from 0 to `uniform`, so add their sum of p log2 p.
    missing = torch.special.xlogy(uniform, uniform) / math.log(2) * (lengths - n).clamp(min=0)
    queries = is_real[:, None, first : first + n_rows]
    entropies = weights.new_empty(weights.shape[:-1])
    n_documents_at_once = max(1, cells_at_once(weights.device, 1) // max(1, n_heads * n_rows * n))
    for document in range(0, n_documents, n_documents_at_once):
        block = slice(document, document + n_documents_at_once)
        p = weights[block] * (1 - smoothing)
        p += torch.where(is_real[block], uniform[block, None], 0)[:, None, None]
        logs = p.clamp_min(torch.finfo(p.dtype).tiny).log2()
        entropies[block] = torch.linalg.vecdot(p, logs) + missing[block, None, None]
    return torch.where(queries, entropies * -math.log(2), 0)


def _by_numpy(weights: Tensor, smoothing: float, length: int) -> Tensor:
    """Return sums of p log2 p over `length` keys; the last keys may be missing.

    The maps are processed block by block, so that all values stay in the cache.
    """
    totals = np.zeros(weights.shape[:-1])
    n_key = weights.shape[-1]
    maps = weights.detach().numpy()
    buffers = scratch(weights, 2).numpy()
    share = maps.dtype.type(1 - smoothing)
    uniform = maps.dtype.type(smoothing / length)
    if n_key < length:
        totals += (length - n_key) * float(uniform) * math.log2(uniform) if smoothing else 0.0
    for block in cache_blocks(weights.shape):
        p, logs = buffers[(slice(None), *from_zero(block))]
        np.multiply(maps[block], share, out=p)
        p += uniform
        if smoothing:
            log2(p, logs)
        else:
            log2(np.maximum(p, np.finfo(p.dtype).tiny), logs)
        for first in range(0, n_key, _KEYS_AT_ONCE):
            keys = (..., slice(first, first + _KEYS_AT_ONCE))
            totals[block] += np.vecdot(p[keys], logs[keys])
    return torch.from_numpy(totals).to(weights.dtype)


def confidence(weights: Tensor, excluded: Tensor | None = None) -> Tensor:
    """Return the largest weight of each query (Voita et al. 2019, section 5.1, before averaging).

    Args:
        weights: Attention weights [B, H, n, n], or only some of their rows.
        excluded: Mask of keys to ignore, bool [B, n]; Voita et al. ignore the end-of-sentence
            token. The remaining weights are not renormalized. None = include all keys.

    Returns:
        Largest weights [B, H, n].

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
