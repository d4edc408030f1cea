"""Slow, literal numpy versions of the kernels: what the fast ones must agree with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def attention_weights(query: Array, key: Array, scaling: float, mask: Array | None = None) -> Array:
    """Softmax of q.k * scaling + mask, one row at a time; [H,Q,D] and [Hkv,K,D] -> [H,Q,K]."""
    heads, rows, _ = query.shape
    share = heads // key.shape[0]
    weights = np.zeros((heads, rows, key.shape[1]))
    for h in range(heads):
        for i in range(rows):
            scores = np.array([query[h, i] @ k for k in key[h // share]]) * scaling
            if mask is not None:
                scores = scores + mask[i]
            powers = np.exp(scores - scores.max())
            weights[h, i] = powers / powers.sum()
    return weights


def word_weights(
    weights: Array, query_groups: list[list[int]], key_groups: list[list[int]]
) -> Array:
    """Sum over the attended word's tokens, mean over the attending one's; [Q,K] -> [Wq,Wk]."""
    words = np.zeros((len(query_groups), len(key_groups)))
    for i, attending in enumerate(query_groups):
        for j, attended in enumerate(key_groups):
            words[i, j] = np.mean([sum(weights[q, k] for k in attended) for q in attending])
    return words


def max_pool(weights: Array, side: int) -> Array:
    """The maximum under each thumbnail cell, whole or in part; [Q,K] -> at most [side, side]."""
    rows, columns = (min(n, side) for n in weights.shape)
    pooled = np.zeros((rows, columns))
    for i in range(rows):
        top = i * weights.shape[0] // rows
        bottom = -(-(i + 1) * weights.shape[0] // rows)
        for j in range(columns):
            left = j * weights.shape[1] // columns
            right = -(-(j + 1) * weights.shape[1] // columns)
            pooled[i, j] = weights[top:bottom, left:right].max()
    return pooled
