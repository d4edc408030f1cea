"""Slow, literal numpy versions of the surface studies: what the fast ones must agree with.

A document is its map [n, n] in float64, without padding; sums are spelt out entry by entry.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def offset_mass(weights: Array, offset: int) -> float:
    """Attention to the token `offset` places on, over all queries; those without one give 0."""
    n = len(weights)
    return sum(weights[i, i + offset] for i in range(n) if 0 <= i + offset < n) / n


def distances(weights: Array) -> tuple[float, float]:
    """Mean signed and mean absolute distance."""
    n = len(weights)
    pairs = [(i, j) for i in range(n) for j in range(n)]
    signed = sum(weights[i, j] * (j - i) for i, j in pairs) / n
    return signed, sum(weights[i, j] * abs(j - i) for i, j in pairs) / n


def class_mass(weights: Array, queries: list[int], keys: list[int]) -> float:
    """Attention to all `keys` together, mean over `queries`."""
    return sum(weights[i, j] for i in queries for j in keys) / len(queries)


def row_entropy(row: Array, smoothing: float = 1e-4) -> float:
    """Entropy in nats of one query's smoothed attention."""
    smooth = [(1 - smoothing) * weight + smoothing / len(row) for weight in row]
    return -sum(p * log(p) for p in smooth)


def entropy(weights: Array) -> float:
    """Mean over the queries."""
    return float(np.mean([row_entropy(row) for row in weights]))


def confidence(weights: Array, excluded: list[int]) -> float:
    """Mean over the queries of the largest weight on a key that counts."""
    keys = [j for j in range(len(weights)) if j not in excluded]
    return float(np.mean([max((row[j] for j in keys), default=0.0) for row in weights]))


def explained_by_offset(maps: list[Array], reach: int) -> float:
    """Share of the squares of row-centered log weights that a number per offset explains."""
    n_rows = sum(len(weights) for weights in maps)
    designs, scores, total, row = [], [], 0.0, 0
    for weights in maps:
        for i, weighted in enumerate(weights):
            logs = np.log(weighted)
            total += float(((logs - logs.mean()) ** 2).sum())
            for j, score in enumerate(logs):
                design = np.zeros(n_rows + 2 * reach + 1)
                design[row] = 1
                design[n_rows + reach + max(-reach, min(reach, j - i))] = 1
                designs.append(design)
                scores.append(score)
            row += 1
    if total == 0:
        return float("nan")
    fit = np.linalg.lstsq(np.array(designs), np.array(scores), rcond=None)[0]
    return 1 - float(((np.array(designs) @ fit - scores) ** 2).sum()) / total
