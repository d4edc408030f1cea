"""Governors predicted from a head's attention."""

from __future__ import annotations

import torch
from torch import Tensor


def predicted_governors(maps: Tensor) -> Tensor:
    """Return the predicted governor of each word, in both directions (Clark et al. 2019, 4.2).

    In the direction "dependent to governor", the prediction is the largest weight in the word's
    row. In the direction "governor to dependent", it is the largest weight in the word's column,
    that is, the word that attends to it most. The weight of a word on itself counts as 0, and ties
    go to the first word. A word whose other weights are all 0 therefore gets the first word, even
    if it is the first word itself. The root is never predicted.

    Args:
        maps: Word maps [..., m, m], rows attend. The function sets their diagonal to 0.

    Returns:
        Positions of the governors from 0, int64 [..., 2, m]; dependent to governor comes first.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.governors import predicted_governors
        >>> predicted_governors(torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.6, 0.0, 0.4]]))
        tensor([[1, 2, 0],
                [2, 0, 1]])
    """
    maps.diagonal(dim1=-2, dim2=-1).zero_()
    # `max` returns the first of equal entries, like `argmax`, in a third of the time.
    return torch.stack([maps.max(-1).indices, maps.max(-2).indices], dim=-2)


def governors_of(maps: Tensor, text: Tensor, word: Tensor) -> Tensor:
    """Return the predictions of `predicted_governors` for only E words of B texts.

    Args:
        maps: Word maps [B, H, m, m], rows attend.
        text: Index of each word's text, int64 [E].
        word: Position of each word, int64 [E].

    Returns:
        Positions of the governors, int64 [E, H, 2].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.governors import governors_of
        >>> maps = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.6, 0.0, 0.4]])
        >>> governors_of(maps[None, None], torch.tensor([0]), torch.tensor([1]))
        tensor([[[2, 0]]])
    """
    both = torch.stack([maps[text, :, word], maps[text, :, :, word]], dim=2)  # [E, H, 2, m]
    self_pairs = word[:, None, None, None].expand(*both.shape[:-1], 1)
    return both.scatter_(-1, self_pairs, 0.0).max(-1).indices


class GovernorHits:
    """Fast test of whether `predicted_governors` returns the true governors.

    A governor is predicted if no word has a larger weight and no earlier word has an equal weight.
    The bits of non-negative floats have the same order as their values, and adding 1 gives the next
    float. After adding 1 to the words before the governor, equal weights of these words are larger.

    Create the object once for B texts, and call it with the word maps of each layer.

    Args:
        governors: Positions of the true governors from 0, int64 [B, m]; negative positions are
            never predicted.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.governors import GovernorHits
        >>> maps = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.6, 0.0, 0.4]])
        >>> GovernorHits(torch.tensor([[1, -1, 1]]))(maps[None, None])
        tensor([[[[ True, False, False],
                  [False, False,  True]]]])
    """

    def __init__(self, governors: Tensor) -> None:
        positions = torch.arange(governors.shape[-1], dtype=torch.long, device=governors.device)
        before = (positions < governors[..., None]).int()[:, None]
        self._before = before
        self._instead = before.mT - before
        self._governors = governors.clamp_min(0)[:, None]
        self._has_one = (governors >= 0)[:, None, None]

    def __call__(self, maps: Tensor) -> Tensor:
        """Return whether the governor of each word is predicted.

        Args:
            maps: Word maps, float32 [B, H, m, m], not negative, rows attend. They are overwritten.

        Returns:
            Bool [B, H, 2, m]; dependent to governor (the word's row) comes first.
        """
        maps.diagonal(dim1=-2, dim2=-1).zero_()
        bits = maps.view(torch.int32)
        governor_bits = self._governors.expand(bits.shape[:-1])
        from_word = bits.gather(-1, governor_bits[..., None])[..., 0]
        to_word = bits.gather(-2, governor_bits[..., None, :])[..., 0, :]
        rows = bits.add_(self._before).amax(-1) <= from_word
        columns = bits.add_(self._instead).amax(-2) <= to_word
        return torch.stack([rows, columns], dim=-2) & self._has_one
