"""Vocabulary ids in tensors and arrays, as lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def listed(text: Any) -> Any:
    """Return ids or words in a tensor or an array as a list, and any other input unchanged.

    Args:
        text: An input of a model. A tensor or an array is [n], or [1, n], a batch of one. A list of
            ids may be in another list.

    Raises:
        ValueError: An array of another shape, such as several inputs.
        TypeError: An array of numbers that are no ids.

    Example:
        >>> import numpy as np
        >>> from attnwidget.capture.hub_model.listed_ids import listed
        >>> listed(np.array([[2, 7, 3]])), listed("Cats purr")
        ([2, 7, 3], 'Cats purr')
    """
    if isinstance(text, (str, bytes, Mapping)):
        return text
    if not (hasattr(text, "tolist") and hasattr(text, "shape")):
        if (
            isinstance(text, (list, tuple))
            and len(text) == 1
            and isinstance(text[0], (list, tuple))
        ):
            row = list(text[0])
            return row if row and all(hasattr(token_id, "__index__") for token_id in row) else text
        return text
    shape = list(text.shape)
    if len(shape) == 2 and shape[0] == 1:
        values = text.tolist()[0]
    elif len(shape) == 1:
        values = text.tolist()
    else:
        raise ValueError(
            f"ids have the shape [n], or [1, n] for a batch of one, got {shape}: for several "
            "inputs use attend_batch(list(ids))"
        )
    # Integers, or the words of an array of strings. Booleans are no ids.
    if not all(isinstance(value, (int, str)) and not isinstance(value, bool) for value in values):
        raise TypeError(
            f"vocabulary ids are integers, got {type(text).__name__} of {text.dtype}: pass vectors "
            'of tokens as a dict, attend({"inputs_embeds": ...})'
        )
    return values
