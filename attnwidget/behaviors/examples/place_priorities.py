"""Random numbers for links of a corpus, which do not depend on the reading order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Priority of an empty slot, larger than all others.
NEVER = np.iinfo(np.int64).max
_TOKENS = 2**24


def place_priorities(
    segments: NDArray[np.int64], n_queries: int, n_keys: int, seed: int
) -> NDArray[np.int64]:
    """Return a random number for each query and key of each segment: [B, n_queries, n_keys].

    The links with the k smallest numbers are k links drawn at random without replacement. A number
    depends only on the seed, the number of the segment, the query and the key. The numbers are
    hashes (splitmix64; Steele et al. 2014), from 0 to 2^63 - 2.

    Args:
        segments: Number of each segment in the corpus, int64 [B].
        n_queries: Number of queries.
        n_keys: Number of keys; 1 gives one number per query.
        seed: Seed of the numbers.

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviors.examples.place_priorities import place_priorities
        >>> both = place_priorities(np.array([3, 8]), 2, 2, seed=0)
        >>> alone = place_priorities(np.array([8]), 2, 2, seed=0)
        >>> both.shape, bool((both[1] == alone[0]).all())
        ((2, 2, 2), True)
    """
    seed_hash = _mixed(np.array([seed], np.int64).astype(np.uint64))
    segment_hashes = _mixed(seed_hash + segments.astype(np.uint64))[:, None, None]
    positions = np.arange(n_queries)[:, None] * _TOKENS + np.arange(n_keys)
    numbers = _mixed(segment_hashes + positions.astype(np.uint64)) >> np.uint64(1)
    return np.minimum(numbers.astype(np.int64), NEVER - 1)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed: NDArray[np.uint64] = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
