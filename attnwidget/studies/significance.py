"""How sure a proportion is, and whether one predictor is better than another on the same words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, norm

Floats = NDArray[np.float64]


def wilson_interval(
    successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Wilson's score interval of a proportion: low and high, 0 to 1 (Wilson 1927).

    It holds its level for few trials and for proportions near 0 and 1, unlike p +- 2 standard
    errors. `successes` and `trials` broadcast; without trials the interval is 0 to 1.

    Example:
        >>> from attnwidget.studies.significance import wilson_interval
        >>> low, high = wilson_interval(9, 10)
        >>> round(float(low), 3), round(float(high), 3)
        (0.596, 0.982)
    """
    z = float(norm.ppf((1 + confidence) / 2))
    hits, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    p = np.divide(hits, n, out=np.full(hits.shape, 0.5), where=n > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        reach = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    low = np.where(n > 0, np.clip(centre - reach, 0, 1), 0.0)
    return low, np.where(n > 0, np.clip(centre + reach, 0, 1), 1.0)


def better_than(only_first: ArrayLike, only_second: ArrayLike) -> Any:
    """The exact one-sided McNemar test: p-value of the first predictor being no better.

    Only trials on which one of two predictors is right count: were they equally good, each would
    fall to the first with probability 1/2, and p is the probability of at least `only_first` such
    (McNemar 1947; the binomial itself instead of its normal approximation).

    `only_first` and `only_second` count trials that the one got right and the other wrong; they
    broadcast. Returns p-values of their shape; 1 where there are none.

    Example:
        >>> from attnwidget.studies.significance import better_than
        >>> round(float(better_than(9, 1)), 4)
        0.0107
    """
    first, second = np.asarray(only_first), np.asarray(only_second)
    return binom.sf(first - 1, first + second, 0.5)


def holm(p_values: ArrayLike) -> Floats:
    """P-values corrected for all tests together by Holm's step-down rule (Holm 1979).

    Below a level of 0.05 the probability of any false one among them is at most 0.05, however the
    tests depend on each other. `p_values` of any shape; returns the same shape, at most 1.

    Example:
        >>> from attnwidget.studies.significance import holm
        >>> holm([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=np.float64)
    flat = given.ravel()
    order = np.argsort(flat, kind="stable")
    stepped = np.maximum.accumulate(flat[order] * np.arange(flat.size, 0, -1))
    corrected = np.empty_like(flat)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected.reshape(given.shape)
