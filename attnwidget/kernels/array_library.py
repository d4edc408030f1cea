"""Operations on numpy arrays and torch tensors in the same code, which also runs without torch.

For most operations, both libraries have functions with the same name, and torch accepts numpy's
argument names (`axis`, `keepdims`). This file has the few operations that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: A torch tensor or a numpy array.
Array: TypeAlias = Any


def library_of(array: Array) -> Any:
    """Return the numpy module for a numpy array, and the torch module for a tensor.

    Args:
        array: Array or tensor.

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
    """Return a numpy array that shares memory with an array or tensor if possible.

    Args:
        array: Array or tensor on any device.

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


def is_on_cpu(array: Array) -> bool:
    """Return whether the values of an array are in CPU memory.

    Args:
        array: Array or tensor.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.array_library import is_on_cpu
        >>> is_on_cpu(np.ones(2))
        True
    """
    return isinstance(array, np.ndarray) or array.device.type == "cpu"


def joined(arrays: Sequence[Array]) -> NDArray[Any]:
    """Return concatenated arrays as a numpy array, with a single copy if all are on one device.

    A copy from a GPU waits for all work on it, so the results of many layers are copied together.

    Args:
        arrays: Arrays or tensors.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.array_library import joined
        >>> joined([torch.ones(2), torch.zeros(1)])
        array([1., 1., 0.], dtype=float32)
    """
    reference = arrays[0]
    if all(not is_on_cpu(array) and array.device == reference.device for array in arrays):
        return as_numpy(library_of(reference).concatenate(list(arrays)))
    return np.concatenate([as_numpy(array) for array in arrays])


def as_torch(array: Array) -> Any:
    """Return a tensor on the array's device that shares memory with the array.

    Args:
        array: Array or tensor.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.array_library import as_torch
        >>> as_torch(np.ones(2, np.float32))
        tensor([1., 1.])
    """
    if not isinstance(array, np.ndarray):
        return array
    import torch

    return torch.from_numpy(array)


def beside(array: Array, other: Array) -> Array:
    """Return an array in the library and on the device of another array.

    Args:
        array: Array or tensor to convert. The result keeps its dtype.
        other: Array or tensor that determines library and device.

    Example:
        >>> import numpy as np, torch
        >>> from attnwidget.kernels.array_library import beside
        >>> beside(np.ones(2, np.float32), torch.zeros(3))
        tensor([1., 1.])
    """
    return as_numpy(array) if isinstance(other, np.ndarray) else as_torch(array).to(other.device)


def converted(array: Array, dtype: str) -> Array:
    """Return an array with another dtype, or the array itself if it already has this dtype.

    Args:
        array: Array or tensor.
        dtype: Name of the dtype.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.array_library import converted
        >>> converted(np.ones(2), "float32").dtype
        dtype('float32')
    """
    if isinstance(array, np.ndarray):
        return array.astype(dtype, copy=False)
    return array.to(getattr(library_of(array), dtype))


def copied(array: Array) -> Array:
    """Return a copy of an array.

    Args:
        array: Array or tensor.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.array_library import copied
        >>> copied(torch.ones(2))
        tensor([1., 1.])
    """
    return array.copy() if isinstance(array, np.ndarray) else array.clone()


def take(array: Array, places: Sequence[int] | NDArray[np.int64], axis: int) -> Array:
    """Return the entries of an array at given positions along one axis.

    Args:
        array: Array or tensor.
        places: Positions of the entries.
        axis: Axis of the positions.

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
    """Return the largest entries and their positions, largest first.

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
    positions = np.argpartition(-values, count - 1)[:count]
    positions = positions[np.argsort(-values[positions], kind="stable")]
    return values[positions].tolist(), positions.tolist()
