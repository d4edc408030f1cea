"""Attention from chosen words to all words, and the word that gets the most of it."""

from __future__ import annotations

from torch import Tensor


def word_rows(weights: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Chosen rows of the word map: sum over a word's tokens, mean over the attending word's.

    The rows that `word_weights` would give (Clark et al. 2019, section 4.1), for a batch and
    without the others.

    `weights` [B, H, n, n]; `rows` [B, E, n], 1 / (number of tokens) at the tokens of the e-th
    chosen word; `columns` [B, n, m], 1 at the tokens of each word. Special tokens and padding are
    in neither. Returns [B, H, E, m].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.word_rows import word_rows
        >>> weights = torch.tensor([[[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0]]]])
        >>> first_two = torch.tensor([[[0.5, 0.5, 0.0]]])
        >>> columns = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
        >>> word_rows(weights, first_two, columns)
        tensor([[[[0.6500, 0.3500]]]])
    """
    return (rows[:, None] @ weights) @ columns[:, None]


def most_attended(weights: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """The allowed word with the largest weight, the first of equals.

    `weights` [..., m]; `allowed` bool, broadcastable to it. Returns the indices int64 [...] and
    their weights [...]; without an allowed word -1 and 0.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.word_rows import most_attended
        >>> index, weight = most_attended(
        ...     torch.tensor([0.5, 0.3, 0.2]), torch.tensor([False, True, True])
        ... )
        >>> int(index), round(float(weight), 2)
        (1, 0.3)
    """
    best, index = weights.masked_fill(~allowed, -1.0).max(-1)
    none = best < 0
    return index.masked_fill(none, -1), best.masked_fill(none, 0.0)
