"""Word map of a single text (Clark et al. 2019, section 4.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.array_library import Array, as_numpy, beside, take


def word_weights(weights: Array, query_words: Array, key_words: Array) -> Array:
    """Return the word map of one text: sums over attended tokens, means over attending tokens.

    Every token belongs to a word; each special token is a separate word.

    Args:
        weights: Attention weights [..., Q, K], array or tensor.
        query_words: Word of each query, from 0 and without gaps, int64 [Q].
        key_words: Word of each key, from 0 and without gaps, int64 [K].

    Returns:
        Word map [..., Wq, Wk] in the library of `weights`; rows that sum to 1 still sum to 1.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.word_weights import word_weights
        >>> owner = np.array([0, 1, 1])
        >>> word_weights(np.full((3, 3), 1 / 3), owner, owner)[0]
        array([0.33333333, 0.66666667])
    """
    rows = as_numpy(query_words)
    sums = _sums(_sums(weights, as_numpy(key_words), -1), rows, -2)
    counts = np.bincount(rows)[:, None].astype(np.float32)
    return sums / beside(counts, sums)


def _sums(values: Array, words: NDArray[np.int64], axis: int) -> Array:
    """Return the sums over the tokens of each word, along one axis."""
    n_words = int(words.max()) + 1
    if isinstance(values, np.ndarray):
        order = np.argsort(words, kind="stable")
        starts = np.searchsorted(words[order], np.arange(n_words))
        return np.add.reduceat(take(values, order, axis), starts, axis)
    import torch

    shape = list(values.shape)
    shape[axis] = n_words
    sums = values.new_zeros(shape)
    return sums.index_add_(axis, torch.from_numpy(words).to(values.device), values)
