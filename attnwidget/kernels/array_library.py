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


def is_on_cpu(array: Array) -> bool:
    """Return whether the numbers of an array are in the memory of the CPU.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.array_library import is_on_cpu
        >>> is_on_cpu(np.ones(2))
        True
    """
    return isinstance(array, np.ndarray) or array.device.type == "cpu"


def joined(arrays: Sequence[Array]) -> NDArray[Any]:
    """Return the joined arrays on the CPU, copied once if all are on the same device.

    A copy from a GPU waits for all work there, so results of many layers are copied together.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.array_library import joined
        >>> joined([torch.ones(2), torch.zeros(1)])
        array([1., 1., 0.], dtype=float32)
    """
    first = arrays[0]
    if all(not is_on_cpu(array) and array.device == first.device for array in arrays):
        return as_numpy(library_of(first).concatenate(list(arrays)))
    return np.concatenate([as_numpy(array) for array in arrays])


def as_torch(array: Array) -> Any:
    """Return a tensor on the array's device, which shares memory with the given array.

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
    """Return an array in the library and on the device of another array, with its own dtype.

    Example:
        >>> import numpy as np, torch
        >>> from attnwidget.kernels.array_library import beside
        >>> beside(np.ones(2, np.float32), torch.zeros(3))
        tensor([1., 1.])
    """
    return as_numpy(array) if isinstance(other, np.ndarray) else as_torch(array).to(other.device)


def converted(array: Array, dtype: str) -> Array:
    """Return an array with another dtype; the array itself if it has this dtype.

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

    Example:
        >>> import torch
        >>> from attnwidget.kernels.array_library import copied
        >>> copied(torch.ones(2))
        tensor([1., 1.])
    """
    return array.copy() if isinstance(array, np.ndarray) else array.clone()


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
