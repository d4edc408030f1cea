"""Maps made small enough to draw many of, as arrays of numpy or tensors of torch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.array_library import Array, converted, is_on_cpu, library_of, take

#: Cells on a side of the small picture of a map.
SIDE = 64


def cell_edges(length: int, side: int = SIDE, block: int | None = None) -> NDArray[np.int64]:
    """Return the first place and the end of each cell of an axis, [cells, 2].

    Args:
        length: Number of places on the axis.
        side: Largest number of cells. Where it does not divide the length, neighboring cells share
            their border, so that no weight is lost.
        block: Length of every cell but the last; None = as few places as `side` cells need.

    Example:
        >>> from attnwidget.kernels.pooling import cell_edges
        >>> cell_edges(5, side=2).tolist(), cell_edges(5, block=2).tolist()
        ([[0, 3], [2, 5]], [[0, 2], [2, 4], [4, 5]])
    """
    if block is not None:
        starts = np.arange(0, length, block)
        return np.stack([starts, np.minimum(starts + block, length)], -1)
    side = min(side, length)
    cells = np.arange(side)
    return np.stack([cells * length // side, -(-(cells + 1) * length // side)], -1)


def cell_maxima(maps: Array, edges: NDArray[np.int64], axis: int) -> Array:
    """Return the largest value of each cell of `cell_edges` along one axis.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import cell_edges, cell_maxima
        >>> cell_maxima(torch.tensor([1.0, 5.0, 2.0, 3.0, 4.0]), cell_edges(5, side=2), 0)
        tensor([5., 4.])
    """
    starts, ends = edges.T
    lengths = ends - starts
    if lengths.max(initial=1) == 1:
        return maps
    if (starts[1:] == ends[:-1]).all() and (lengths[:-1] == lengths[0]).all():
        return block_maxima(maps, int(lengths[0]), axis)
    # The n-th place of every cell, for each n; short cells repeat their last place.
    places = [np.minimum(starts + n, ends - 1) for n in range(int(lengths.max()))]
    if not is_on_cpu(maps):
        return _maxima_at_once(maps, places, axis)
    maxima = take(maps, places[0], axis)
    for each in places[1:]:
        maxima = library_of(maps).maximum(maxima, take(maps, each, axis))
    return maxima


def _maxima_at_once(maps: Array, places: list[NDArray[np.int64]], axis: int) -> Array:
    """Return the maxima of all cells of an axis in one operation, as is fast on a GPU."""
    of_cells = np.stack(places, -1)  # [cells, places of a cell]
    axis %= maps.ndim
    shape = (*maps.shape[:axis], *of_cells.shape, *maps.shape[axis + 1 :])
    return library_of(maps).amax(take(maps, of_cells.ravel(), axis).reshape(shape), axis + 1)


def max_pool(
    maps: Array,
    rows: NDArray[np.int64] | None = None,
    columns: NDArray[np.int64] | None = None,
) -> Array:
    """Return the largest value of each cell of maps [..., Q, K], as [..., rows, columns].

    Args:
        maps: The maps.
        rows: The cells of the queries, as `cell_edges` gives them; None = at most 64.
        columns: The cells of the keys; None = at most 64.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import cell_edges, max_pool
        >>> max_pool(torch.arange(16.0).reshape(4, 4), cell_edges(4, 2), cell_edges(4, 2))
        tensor([[ 5.,  7.],
                [13., 15.]])
    """
    n_query, n_key = maps.shape[-2:]
    rows = cell_edges(n_query) if rows is None else rows
    columns = cell_edges(n_key) if columns is None else columns
    return cell_maxima(cell_maxima(maps, rows, -2), columns, -1)


def block_maxima(values: Array, block: int, axis: int = -1) -> Array:
    """The maximum of every `block` neighbors on an axis; the last block may be shorter.

    `values` [..., n]; returns [..., ceil(n / block)], with `axis=-1`. On an axis before the last,
    the maxima take a tenth of the time, because neighbors in memory belong to different blocks.

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


def farthest_pool(
    maps: Array,
    rows: NDArray[np.int64] | None = None,
    columns: NDArray[np.int64] | None = None,
) -> Array:
    """Return the value farthest from 0 of each cell, as `max_pool`; of equals the positive.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import cell_edges, farthest_pool
        >>> maps = torch.tensor([[0.1, -0.3], [0.0, 0.2]])
        >>> farthest_pool(maps, cell_edges(2, 1), cell_edges(2, 1))
        tensor([[-0.3000]])
    """
    above = max_pool(maps, rows, columns)
    below = max_pool(-maps, rows, columns)
    return library_of(maps).where(below > above, -below, above)


def quantize(maps: Array) -> tuple[Array, Array]:
    """Weights as bytes of round(255 sqrt(weight / the map's maximum)), and those maxima.

    `maps` [..., Q, K] non-negative; returns uint8 of the same shape and float32 [...]. The square
    root keeps heavy-tailed weights apart; an all-zero map stays zero.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import quantize
        >>> quantize(torch.tensor([[0.25, 1.0]]))
        (tensor([[128, 255]], dtype=torch.uint8), tensor(1.))
    """
    library = library_of(maps)
    maxima = _largest(maps)
    steps = library.round(255 * library.sqrt(maps / _above_zero(maxima)))
    return converted(steps, "uint8"), converted(maxima, "float32")


def quantize_signed(maps: Array) -> tuple[Array, Array]:
    """Return differences as bytes around 128, keeping the value farthest from 0 in each block.

    `maps` [..., Q, K] of any sign; returns uint8 of 128 + sign round(127 sqrt(|value| / largest))
    of the same shape, and float32 [...]. A map of zeros is 128 throughout.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import quantize_signed
        >>> quantize_signed(torch.tensor([[0.25, 0.0, -1.0]]))
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
