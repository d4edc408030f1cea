"""Attention between words from attention between tokens (Clark et al. 2019, section 4.1).

A word map is the sum over the attended word's tokens and the mean over the attending word's:
`WordMaps` of a batch without special tokens and padding, `word_rows` of chosen words of a batch.
`kernels/word_weights.py` has the map of one text with all its tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


class WordMaps:
    """How the word maps of B texts come from their token maps; made once, used for each layer.

    The sum over the attended word's tokens, the mean over the attending one's. Special tokens and
    padding are in neither, and no row is renormalized.

    Args:
        owners: int64 [B, n], the word of each token from 0; negative for none. The words of a text
            follow each other in its tokens.
        sums: whether an attended word has the sum over its tokens, or its first token's weight.
        means: whether an attending word has the mean over its tokens, or its first token's row.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.word_maps import WordMaps
        >>> weights = torch.tensor([[[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0]]]])
        >>> WordMaps(torch.tensor([[0, 0, 1]]))(weights)
        tensor([[[[0.6500, 0.3500],
                  [0.0000, 1.0000]]]])
    """

    def __init__(self, owners: Tensor, *, sums: bool = True, means: bool = True) -> None:
        self.n_words = m = int(owners.max()) + 1
        self.device = owners.device
        members = functional.one_hot(owners.clamp_min(-1) + 1, m + 1)[..., 1:]  # [B, n, m]
        first = members * (members.cumsum(1) == 1)
        self._columns = (members if sums else first).float()
        rows = members if means else first
        self._counts = rows.sum(1)  # [B, m]
        text, self._row = rows.any(-1).nonzero(as_tuple=True)
        self._share = 1 / self._counts[text, owners[text, self._row]].float()
        self._heads = 0

    def __call__(self, weights: Tensor) -> Tensor:
        """Word maps [B, H, m, m] of the weights [B, H, n, n]; words that a text lacks have 0."""
        n_texts, n_heads, n, _ = weights.shape
        if n_heads != self._heads:
            self._index(n_heads, n)
        # Rows that belong together lie together: summed as they are read, faster than any product.
        rows = functional.embedding_bag(
            self._rows,
            weights.reshape(-1, n),
            self._starts,
            mode="sum",
            per_sample_weights=self._shares.to(weights),
        )
        # One product a text for all of its heads: many small ones cost more than they compute.
        words = torch.bmm(rows.view(n_texts, -1, n), self._columns.to(weights))
        return words.view(n_texts, n_heads, self.n_words, self.n_words)

    def _index(self, n_heads: int, n: int) -> None:
        """The rows of each text, head and word, in this order; the same for all layers."""
        counts = self._counts[:, None].expand(-1, n_heads, -1).flatten()
        self._starts = counts.cumsum(0) - counts
        of_texts = self._counts.sum(1)
        of_heads = of_texts.repeat_interleave(n_heads)
        head = torch.arange(len(of_heads), dtype=torch.long, device=self.device).repeat_interleave(
            of_heads
        )
        # A text's rows come once for each of its heads.
        before = (
            of_heads.cumsum(0)
            - of_heads
            - (of_texts.cumsum(0) - of_texts).repeat_interleave(n_heads)
        )
        row = torch.arange(len(head), dtype=torch.long, device=self.device) - before[head]
        self._rows = head * n + self._row[row]
        self._shares = self._share[row]
        self._heads = n_heads


def word_rows(weights: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Chosen rows of the word maps of a batch: the rows of `WordMaps`, without the others.

    `weights` [B, H, n, n]; `rows` [B, E, n], 1 / (number of tokens) at the tokens of the e-th
    chosen word; `columns` [B, n, m], 1 at the tokens of each word. Special tokens and padding are
    in neither. Returns [B, H, E, m].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.word_maps import word_rows
        >>> weights = torch.tensor([[[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0]]]])
        >>> first_two = torch.tensor([[[0.5, 0.5, 0.0]]])
        >>> columns = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
        >>> word_rows(weights, first_two, columns)
        tensor([[[[0.6500, 0.3500]]]])
    """
    return (rows[:, None] @ weights) @ columns[:, None]


def word_means(states: Tensor, owners: Tensor) -> Tensor:
    """The mean over the tokens of each word of what tokens have.

    `states` [B, n, d]; `owners` int64 [B, n], the word of each token from 0, negative for none.
    Returns [B, m, d]; words that a text lacks have 0.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.word_maps import word_means
        >>> word_means(torch.tensor([[[1.0], [3.0], [5.0]]]), torch.tensor([[0, 0, -1]]))
        tensor([[[2.]]])
    """
    members = functional.one_hot(owners.clamp_min(-1) + 1)[..., 1:].to(states)  # [B, n, m]
    return members.mT @ states / members.sum(1).clamp_min(1)[..., None]


def most_attended(weights: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """The allowed word with the largest weight, the first of equals.

    `weights` [..., m]; `allowed` bool, broadcastable to it. Returns the indices int64 [...] and
    their weights [...]; without an allowed word -1 and 0.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.word_maps import most_attended
        >>> index, weight = most_attended(
        ...     torch.tensor([0.5, 0.3, 0.2]), torch.tensor([False, True, True])
        ... )
        >>> int(index), round(float(weight), 2)
        (1, 0.3)
    """
    best, index = weights.masked_fill(~allowed, -1.0).max(-1)
    none = best < 0
    return index.masked_fill(none, -1), best.masked_fill(none, 0.0)
