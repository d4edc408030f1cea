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
    rows = min(maps.shape[-2], side)
    columns = min(maps.shape[-1], side)
    if (rows, columns) == maps.shape[-2:]:
        return maps
    flat = maps.reshape(-1, 1, *maps.shape[-2:])
    return adaptive_max_pool2d(flat, (rows, columns)).reshape(*maps.shape[:-2], rows, columns)


def block_maxima(values: Tensor, block: int) -> Tensor:
    """The maximum of every `block` neighbours on the last axis; the last block may be shorter.

    `values` [..., n]; returns [..., ceil(n / block)].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import block_maxima
        >>> block_maxima(torch.tensor([1.0, 3.0, 2.0, 0.0, 5.0]), 2)
        tensor([3., 2., 5.])
    """
    if block == 1:
        return values
    whole = values.shape[-1] // block * block
    maxima = values[..., :whole].unflatten(-1, (-1, block)).amax(-1) if whole else values[..., :0]
    if whole == values.shape[-1]:
        return maxima
    return torch.cat([maxima, values[..., whole:].amax(-1, keepdim=True)], -1)


def farthest_pool(maps: Tensor, side: int = 64) -> Tensor:
    """The value farthest from 0 under each thumbnail cell, as `max_pool`; of equals the positive.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import farthest_pool
        >>> farthest_pool(torch.tensor([[0.1, -0.3], [0.0, 0.2]]), side=1)
        tensor([[-0.3000]])
    """
    above = max_pool(maps, side)
    below = max_pool(-maps, side)
    return torch.where(below > above, -below, above)


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


def quantise_signed(maps: Tensor) -> tuple[Tensor, Tensor]:
    """Return differences as bytes around 128, keeping the value farthest from 0 in each block.

    `maps` [..., Q, K] of any sign; returns uint8 of 128 + sign round(127 sqrt(|value| / largest))
    of the same shape, and float32 [...]. A map of zeros is 128 throughout.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import quantise_signed
        >>> quantise_signed(torch.tensor([[0.25, 0.0, -1.0]]))
        (tensor([[192, 128,   1]], dtype=torch.uint8), tensor(-1.))
    """
    sizes = maps.abs()
    largest = sizes.amax(dim=(-2, -1))
    scaled = sizes / largest.clamp_min(torch.finfo(maps.dtype).tiny)[..., None, None]
    steps = maps.sign() * scaled.sqrt().mul(127).round()
    return (128 + steps).to(torch.uint8), torch.where(
        maps.amax((-2, -1)) < largest, -largest, largest
    ).float()
