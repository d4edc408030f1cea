"""Spearman's rank correlation."""

from __future__ import annotations

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike, NDArray


def spearman(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return Spearman's correlation along the last axis: Pearson's correlation of ranks.

    Tied values share their mean rank.

    Args:
        first: Values, [..., n].
        second: Values, [..., n]; the arrays broadcast.

    Returns:
        Correlations, [...]; NaN if one of the two is constant.

    Example:
        >>> from attnwidget.kernels.rank_correlation import spearman
        >>> spearman([[1.0, 5.0, 9.0], [9.0, 5.0, 1.0]], [2.0, 3.0, 7.0])
        array([ 1., -1.])
    """
    ranks = [scipy.stats.rankdata(np.asarray(values, float), axis=-1) for values in (first, second)]
    a, b = (ranked - ranked.mean(-1, keepdims=True) for ranked in ranks)
    lengths = np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
    correlations = np.full(np.broadcast_shapes(a.shape, b.shape)[:-1], np.nan)
    return np.divide((a * b).sum(-1), lengths, out=correlations, where=lengths > 0)
