"""Arrays of numpy and tensors of torch in the same code, which runs without torch too.

Both libraries have functions of the same names for most operations, and torch accepts numpy's names
of arguments (`axis`, `keepdims`). This file has the few operations that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: A tensor of torch or an array of numpy.
Array: TypeAlias = Any


def library_of(array: Array) -> Any:
    """Return the module numpy for an array of numpy, and torch for a tensor.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.array_library import library_of
        >>> library_of(np.zeros(2)).__name__
        'numpy'
    """
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


def as_numpy(array: Array) -> NDArray[Any]:
    """Return an array on the CPU, which shares memory with the given array if possible.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.array_library import as_numpy
        >>> as_numpy(torch.ones(2))
        array([1., 1.], dtype=float32)
    """
    if isinstance(array, np.ndarray):
        return array
    values: NDArray[Any] = array.detach().cpu().numpy()
    return values


def take(array: Array, places: Sequence[int] | NDArray[np.int64], axis: int) -> Array:
    """Return the entries of `array` at `places` of one axis.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.array_library import take
        >>> take(np.array([[1, 2, 3]]), [2, 0], axis=-1)
        array([[3, 1]])
    """
    indices = np.asarray(places, np.int64)
    if isinstance(array, np.ndarray):
        return np.take(array, indices, axis)
    import torch

    return array.index_select(axis, torch.from_numpy(indices).to(array.device))


def largest_entries(values: Array, count: int) -> tuple[list[float], list[int]]:
    """Return the largest entries of [n] and their places, largest first.

    Args:
        values: Real numbers, [n].
        count: Number of entries; at most n are returned.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.array_library import largest_entries
        >>> largest_entries(np.array([0.5, 0.25, 1.0]), 2)
        ([1.0, 0.5], [2, 0])
    """
    count = min(count, len(values))
    if not isinstance(values, np.ndarray):
        best = values.topk(count)
        return best.values.tolist(), best.indices.tolist()
    if not count:
        return [], []
    places = np.argpartition(-values, count - 1)[:count]
    places = places[np.argsort(-values[places], kind="stable")]
    return values[places].tolist(), places.tolist()
