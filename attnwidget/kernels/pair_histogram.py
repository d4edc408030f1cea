"""Histograms of pairs of positive numbers, which add up, and their rank correlation."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

#: Bins per factor of ten, for the first and the second number.
BINS_PER_DECADE = (16, 40)
#: Powers of ten at the ends of the bins, for the first and the second number.
DECADES = ((-10, 0), (-6, 6))
SIZE = tuple(
    bins * (high - low) for bins, (low, high) in zip(BINS_PER_DECADE, DECADES, strict=True)
)


def bin_indices(values: Tensor, axis: int) -> Tensor:
    """Return the bin of each number; numbers beyond the ends are in the first or last bin.

    Args:
        values: Positive numbers.
        axis: 0 for the first number of the pairs (weights), 1 for the second number (norms).
    """
    low, _ = DECADES[axis]
    places = (values.log10() - low) * BINS_PER_DECADE[axis]
    return places.floor().clamp(0, SIZE[axis] - 1).long()


def pair_counts(pair_bins: Tensor) -> Tensor:
    """Return the number of pairs in each pair of bins, int64 [A, F].

    Args:
        pair_bins: For each pair, the first bin times F plus the second bin.
    """
    return torch.bincount(pair_bins, minlength=SIZE[0] * SIZE[1]).view(SIZE)


def bin_centers(axis: int) -> NDArray[np.float64]:
    """Return the geometric center of each bin.

    Args:
        axis: 0 for the first number of the pairs, 1 for the second number.

    Example:
        >>> from attnwidget.kernels.pair_histogram import bin_centers
        >>> centers = bin_centers(0)
        >>> len(centers), round(float(centers[-1]), 2)
        (160, 0.93)
    """
    low, _ = DECADES[axis]
    return np.asarray(10 ** (low + (np.arange(SIZE[axis]) + 0.5) / BINS_PER_DECADE[axis]))


def rank_correlation(counts: NDArray[np.int64]) -> float:
    """Return Spearman's rank correlation of pairs in a histogram; NaN without variation.

    Numbers in one bin share the mean of their ranks.

    Args:
        counts: Number of pairs by the bins of the first and the second number, [A, F].

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.pair_histogram import rank_correlation
        >>> round(rank_correlation(np.diag([3, 1, 2])), 6)
        1.0
    """
    total = counts.sum()
    if not total:
        return float("nan")
    shares = counts / total
    first, second = (_centered_ranks(shares.sum(1 - axis)) for axis in (0, 1))
    variances = [float(shares.sum(1 - axis) @ r**2) for axis, r in ((0, first), (1, second))]
    if min(variances) <= 0:
        return float("nan")
    return float(first @ shares @ second / np.sqrt(variances[0] * variances[1]))


def _centered_ranks(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean rank of each bin as a share of all ranks, with mean 0."""
    return np.cumsum(shares) - shares / 2 - 0.5
