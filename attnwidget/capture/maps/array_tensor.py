"""Conversion of arrays from any library to torch tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from attnwidget.capture.maps.real_numbers import real_numbers


def tensor_of(array: Any, name: str, form: str) -> Tensor:
    """Return a dense tensor of real numbers or booleans, which may share memory with the array.

    Args:
        array: Torch tensor, numpy array, nested lists, or array of another library with
            `__dlpack__` (JAX, CuPy) or `__array__`.
        name: Name of the array in error messages, a plural noun.
        form: Expected axes for error messages, for example "[layers, heads, queries, keys]".

    Raises:
        TypeError: The array has values that are neither real numbers nor booleans.
        ValueError: The parts of nested lists differ in shape, or the tensor has no values.

    Example:
        >>> from attnwidget.capture.maps.array_tensor import tensor_of
        >>> tensor_of([[1.0, 2.0]], "weights", "[queries, keys]").shape
        torch.Size([1, 2])
    """
    if not isinstance(array, Tensor):
        array = _exchanged(array, name, form)
    if array.is_meta:
        raise ValueError(f"the {name} are on the device 'meta', where tensors have no numbers")
    if array.is_complex():
        raise TypeError(f"{name} must be real numbers, got {array.dtype}")
    dense: Tensor = array.detach().to_dense()
    return dense


def _exchanged(array: Any, name: str, form: str) -> Tensor:
    if hasattr(array, "__dlpack__") and not isinstance(array, np.ndarray):
        try:
            return from_dlpack(array)
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # For example, torch cannot read the array's device. numpy copies from there.
    # torch accepts no foreign byte order, no negative strides, and no floats above 64 bits.
    values = real_numbers(array, name, form)
    is_wide = values.dtype.kind == "f" and values.dtype.itemsize > 8
    kind = np.dtype(np.float64) if is_wide else values.dtype.newbyteorder("=")
    return torch.from_numpy(np.require(values, kind, ["C_CONTIGUOUS", "WRITEABLE"]))
