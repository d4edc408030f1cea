"""The way through a map in which queries and keys both go forward: dynamic time warping."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def first_keys(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the first key of each query on the best way through each map, int64 [P, Q].

    The way begins at the first query and key and ends at the last query and key. Each step goes to
    the next query, the next key or both, and the sum of values is as large as possible. Ties prefer
    a step of both, then a step to the next query, as in the recipe of Whisper (Radford et al. 2022,
    released code).

    Args:
        values: P maps, [P, Q, K].

    Raises:
        ValueError: The array has another shape, or no queries or keys.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.time_warping import first_keys
        >>> first_keys(np.array([[[1.0, 0, 0, 0], [0, 0, 1, 1]]])).tolist()
        [[0, 2]]
    """
    if values.ndim != 3 or 0 in values.shape:
        raise ValueError(f"values are [maps, queries, keys] without 0, got {list(values.shape)}")
    n_maps, n_query, n_key = values.shape
    cost = np.full((n_maps, n_query + 1, n_key + 1), np.inf)
    cost[:, 0, 0] = 0
    steps = np.zeros((n_maps, n_query + 1, n_key + 1), dtype=np.int8)
    # All cells of an antidiagonal follow from the two antidiagonals before it.
    for diagonal in range(2, n_query + n_key + 1):
        query = np.arange(max(1, diagonal - n_key), min(n_query, diagonal - 1) + 1)
        key = diagonal - query
        before = np.stack(
            [cost[:, query - 1, key - 1], cost[:, query - 1, key], cost[:, query, key - 1]]
        )
        step = before.argmin(axis=0)
        least = np.take_along_axis(before, step[None], axis=0)[0]
        cost[:, query, key] = least - values[:, query - 1, key - 1]
        steps[:, query, key] = step
    first = np.zeros((n_maps, n_query), dtype=np.int64)
    maps = np.arange(n_maps)
    query = np.full(n_maps, n_query)
    key = np.full(n_maps, n_key)
    while True:
        on_way = (query > 0) & (key > 0)
        if not on_way.any():
            return first
        at = maps[on_way]
        # The way is walked backwards, so the last key seen is the first of the query.
        first[at, query[on_way] - 1] = key[on_way] - 1
        step = steps[at, query[on_way], key[on_way]]
        query[on_way] -= step != 2
        key[on_way] -= step != 1
