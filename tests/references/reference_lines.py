"""The smallest weight that counts as a link."""

from __future__ import annotations

import numpy as np

from attnwidget.kernels.arrays import Float32Array

#: A link has this many times an even share of its query's attention, and at least this weight.
TIMES_EVEN = 1.5
LEAST = 0.03


def least_lines(weights: Float32Array) -> Float32Array:
    """The smallest weight of each query that figures draw as a line, and sentences call a link.

    The even share of a query is 1 / (number of keys that it sees), hidden special tokens included.

    Args:
        weights: [..., Q, K], NaN where masked.

    Returns:
        [..., Q].
    """
    seen = np.maximum(np.isfinite(weights).sum(-1), 1)
    least: Float32Array = np.maximum(TIMES_EVEN / seen, LEAST).astype(np.float32)
    return least
