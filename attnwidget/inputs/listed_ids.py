"""Conversion of vocabulary ids in tensors and arrays to lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attnwidget.text.whole_number import is_whole_number


def listed(text: Any) -> Any:
    """Return ids or words in a tensor or an array as a list, and any other input unchanged.

    Args:
        text: Input of a model. A tensor or an array is [n], or [1, n], a batch of one. A list of
            ids may be inside another list.

    Raises:
        ValueError: An array has no ids, or another shape, for example several inputs.
        TypeError: An array has numbers that are not ids.

    Example:
        >>> import numpy as np
        >>> from attnwidget.inputs.listed_ids import listed
        >>> listed(np.array([[2, 7, 3]])), listed("Cats purr")
        ([2, 7, 3], 'Cats purr')
    """
    if isinstance(text, (str, bytes, Mapping)):
        return text
    if not is_array(text):
        if not isinstance(text, (list, tuple)) or len(text) != 1:
            return text
        is_rows = is_array(text[0]) and len(text[0].shape) > 0
        row = listed(text[0]) if is_rows else text[0]
        is_row = isinstance(row, (list, tuple)) and len(row) > 0
        return list(row) if is_row and all(map(is_whole_number, row)) else text
    shape = list(text.shape)
    if len(shape) == 2 and shape[0] == 1:
        values = text.tolist()[0]
    elif len(shape) == 1:
        values = text.tolist()
    else:
        raise ValueError(
            f"ids have the shape [n], or [1, n] for a batch of one, got {shape}: for several "
            "inputs use attend_batch(list_of_ids), with the ids of each input and no padding; a "
            "picture is passed by name, images=..."
        )
    if not values:
        raise ValueError(f"ids have the shape {shape}: pass at least one id")
    # The values must be integers, or words in an array of strings. Booleans are not ids.
    if not all(isinstance(value, (int, str)) and not isinstance(value, bool) for value in values):
        raise TypeError(
            f"vocabulary ids must be integers, got {type(text).__name__} of {text.dtype}: pass "
            'vectors of tokens as a dict, attend({"inputs_embeds": ...})'
        )
    return values


def is_array(text: object) -> bool:
    """Return whether an input is a tensor or an array of any library.

    Example:
        >>> import numpy as np
        >>> from attnwidget.inputs.listed_ids import is_array
        >>> is_array(np.array([2, 7, 3])), is_array([2, 7, 3])
        (True, False)
    """
    return all(hasattr(text, name) for name in ("shape", "dtype", "tolist"))
