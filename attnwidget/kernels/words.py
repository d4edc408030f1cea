"""Attention between words from attention between tokens."""

from __future__ import annotations

import torch
from torch import Tensor


def word_weights(weights: Tensor, query_words: Tensor, key_words: Tensor) -> Tensor:
    """Sum over the attended word's tokens, mean over the attending word's.

    This is the word map of Clark et al. 2019, section 4.1.

    `weights` [..., Q, K]; `query_words` [Q] and `key_words` [K] int64 give the word of each token,
    0-based and without gaps. Returns [..., Wq, Wk]; rows that summed to 1 still do.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.words import word_weights
        >>> owner = torch.tensor([0, 1, 1])
        >>> word_weights(torch.full((3, 3), 1 / 3), owner, owner)[0]
        tensor([0.3333, 0.6667])
    """
    n_query, n_key = int(query_words.max()) + 1, int(key_words.max()) + 1
    to_words = weights.new_zeros(*weights.shape[:-1], n_key)
    to_words.index_add_(-1, key_words.to(weights.device), weights)
    rows = weights.new_zeros(*weights.shape[:-2], n_query, n_key)
    rows.index_add_(-2, query_words.to(weights.device), to_words)
    counts = torch.bincount(query_words, minlength=n_query).to(weights)
    return rows / counts.unsqueeze(-1)
