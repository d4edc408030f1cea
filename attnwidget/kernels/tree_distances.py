"""Word distances and word depths in a dependency tree (Hewitt and Manning 2019, section 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def tree_depths(governors: Sequence[int]) -> NDArray[np.int64]:
    """Return the number of edges from the root word to each word, int64 [m].

    Args:
        governors: Position of each word's governor, from 1, [m]; 0 for the root word.

    Example:
        >>> from attnwidget.kernels.tree_distances import tree_depths
        >>> tree_depths([2, 0, 4, 2])
        array([1, 0, 2, 1])
    """
    return _ancestors(governors).sum(1) - 1


def tree_distances(governors: Sequence[int]) -> NDArray[np.int64]:
    """Return the number of edges between every two words, int64 [m, m], symmetric.

    The paths from the root to two words share a beginning. The distance between the words is the
    sum of both depths minus twice the depth of the last shared word.

    Args:
        governors: Position of each word's governor, from 1, [m]; 0 for the root word.

    Example:
        >>> from attnwidget.kernels.tree_distances import tree_distances
        >>> tree_distances([2, 0, 4, 2])
        array([[0, 1, 3, 2],
               [1, 0, 2, 1],
               [3, 2, 0, 1],
               [2, 1, 1, 0]])
    """
    paths = _ancestors(governors)
    depths = paths.sum(1)
    return depths[:, None] + depths[None] - 2 * (paths @ paths.T)


def _ancestors(governors: Sequence[int]) -> NDArray[np.int64]:
    """Return [m, m]; 1 if the second word is on the path from the root to the first, inclusive."""
    paths = np.zeros((len(governors), len(governors)), np.int64)
    for word in range(len(governors)):
        position = word + 1
        while position:
            paths[word, position - 1] = 1
            position = governors[position - 1]
    return paths
