"""Minimum spanning tree of words, with a rule for ties (Hewitt and Manning 2019)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree


def spanning_edges(
    distances: NDArray[np.floating | np.integer], kept: NDArray[np.bool_]
) -> set[tuple[int, int]]:
    """Return the edges (i, j), i < j, of the minimum spanning tree of the selected words.

    Ties between equal distances are resolved by the order of (i, j), as in the authors' code.

    Args:
        distances: Distances [m, m]; only the part above the diagonal is used.
        kept: Mask of the selected words, bool [m].

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
    # Replace distances by ranks from 1, so that there are no ties and no edge looks missing.
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    # Older versions of scipy accept only matrices with 32-bit indices.
    indices = first.astype(np.int32), second.astype(np.int32)
    tree = minimum_spanning_tree(csr_array((ranks, indices), shape=[len(words)] * 2))
    return {(int(words[i]), int(words[j])) for i, j in zip(*tree.nonzero(), strict=True)}
