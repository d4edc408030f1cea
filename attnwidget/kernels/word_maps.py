"""Attention between words, computed from attention between tokens (Clark et al. 2019, section 4.1).

A word map is the sum over the tokens of the attended word and the mean over the tokens of the
attending word. `WordMaps` computes the maps of a batch without special tokens and padding, and
`word_rows` only selected rows. `kernels/word_weights.py` computes the map of one text with all its
tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


class WordMaps:
    """Conversion of token maps to word maps for B texts; create it once and use it for each layer.

    A word map is the sum over the tokens of the attended word and the mean over the tokens of the
    attending word. Special tokens and padding are left out, and rows are not renormalized.

    Args:
        owners: Word of each token, from 0, int64 [B, n]; negative for tokens without a word. The
            words of a text are in token order.
        sums: Whether to sum over the tokens of the attended word; False = use its first token.
        means: Whether to average over the tokens of the attending word; False = use its first
            token.

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
        """Return word maps [B, H, m, m]; rows and columns beyond the words of a text are 0.

        Args:
            weights: Attention weights [B, H, n, n].
        """
        n_texts, n_heads, n, _ = weights.shape
        if n_heads != self._heads:
            self._index(n_heads, n)
        # The rows of a word are adjacent, so summing them is faster than a matrix product.
        rows = functional.embedding_bag(
            self._rows,
            weights.reshape(-1, n),
            self._starts,
            mode="sum",
            per_sample_weights=self._shares.to(weights),
        )
        # Use one product per text for all heads, because many small products are slow.
        words = torch.bmm(rows.view(n_texts, -1, n), self._columns.to(weights))
        return words.view(n_texts, n_heads, self.n_words, self.n_words)

    def _index(self, n_heads: int, n: int) -> None:
        """Compute the row indices by text, head and word, which are the same for all layers."""
        counts = self._counts[:, None].expand(-1, n_heads, -1).flatten()
        self._starts = counts.cumsum(0) - counts
        rows_per_text = self._counts.sum(1)
        rows_per_head = rows_per_text.repeat_interleave(n_heads)
        head = torch.arange(
            len(rows_per_head), dtype=torch.long, device=self.device
        ).repeat_interleave(rows_per_head)
        # The rows of a text are repeated for each head.
        rows_before_head = (
            rows_per_head.cumsum(0)
            - rows_per_head
            - (rows_per_text.cumsum(0) - rows_per_text).repeat_interleave(n_heads)
        )
        row = torch.arange(len(head), dtype=torch.long, device=self.device) - rows_before_head[head]
        self._rows = head * n + self._row[row]
        self._shares = self._share[row]
        self._heads = n_heads


def word_rows(weights: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return only selected rows of the `WordMaps` of a batch.

    Special tokens and padding are left out.

    Args:
        weights: Attention weights [B, H, n, n].
        rows: For each of E selected words, 1 / (number of tokens) at its tokens and 0 elsewhere,
            [B, E, n].
        columns: 1 at the tokens of each word and 0 elsewhere, [B, n, m].

    Returns:
        Rows [B, H, E, m].

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
    """Return the mean of token vectors over the tokens of each word.

    Args:
        states: Token vectors [B, n, d].
        owners: Word of each token, from 0, int64 [B, n]; negative for tokens without a word.

    Returns:
        Word vectors [B, m, d]; 0 beyond the words of a text.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.word_maps import word_means
        >>> word_means(torch.tensor([[[1.0], [3.0], [5.0]]]), torch.tensor([[0, 0, -1]]))
        tensor([[[2.]]])
    """
    members = functional.one_hot(owners.clamp_min(-1) + 1)[..., 1:].to(states)  # [B, n, m]
    return members.mT @ states / members.sum(1).clamp_min(1)[..., None]


def most_attended(weights: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Return the allowed word with the largest weight; the first of equal words.

    Args:
        weights: Weights [..., m].
        allowed: Mask of allowed words, bool, broadcastable to `weights`.

    Returns:
        The index, int64 [...], and its weight [...]; -1 and 0 if no word is allowed.

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
    is_missing = best < 0
    return index.masked_fill(is_missing, -1), best.masked_fill(is_missing, 0.0)
