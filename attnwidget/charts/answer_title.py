"""Titles that say the answer: the head with the largest value, or the largest of each series."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MOST_SERIES = 2
"""Series that a title names, those with the largest values."""
_DIGITS = ".3g"


def answer_title(title: str, heads: ArrayLike | Mapping[str, ArrayLike]) -> str:
    r"""Return a title whose first line also names the head with the value furthest from 0.

    Args:
        title: What is shown; further lines are the subtitle.
        heads: The drawn values, [L, H], or such arrays by the name of their series. NaN is a head
            that was not measured.

    Returns:
        The title. It stays as it is if no value is finite, or if there is only one head.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.answer_title import answer_title
        >>> answer_title("Weight at the object\nsmall BERT", np.array([[0.1, 0.8]]))
        'Weight at the object: most in L0 H1 (0.8)\nsmall BERT'
        >>> answer_title("Heads", {"copying": np.eye(2), "suppression": np.zeros((2, 2))})
        'Heads: copying most in L0 H0 (1)'
    """
    named = heads if isinstance(heads, Mapping) else {"": heads}
    arrays = {name: np.asarray(values, np.float64) for name, values in named.items()}
    sizes = {name: _largest(values) for name, values in arrays.items() if values.size > 1}
    best = sorted((name for name in sizes if sizes[name] > 0), key=lambda name: -sizes[name])
    # Series keep their order.
    shown = [name for name in arrays if name in best[:_MOST_SERIES]]
    answers = [f"{name} {_said(arrays[name])}".strip() for name in shown]
    if not answers:
        return title
    first, *rest = title.split("\n")
    return "\n".join([f"{first}: {', '.join(answers)}", *rest])


def _largest(values: NDArray[np.float64]) -> float:
    return float(np.nanmax(np.abs(values), initial=0.0)) if np.isfinite(values).any() else 0.0


def _said(values: NDArray[np.float64]) -> str:
    layer, head = np.unravel_index(int(np.nanargmax(np.abs(values))), values.shape)
    value = f"{values[layer, head]:{_DIGITS}}".replace("-", "−")
    return f"most in L{layer} H{head} ({value})"
