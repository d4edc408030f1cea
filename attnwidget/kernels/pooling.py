"""Maps made small enough to draw many of, as arrays of numpy or tensors of torch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.array_library import Array, converted, is_on_cpu, library_of, take

#: Cells on a side of the small picture of a map.
SIDE = 64


def max_pool(maps: Array, side: int = SIDE) -> Array:
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
    for axis in (-2, -1):
        if maps.shape[axis] <= side:
            continue
        if not is_on_cpu(maps):
            maps = _pool_at_once(maps, side, axis)
            continue
        first, *others = _places_of_cells(maps.shape[axis], side)
        maxima = take(maps, first, axis)
        for places in others:
            maxima = library_of(maps).maximum(maxima, take(maps, places, axis))
        maps = maxima
    return maps


def _pool_at_once(maps: Array, side: int, axis: int) -> Array:
    """Return the maxima of all cells of an axis in one operation, as is fast on a GPU."""
    places = np.stack(_places_of_cells(maps.shape[axis], side), -1)  # [side, places of a cell]
    axis += maps.ndim
    shape = (*maps.shape[:axis], *places.shape, *maps.shape[axis + 1 :])
    return library_of(maps).amax(take(maps, places.ravel(), axis).reshape(shape), axis + 1)


def _places_of_cells(length: int, side: int) -> list[NDArray[np.int64]]:
    """Return the n-th place of every cell, for each n; short cells repeat their last place."""
    cells = np.arange(side)
    starts = cells * length // side
    ends = -(-(cells + 1) * length // side)
    return [np.minimum(starts + n, ends - 1) for n in range(int((ends - starts).max()))]


def block_maxima(values: Array, block: int, axis: int = -1) -> Array:
    """The maximum of every `block` neighbours on an axis; the last block may be shorter.

    `values` [..., n]; returns [..., ceil(n / block)], with `axis=-1`. On an axis before the last,
    the maxima take a tenth of the time, because neighbours in memory belong to different blocks.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import block_maxima
        >>> block_maxima(torch.tensor([1.0, 3.0, 2.0, 0.0, 5.0]), 2)
        tensor([3., 2., 5.])
        >>> block_maxima(torch.tensor([[1.0, 3.0], [2.0, 0.0]]), 2, axis=-2)
        tensor([[2., 3.]])
    """
    if block == 1:
        return values
    library = library_of(values)
    axis %= values.ndim
    before, length, after = values.shape[:axis], values.shape[axis], values.shape[axis + 1 :]
    inside = (slice(None),) * axis
    whole = length // block * block
    maxima = values[(*inside, slice(0))]
    if whole:
        blocks = values[(*inside, slice(whole))].reshape(*before, whole // block, block, *after)
        maxima = library.amax(blocks, axis + 1)
    if whole == length:
        return maxima
    rest = library.amax(values[(*inside, slice(whole, None))], axis, keepdims=True)
    return library.concatenate([maxima, rest], axis)


def farthest_pool(maps: Array, side: int = SIDE) -> Array:
    """The value farthest from 0 under each thumbnail cell, as `max_pool`; of equals the positive.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import farthest_pool
        >>> farthest_pool(torch.tensor([[0.1, -0.3], [0.0, 0.2]]), side=1)
        tensor([[-0.3000]])
    """
    above = max_pool(maps, side)
    below = max_pool(-maps, side)
    return library_of(maps).where(below > above, -below, above)


def quantise(maps: Array) -> tuple[Array, Array]:
    """Weights as bytes of round(255 sqrt(weight / the map's maximum)), and those maxima.

    `maps` [..., Q, K] non-negative; returns uint8 of the same shape and float32 [...]. The square
    root keeps heavy-tailed weights apart; an all-zero map stays zero.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import quantise
        >>> quantise(torch.tensor([[0.25, 1.0]]))
        (tensor([[128, 255]], dtype=torch.uint8), tensor(1.))
    """
    library = library_of(maps)
    maxima = _largest(maps)
    steps = library.round(255 * library.sqrt(maps / _above_zero(maxima)))
    return converted(steps, "uint8"), converted(maxima, "float32")


def quantise_signed(maps: Array) -> tuple[Array, Array]:
    """Return differences as bytes around 128, keeping the value farthest from 0 in each block.

    `maps` [..., Q, K] of any sign; returns uint8 of 128 + sign round(127 sqrt(|value| / largest))
    of the same shape, and float32 [...]. A map of zeros is 128 throughout.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import quantise_signed
        >>> quantise_signed(torch.tensor([[0.25, 0.0, -1.0]]))
        (tensor([[192, 128,   1]], dtype=torch.uint8), tensor(-1.))
    """
    library = library_of(maps)
    sizes = library.abs(maps)
    largest = _largest(sizes)
    sizes = library.round(127 * library.sqrt(sizes / _above_zero(largest)))
    steps = 128 + library.sign(maps) * sizes
    signed = library.where(_largest(maps) < largest, -largest, largest)
    return converted(steps, "uint8"), converted(signed, "float32")


def _largest(maps: Array) -> Array:
    """Return the largest value of each map, [...]."""
    largest = library_of(maps).amax(maps, (-2, -1))
    # The maximum of a single map of numpy is a number.
    return np.asarray(largest) if isinstance(maps, np.ndarray) else largest


def _above_zero(maxima: Array) -> Array:
    """Return positive divisors of maps, [..., 1, 1]."""
    library = library_of(maxima)
    tiny = float(library.finfo(maxima.dtype).tiny)
    return library.clip(maxima, tiny, None)[..., None, None]
