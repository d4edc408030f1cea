"""Word maps of a batch, and the word that each word's governor would be by a head's attention."""

from __future__ import annotations

import torch
from torch import Tensor


def word_maps(weights: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Attention between the words of B texts (Clark et al. 2019, section 4.1).

    `weights` [B, H, n, n]; `rows` [B, m, n], how much each token counts for a word that attends:
    1 / (number of tokens) is the mean over them; `columns` [B, n, m], how much it counts for the
    word that is attended to: 1 is their sum. Special tokens and padding are in neither, and no row
    is renormalised. Returns [B, H, m, m]; m is the longest text's, further words of shorter ones
    are 0. `word_weights` is the same for one text, with its special tokens.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.governors import word_maps
        >>> weights = torch.tensor([[[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0]]]])
        >>> columns = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
        >>> rows = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]])
        >>> word_maps(weights, rows, columns)
        tensor([[[[0.6500, 0.3500],
                  [0.0000, 1.0000]]]])
    """
    n_texts, n_heads, n, _ = weights.shape
    m = columns.shape[-1]
    # One product a text for all of its heads: many small ones cost more than they compute.
    to_words = torch.bmm(weights.reshape(n_texts, n_heads * n, n), columns)
    by_query = to_words.view(n_texts, n_heads, n, m).transpose(1, 2).reshape(n_texts, n, -1)
    return torch.bmm(rows, by_query).view(n_texts, m, n_heads, m).transpose(1, 2)


def predicted_governors(maps: Tensor) -> Tensor:
    """The most attended other word, for each word, in both directions (Clark et al. 2019, 4.2).

    "Dependent to governor": the largest weight in the word's row. "Governor to dependent": the
    largest in its column, the word that attends to it most. A word's weight on itself counts as 0,
    and the first of equals is taken, so that a word whose other weights are all 0 gets the first
    word, be it itself. The root is never predicted.

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


def governor_hits(maps: Tensor, governors: Tensor) -> Tensor:
    """Where `predicted_governors` would predict the given ones, in a fraction of its time.

    A governor is predicted if no word has a larger weight and none before it an equal one. The bits
    of floats that are not negative are in the order of their values, and one more is the next
    float: with 1 added to the words before the governor, their equal weights are larger.

    `maps` float32 [B, H, m, m], not negative, rows attend; it is overwritten. `governors` int64
    [B, m], positions from 0; negative ones are never predicted. Returns bool [B, H, 2, m].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.governors import governor_hits
        >>> maps = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.6, 0.0, 0.4]])
        >>> governor_hits(maps[None, None], torch.tensor([[1, -1, 1]]))
        tensor([[[[ True, False, False],
                  [False, False,  True]]]])
    """
    maps.diagonal(dim1=-2, dim2=-1).zero_()
    bits = maps.view(torch.int32)
    n_texts, n_heads, m, _ = maps.shape
    own = governors.clamp_min(0)[:, None].expand(n_texts, n_heads, m)
    from_word = bits.gather(-1, own[..., None])[..., 0]
    to_word = bits.gather(-2, own[..., None, :])[..., 0, :]
    before = (torch.arange(m, device=maps.device) < governors[..., None]).int()[:, None]
    rows = bits.add_(before).amax(-1) <= from_word
    columns = bits.add_(before.mT - before).amax(-2) <= to_word
    return torch.stack([rows, columns], dim=-2) & (governors >= 0)[:, None, None]
