"""Titles that name the head with the largest value, overall or per series."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MOST_SERIES = 2
"""Maximum number of series in a title; the series with the largest values come first."""
_DIGITS = ".3g"


def answer_title(title: str, heads: ArrayLike | Mapping[str, ArrayLike]) -> str:
    r"""Return a title whose first line also names the head with the value furthest from 0.

    Args:
        title: Figure title; further lines become the subtitle.
        heads: Values in the figure, [L, H], or a mapping from series names to such arrays. NaN
            marks a head that was not measured.

    Returns:
        The title, unchanged if no value is finite or if there is only one head.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.answer_title import answer_title
        >>> answer_title("Weight at the object\nsmall BERT", np.array([[0.1, 0.8]]))
        'Weight at the object: most in L0 H1 (0.8)\nsmall BERT'
        >>> answer_title("Heads", {"copying": np.eye(2), "suppression": np.zeros((2, 2))})
        'Heads: copying most in L0 H0 (1)'
    """
    series = heads if isinstance(heads, Mapping) else {"": heads}
    arrays = {name: np.asarray(values, np.float64) for name, values in series.items()}
    sizes = {name: _largest(values) for name, values in arrays.items() if values.size > 1}
    best = sorted((name for name in sizes if sizes[name] > 0), key=lambda name: -sizes[name])
    # Keep the order of the series.
    named_series = [name for name in arrays if name in best[:_MOST_SERIES]]
    answers = [f"{name} {_said(arrays[name])}".strip() for name in named_series]
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
