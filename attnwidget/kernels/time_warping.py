"""Dynamic time warping: the best path through a map in which queries and keys move forward."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def first_keys(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the first key of each query on the best path through each map, int64 [P, Q].

    The path begins at the first query and key and ends at the last query and key. Each step goes to
    the next query, the next key or both, and the sum of the values is as large as possible. Ties
    prefer a step to the next query and key, then a step to the next query, as in Whisper (Radford
    et al. 2022, released code).

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
        raise ValueError(
            f"values must be [maps, queries, keys], none empty, got {list(values.shape)}"
        )
    n_maps, n_query, n_key = values.shape
    cost = np.full((n_maps, n_query + 1, n_key + 1), np.inf)
    cost[:, 0, 0] = 0
    steps = np.zeros((n_maps, n_query + 1, n_key + 1), dtype=np.int8)
    # All cells of an antidiagonal depend only on the two previous antidiagonals.
    for diagonal in range(2, n_query + n_key + 1):
        query = np.arange(max(1, diagonal - n_key), min(n_query, diagonal - 1) + 1)
        key = diagonal - query
        predecessors = np.stack(
            [cost[:, query - 1, key - 1], cost[:, query - 1, key], cost[:, query, key - 1]]
        )
        step = predecessors.argmin(axis=0)
        least = np.take_along_axis(predecessors, step[None], axis=0)[0]
        cost[:, query, key] = least - values[:, query - 1, key - 1]
        steps[:, query, key] = step
    first = np.zeros((n_maps, n_query), dtype=np.int64)
    maps = np.arange(n_maps)
    query = np.full(n_maps, n_query)
    key = np.full(n_maps, n_key)
    while True:
        is_on_path = (query > 0) & (key > 0)
        if not is_on_path.any():
            return first
        active_maps = maps[is_on_path]
        # The path is followed backward, so the last assignment is the first key of the query.
        first[active_maps, query[is_on_path] - 1] = key[is_on_path] - 1
        step = steps[active_maps, query[is_on_path], key[is_on_path]]
        query[is_on_path] -= step != 2
        key[is_on_path] -= step != 1
