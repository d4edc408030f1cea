"""Structural probe: trees as squared distances after a linear map (Hewitt and Manning 2019)."""

from __future__ import annotations

from torch import Tensor


def squared_distances(projected: Tensor) -> Tensor:
    """Return squared Euclidean distances between all words, |B^T (h_i - h_j)|^2.

    Args:
        projected: Word vectors h after the map B, B^T h, [..., m, r].

    Returns:
        Squared distances [..., m, m], symmetric up to rounding, not negative.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.structural_probe import squared_distances
        >>> squared_distances(torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]))
        tensor([[0., 1., 5.],
                [1., 0., 4.],
                [5., 4., 0.]])
    """
    # Move the origin to the first word: distances do not change, and rounding errors are smaller.
    centered = projected - projected[..., :1, :]
    squares = squared_lengths(centered)
    products = centered @ centered.mT
    return (squares[..., :, None] + squares[..., None, :] - 2 * products).clamp_min(0)


def squared_lengths(projected: Tensor) -> Tensor:
    """Return the predicted depths: squared norms of the projected word vectors, |B^T h_i|^2.

    Args:
        projected: Word vectors h after the map B, B^T h, [..., m, r].

    Returns:
        Predicted depths [..., m].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.structural_probe import squared_lengths
        >>> squared_lengths(torch.tensor([[0.0, 0.0], [1.0, 2.0]]))
        tensor([0., 5.])
    """
    return projected.square().sum(-1)


def distance_loss(predicted: Tensor, gold: Tensor, lengths: Tensor) -> Tensor:
    """Return the sum over all ordered word pairs of |gold - predicted| / m^2, for each sentence.

    Args:
        predicted: Predicted distances [..., B, m, m].
        gold: True distances [B, m, m].
        lengths: Number of words in each sentence, which come before the padding, [B].

    Returns:
        Losses [..., B].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.structural_probe import distance_loss
        >>> gold = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
        >>> distance_loss(torch.zeros(1, 2, 2), gold, torch.tensor([2]))
        tensor([0.5000])
    """
    real = _real(lengths, gold.shape[-1])
    errors = (predicted - gold).abs() * (real[:, :, None] * real[:, None])
    return errors.sum((-1, -2)) / lengths.square()


def depth_loss(predicted: Tensor, gold: Tensor, lengths: Tensor) -> Tensor:
    """Return the sum over words of |gold - predicted| / m, for each sentence.

    Args:
        predicted: Predicted depths [..., B, m].
        gold: True depths [B, m].
        lengths: Number of words in each sentence, which come before the padding, [B].

    Returns:
        Losses [..., B].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.structural_probe import depth_loss
        >>> depth_loss(torch.tensor([[3.0, 0.0, 9.0]]), torch.zeros(1, 3), torch.tensor([2]))
        tensor([1.5000])
    """
    errors = (predicted - gold).abs() * _real(lengths, gold.shape[-1])
    return errors.sum(-1) / lengths


def _real(lengths: Tensor, width: int) -> Tensor:
    """Return 1 at words and 0 at padding, [B, width]."""
    positions = lengths.new_ones(width).cumsum(0) - 1
    return (positions < lengths[:, None]).to(lengths.dtype)
