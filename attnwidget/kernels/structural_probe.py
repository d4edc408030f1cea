"""The structural probe: trees as squared distances after a linear map (Hewitt and Manning 2019)."""

from __future__ import annotations

from torch import Tensor


def squared_distances(projected: Tensor) -> Tensor:
    """Squared Euclidean distances between all words: |B^T (h_i - h_j)|^2, without a root.

    `projected` [..., m, r], the words' vectors h after the map B, B^T h. Returns [..., m, m],
    symmetric up to rounding, not negative.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.structural_probe import squared_distances
        >>> squared_distances(torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]))
        tensor([[0., 1., 5.],
                [1., 0., 4.],
                [5., 4., 0.]])
    """
    # Distances are those from anywhere: near a word's own place the squares round less.
    near = projected - projected[..., :1, :]
    squares = squared_lengths(near)
    products = near @ near.mT
    return (squares[..., :, None] + squares[..., None, :] - 2 * products).clamp_min(0)


def squared_lengths(projected: Tensor) -> Tensor:
    """Squared lengths of the words' vectors after the map, |B^T h_i|^2: the predicted depths.

    `projected` [..., m, r]. Returns [..., m].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.structural_probe import squared_lengths
        >>> squared_lengths(torch.tensor([[0.0, 0.0], [1.0, 2.0]]))
        tensor([0., 5.])
    """
    return projected.square().sum(-1)


def distance_loss(predicted: Tensor, gold: Tensor, lengths: Tensor) -> Tensor:
    """Sum over all ordered pairs of words of |gold - predicted| / m^2, for each sentence.

    `predicted` [..., B, m, m]; `gold` [B, m, m]; `lengths` [B], the words of each sentence, which
    come before the padding. Returns [..., B].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.structural_probe import distance_loss
        >>> gold = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
        >>> distance_loss(torch.zeros(1, 2, 2), gold, torch.tensor([2]))
        tensor([0.5000])
    """
    real = _real(lengths, gold.shape[-1])
    off = (predicted - gold).abs() * (real[:, :, None] * real[:, None])
    return off.sum((-1, -2)) / lengths.square()


def depth_loss(predicted: Tensor, gold: Tensor, lengths: Tensor) -> Tensor:
    """Sum over words of |gold - predicted| / m, for each sentence.

    `predicted` [..., B, m]; `gold` [B, m]; `lengths` [B], the words of each sentence, which come
    before the padding. Returns [..., B].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.structural_probe import depth_loss
        >>> depth_loss(torch.tensor([[3.0, 0.0, 9.0]]), torch.zeros(1, 3), torch.tensor([2]))
        tensor([1.5000])
    """
    off = (predicted - gold).abs() * _real(lengths, gold.shape[-1])
    return off.sum(-1) / lengths


def _real(lengths: Tensor, width: int) -> Tensor:
    """[B, width], 1 at words and 0 at padding."""
    places = lengths.new_ones(width).cumsum(0) - 1
    return (places < lengths[:, None]).to(lengths.dtype)
