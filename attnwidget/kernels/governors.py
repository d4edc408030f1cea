"""The word that each word's governor would be by a head's attention."""

from __future__ import annotations

import torch
from torch import Tensor


def predicted_governors(maps: Tensor) -> Tensor:
    """The most attended other word, for each word, in both directions (Clark et al. 2019, 4.2).

    "Dependent to governor": the largest weight in the word's row. "Governor to dependent": the
    largest in its column, the word that attends to it most. A word's weight on itself counts as 0,
    and ties go to the first word; a word whose remaining weights are all 0 therefore gets the first
    word, even if it is the first word. The root is never predicted.

    `maps` [..., m, m], rows attend; its diagonal is set to 0. Returns int64 [..., 2, m], positions
    from 0; dependent to governor comes first.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.governors import predicted_governors
        >>> predicted_governors(torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.6, 0.0, 0.4]]))
        tensor([[1, 2, 0],
                [2, 0, 1]])
    """
    maps.diagonal(dim1=-2, dim2=-1).zero_()
    # `max` names the first of equals like `argmax`, in a third of its time.
    return torch.stack([maps.max(-1).indices, maps.max(-2).indices], dim=-2)


def governors_of(maps: Tensor, text: Tensor, word: Tensor) -> Tensor:
    """Return the predictions of `predicted_governors` for E words of B texts only.

    `maps` [B, H, m, m], rows attend; `text` and `word` int64 [E]. Returns int64 [E, H, 2].

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
    """Where `predicted_governors` would predict given ones, found in a fraction of its time.

    A governor is predicted if no word has a larger weight and no earlier word an equal weight.
    Non-negative floats have bits in the order of their values, and adding 1 gives the next float:
    with 1 added to the words before the governor, their equal weights are larger.

    Made once for B texts, used for the word maps of each layer.

    Args:
        governors: int64 [B, m], positions from 0; negative ones are never predicted.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.governors import GovernorHits
        >>> maps = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.6, 0.0, 0.4]])
        >>> GovernorHits(torch.tensor([[1, -1, 1]]))(maps[None, None])
        tensor([[[[ True, False, False],
                  [False, False,  True]]]])
    """

    def __init__(self, governors: Tensor) -> None:
        places = torch.arange(governors.shape[-1], dtype=torch.long, device=governors.device)
        before = (places < governors[..., None]).int()[:, None]
        self._before = before
        self._instead = before.mT - before
        self._governors = governors.clamp_min(0)[:, None]
        self._has_one = (governors >= 0)[:, None, None]

    def __call__(self, maps: Tensor) -> Tensor:
        """Bool [B, H, 2, m]: the word's own row first, then its column.

        `maps` float32 [B, H, m, m], not negative, rows attend; it is overwritten.
        """
        maps.diagonal(dim1=-2, dim2=-1).zero_()
        bits = maps.view(torch.int32)
        governor_bits = self._governors.expand(bits.shape[:-1])
        from_word = bits.gather(-1, governor_bits[..., None])[..., 0]
        to_word = bits.gather(-2, governor_bits[..., None, :])[..., 0, :]
        rows = bits.add_(self._before).amax(-1) <= from_word
        columns = bits.add_(self._instead).amax(-2) <= to_word
        return torch.stack([rows, columns], dim=-2) & self._has_one
