"""Distances between words and their depths in a dependency tree (Hewitt and Manning 2019, 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def tree_depths(governors: Sequence[int]) -> NDArray[np.int64]:
    """Edges from the root word to each word: int64 [m], 0 at the root word.

    `governors` [m]: the position, from 1, of the word that each depends on; 0 at the root word.

    Example:
        >>> from attnwidget.kernels.tree_distances import tree_depths
        >>> tree_depths([2, 0, 4, 2])
        array([1, 0, 2, 1])
    """
    return _ancestors(governors).sum(1) - 1


def tree_distances(governors: Sequence[int]) -> NDArray[np.int64]:
    """Edges on the path between every two words: int64 [m, m], symmetric, 0 on the diagonal.

    The paths from the root to two words share a beginning; the distance of the words is the sum of
    both depths minus twice the depth of the last shared word.

    `governors` [m]: the position, from 1, of the word that each depends on; 0 at the root word.

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
    """[m, m]: 1 where the second word is on the path from the root to the first, itself too."""
    paths = np.zeros((len(governors), len(governors)), np.int64)
    for word in range(len(governors)):
        at = word + 1
        while at:
            paths[word, at - 1] = 1
            at = governors[at - 1]
    return paths
