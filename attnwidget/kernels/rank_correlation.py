"""Spearman's rank correlation, many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata


def spearman(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Spearman's correlation along the last axis: Pearson's of ranks, equals sharing their mean.

    `first` and `second` [..., n] broadcast. Returns [...]; NaN where one of the two is constant.

    Example:
        >>> from attnwidget.kernels.rank_correlation import spearman
        >>> spearman([[1.0, 5.0, 9.0], [9.0, 5.0, 1.0]], [2.0, 3.0, 7.0])
        array([ 1., -1.])
    """
    ranks = [rankdata(np.asarray(values, float), axis=-1) for values in (first, second)]
    a, b = (ranked - ranked.mean(-1, keepdims=True) for ranked in ranks)
    lengths = np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
    correlations = np.full(np.broadcast_shapes(a.shape, b.shape)[:-1], np.nan)
    return np.divide((a * b).sum(-1), lengths, out=correlations, where=lengths > 0)
