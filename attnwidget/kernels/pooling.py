"""Reduction of maps to thumbnails, for numpy arrays and torch tensors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.array_library import Array, converted, is_on_cpu, library_of, take

#: Largest number of cells on each side of a thumbnail.
SIDE = 64


def cell_edges(length: int, side: int = SIDE, block: int | None = None) -> NDArray[np.int64]:
    """Return the first position and the end of each cell on an axis, [cells, 2].

    Args:
        length: Number of positions on the axis.
        side: Largest number of cells. If it does not divide the length, neighboring cells share
            their border, so that no weight is lost.
        block: Length of all cells except the last; None = the smallest length for `side` cells.

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
    """Return the largest value in each cell along one axis.

    Args:
        maps: Maps, array or tensor.
        edges: First position and end of each cell, from `cell_edges`.
        axis: Axis of the cells.

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
    # For each n, the n-th position of every cell; short cells repeat their last position.
    positions = [np.minimum(starts + n, ends - 1) for n in range(int(lengths.max()))]
    if not is_on_cpu(maps):
        return _maxima_at_once(maps, positions, axis)
    maxima = take(maps, positions[0], axis)
    for position in positions[1:]:
        maxima = library_of(maps).maximum(maxima, take(maps, position, axis))
    return maxima


def _maxima_at_once(maps: Array, places: list[NDArray[np.int64]], axis: int) -> Array:
    """Return the maxima of all cells on an axis in one operation, which is fast on a GPU."""
    cell_positions = np.stack(places, -1)  # [cells, positions in a cell]
    axis %= maps.ndim
    shape = (*maps.shape[:axis], *cell_positions.shape, *maps.shape[axis + 1 :])
    return library_of(maps).amax(take(maps, cell_positions.ravel(), axis).reshape(shape), axis + 1)


def max_pool(
    maps: Array,
    rows: NDArray[np.int64] | None = None,
    columns: NDArray[np.int64] | None = None,
) -> Array:
    """Return the largest value in each cell of maps, [..., rows, columns].

    Args:
        maps: Maps [..., Q, K], array or tensor.
        rows: Cells of the queries, from `cell_edges`; None = at most 64 cells.
        columns: Cells of the keys, from `cell_edges`; None = at most 64 cells.

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
    """Return the maximum of each block of neighbors on an axis; the last block may be shorter.

    On any axis but the last, this takes a tenth of the time, because neighbors in memory belong to
    different blocks.

    Args:
        values: Values [..., n], array or tensor.
        block: Length of a block.
        axis: Axis of the blocks.

    Returns:
        Maxima [..., ceil(n / block)] for the last axis.

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
    complete_length = length // block * block
    maxima = values[(*inside, slice(0))]
    if complete_length:
        blocks = values[(*inside, slice(complete_length))].reshape(
            *before, complete_length // block, block, *after
        )
        maxima = library.amax(blocks, axis + 1)
    if complete_length == length:
        return maxima
    last_block = library.amax(values[(*inside, slice(complete_length, None))], axis, keepdims=True)
    return library.concatenate([maxima, last_block], axis)


def farthest_pool(
    maps: Array,
    rows: NDArray[np.int64] | None = None,
    columns: NDArray[np.int64] | None = None,
) -> Array:
    """Return the value farthest from 0 in each cell; the positive value if two are equally far.

    The arguments are the same as in `max_pool`.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.pooling import cell_edges, farthest_pool
        >>> maps = torch.tensor([[0.1, -0.3], [0.0, 0.2]])
        >>> farthest_pool(maps, cell_edges(2, 1), cell_edges(2, 1))
        tensor([[-0.3000]])
    """
    largest = max_pool(maps, rows, columns)
    negated_smallest = max_pool(-maps, rows, columns)
    return library_of(maps).where(negated_smallest > largest, -negated_smallest, largest)


def quantize(maps: Array) -> tuple[Array, Array]:
    """Return weights as bytes, round(255 sqrt(weight / maximum)), and the maximum of each map.

    With the square root, small weights of a heavy-tailed distribution remain distinguishable. A map
    of zeros remains zero.

    Args:
        maps: Maps [..., Q, K], not negative.

    Returns:
        The bytes, uint8 [..., Q, K], and the maxima, float32 [...].

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
    """Return differences as bytes around 128, and the value farthest from 0 in each map.

    A byte is 128 + sign round(127 sqrt(|value| / largest)). All bytes for a map of zeros are 128.

    Args:
        maps: Maps [..., Q, K] of any sign.

    Returns:
        The bytes, uint8 [..., Q, K], and the value farthest from 0, float32 [...].

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
    # The maximum of a single numpy map is a scalar, not an array.
    return np.asarray(largest) if isinstance(maps, np.ndarray) else largest


def _above_zero(maxima: Array) -> Array:
    """Return maxima as positive divisors of maps, [..., 1, 1]."""
    library = library_of(maxima)
    tiny = float(library.finfo(maxima.dtype).tiny)
    return library.clip(maxima, tiny, None)[..., None, None]
