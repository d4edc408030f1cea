"""Checks of integer arguments: positions, counts and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index as as_index


def whole_number(name: str, value: object, least: int | None = None, unit: str = "") -> int:
    """Return an argument as an int.

    Python treats booleans as 0 and 1, but a boolean instead of a number is probably a mistake, so
    it raises TypeError.

    Args:
        name: Name of the argument, for the message.
        value: An int, or an integer of numpy, pandas or torch.
        least: Smallest allowed number; None = any.
        unit: Noun that follows the number in the message.

    Raises:
        TypeError: The value is not an integer.
        ValueError: The value is below `least`.

    Example:
        >>> import numpy as np
        >>> whole_number("limit", np.int64(3), 1)
        3
        >>> whole_number("limit", True, 1)
        Traceback (most recent call last):
        TypeError: limit must be an integer >= 1, got True
        >>> whole_number("limit", 0, 1, "sentence")
        Traceback (most recent call last):
        ValueError: limit must be at least 1 sentence, got 0
    """
    if not is_whole_number(value):
        bound = "" if least is None else f" >= {least}"
        raise TypeError(f"{name} must be an integer{bound}, got {value!r}")
    number = as_index(value)  # type: ignore[arg-type]
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {f'{least} {unit}'.rstrip()}, got {number}")
    return number


def whole_numbers(name: str, values: object, least: int | None = None) -> list[int]:
    """Return an argument as a list of ints.

    Args:
        name: Name of the argument, for the message.
        values: Iterable of integers.
        least: Smallest allowed number; None = any.

    Raises:
        TypeError: The value is not a list, or an entry is not an integer.
        ValueError: An entry is below `least`.

    Example:
        >>> whole_numbers("at", range(2))
        [0, 1]
        >>> whole_numbers("at", 3)
        Traceback (most recent call last):
        TypeError: at must be a list of integers, such as [1], got 3
    """
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of integers, such as [1], got {values!r}")
    return [whole_number(f"an entry of {name}", value, least) for value in values]


def is_whole_number(value: object) -> bool:
    """Return whether a value is an integer of any library, but not a boolean.

    Args:
        value: Value to check.

    Example:
        >>> is_whole_number(3), is_whole_number(3.0), is_whole_number(True)
        (True, False, False)
    """
    if isinstance(value, bool) or "bool" in str(getattr(value, "dtype", "")):
        return False
    try:
        as_index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True
