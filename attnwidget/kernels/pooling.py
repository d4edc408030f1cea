"""Maps made small enough to draw many of."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import adaptive_max_pool2d


def max_pool(maps: Tensor, side: int = 64) -> Tensor:
    """The maximum under each thumbnail cell; a map already small enough is returned as it is.

    `maps` [..., Q, K]; returns [..., min(Q, side), min(K, side)]. Where `side` does not divide a
    length, neighbouring cells share their border row, so that no weight is lost.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import max_pool
        >>> max_pool(torch.arange(16.0).reshape(4, 4), side=2)
        tensor([[ 5.,  7.],
                [13., 15.]])
    """
    rows, columns = min(maps.shape[-2], side), min(maps.shape[-1], side)
    if (rows, columns) == maps.shape[-2:]:
        return maps
    flat = maps.reshape(-1, 1, *maps.shape[-2:])
    return adaptive_max_pool2d(flat, (rows, columns)).reshape(*maps.shape[:-2], rows, columns)


def quantise(maps: Tensor) -> tuple[Tensor, Tensor]:
    """Weights as bytes of round(255 sqrt(weight / the map's maximum)), and those maxima.

    `maps` [..., Q, K] non-negative; returns uint8 of the same shape and float32 [...]. The square
    root keeps heavy-tailed weights apart; an all-zero map stays zero.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import quantise
        >>> quantise(torch.tensor([[0.25, 1.0]]))
        (tensor([[128, 255]], dtype=torch.uint8), tensor(1.))
    """
    maxima = maps.amax(dim=(-2, -1))
    scaled = maps / maxima.clamp_min(torch.finfo(maps.dtype).tiny)[..., None, None]
    return scaled.sqrt().mul(255).round().to(torch.uint8), maxima.float()
