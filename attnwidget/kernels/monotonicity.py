"""Whether later queries attend to later keys: rank correlation of a query and its mean key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from attnwidget.kernels.arrays import Float64Array

# Digits of the mean position of a key: rounding errors of even attention have no order.
_DIGITS = 4


def monotonicity(weights: NDArray[np.floating]) -> Float64Array:
    """Return Spearman's correlation of the position of a query and the mean position of its keys.

    1 = each query attends to later keys than the query before. A head whose mean position is the
    same for all queries has 0.

    Args:
        weights: Attention from queries to keys, [..., Q, K]; rows need no sum of 1.

    Returns:
        The correlations, float64 [...].

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.monotonicity import monotonicity
        >>> monotonicity(np.stack([np.eye(3), np.eye(3)[::-1], np.ones((3, 3))])).tolist()
        [1.0, -1.0, 0.0]
    """
    values = np.asarray(weights, np.float64)
    n_queries, n_keys = values.shape[-2:]
    mass = values.sum(-1)
    position = values @ np.arange(n_keys, dtype=np.float64)
    mean = np.divide(position, mass, out=np.zeros_like(mass), where=mass > 0)
    ranks = rankdata(mean.round(_DIGITS), axis=-1) - (n_queries + 1) / 2
    order = np.arange(n_queries) - (n_queries - 1) / 2
    size = np.sqrt((ranks**2).sum(-1) * (order**2).sum())
    found: Float64Array = np.divide(
        ranks @ order, size, out=np.zeros(values.shape[:-2]), where=size > 0
    )
    return found
