"""A vector for two words: the attention of every head between them (Coenen et al. 2019)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def pair_vectors(
    maps: NDArray[np.floating], attending: NDArray[np.int64], attended: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The weights of all heads from one word to another, for P pairs of words.

    `maps` [H, m, m] between words, rows attend; `attending` and `attended` int64 [P], words from 0.
    Returns float32 [P, H].

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.pair_vectors import pair_vectors
        >>> maps = np.array([[[0.9, 0.1], [0.4, 0.6]]])
        >>> pair_vectors(maps, np.array([0, 1]), np.array([1, 0]))
        array([[0.1],
               [0.4]], dtype=float32)
    """
    return maps[:, attending, attended].T.astype(np.float32)
