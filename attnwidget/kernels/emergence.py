"""The step of a training from which on a number is above half of its final value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def emergence(values: ArrayLike) -> NDArray[np.int64]:
    """Return the first step whose value is above half of the final value, and stays above it.

    Args:
        values: [T, ...], a number at each of T steps, such as the score of a head minus its
            control.

    Returns:
        Indices of steps, int64 [...]; T where the final value is not above 0.

    Example:
        >>> from attnwidget.kernels.emergence import emergence
        >>> emergence([[0.0, 0.3], [0.6, 0.1], [0.2, 0.0], [0.7, -0.1], [0.8, 0.0]]).tolist()
        [3, 5]
    """
    numbers = np.asarray(values, dtype=np.float64)
    final = numbers[-1]
    above = numbers > final / 2
    stays = np.logical_and.accumulate(above[::-1])[::-1]
    never = ~stays.any(0) | (final <= 0)
    return np.where(never, len(numbers), stays.argmax(0))
