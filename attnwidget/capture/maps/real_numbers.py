"""Conversion of arrays from any library to numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def real_numbers(array: Any, name: str, form: str) -> NDArray[Any]:
    """Return an array of real numbers or booleans, which may share memory with the input.

    Args:
        array: Numpy array, nested lists, or array of another library with `__array__`.
        name: Name of the array in error messages, a plural noun.
        form: Expected axes for error messages, for example "[layers, heads, queries, keys]".

    Raises:
        TypeError: The array has values that are neither real numbers nor booleans.
        ValueError: The parts of nested lists differ in shape.

    Example:
        >>> from attnwidget.capture.maps.real_numbers import real_numbers
        >>> real_numbers([[1.0, 2.0]], "weights", "[queries, keys]").shape
        (1, 2)
    """
    try:
        values = np.asarray(array)
    except ValueError as error:
        raise ValueError(
            f"the {name} are no array, since parts of it have other shapes ({error}): pass {form}"
        ) from error
    if values.dtype.name == "bfloat16":  # numpy does not count this type of JAX as a float.
        return values.astype(np.float32)
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be real numbers, got an array of {values.dtype}")
    return values
