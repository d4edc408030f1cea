"""The minimum spanning tree of words, with a rule for ties (Hewitt and Manning 2019)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree


def spanning_edges(
    distances: NDArray[np.floating | np.integer], kept: NDArray[np.bool_]
) -> set[tuple[int, int]]:
    """Edges (i, j), i < j, of the minimum spanning tree of the words that are kept.

    Of equal distances the first in the order of (i, j) is taken first, as in the authors' code.

    `distances` [m, m], of which the part above the diagonal is read; `kept` bool [m].

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.minimum_spanning_tree import spanning_edges
        >>> distances = np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
        >>> sorted(spanning_edges(distances, np.array([True, True, True])))
        [(0, 1), (1, 2)]
        >>> spanning_edges(distances, np.array([True, False, True]))
        {(0, 2)}
    """
    words = np.flatnonzero(kept)
    first, second = np.triu_indices(len(words), 1)
    if not len(first):
        return set()
    order = np.argsort(distances[words[first], words[second]], kind="stable")
    # Ranks from 1 in place of distances: no ties are left, and no edge looks like a missing one.
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    # Older versions of scipy find trees of matrices with places of 32 bits alone.
    places = first.astype(np.int32), second.astype(np.int32)
    tree = minimum_spanning_tree(csr_array((ranks, places), shape=[len(words)] * 2))
    return {(int(words[i]), int(words[j])) for i, j in zip(*tree.nonzero(), strict=True)}
