"""Confidence intervals, and tests of differences between predictors on the same examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, norm

from attnwidget.kernels.arrays import Float64Array


def wilson_interval(
    successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> tuple[Float64Array, Float64Array]:
    """Return Wilson's score interval of a proportion: low and high, 0 to 1 (Wilson 1927).

    Unlike p +- 2 standard errors, the interval keeps its level for few trials and for proportions
    near 0 and 1. `successes` and `trials` broadcast; without trials, the interval is 0 to 1.

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
    """Return the p-value of the exact one-sided McNemar test that the first predictor is better.

    The test counts only trials on which exactly one of two predictors is right: for equally good
    predictors each such trial goes to the first with probability 1/2, and p is the probability of
    at least `only_first` such trials (McNemar 1947; with the exact binomial distribution instead of
    its normal approximation).

    `only_first` and `only_second` count the trials that only one predictor got right; they
    broadcast. Returns p-values of their shape; 1 where there are none.

    Example:
        >>> from attnwidget.studies.significance import better_than
        >>> round(float(better_than(9, 1)), 4)
        0.0107
    """
    first = np.asarray(only_first)
    second = np.asarray(only_second)
    return binom.sf(first - 1, first + second, 0.5)


def holm(p_values: ArrayLike) -> Float64Array:
    """Return p-values corrected by Holm's step-down rule (Holm 1979).

    Below a level of 0.05, the probability of any false discovery is at most 0.05, whatever the
    dependence between the tests. `p_values` of any shape; returns the same shape, at most 1.

    Example:
        >>> from attnwidget.studies.significance import holm
        >>> holm([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    flat = raw.ravel()
    order = np.argsort(flat, kind="stable")
    stepped = np.maximum.accumulate(flat[order] * np.arange(flat.size, 0, -1))
    corrected = np.empty_like(flat)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected.reshape(raw.shape)


def benjamini_hochberg(p_values: ArrayLike) -> Float64Array:
    """Return p-values corrected for the share of false discoveries.

    Below a level of 0.05, on average at most 5 % of the discoveries are false if the tests are
    independent or positively dependent (Benjamini and Hochberg 1995). NaN marks a test that was not
    made; it stays NaN and does not count. `p_values` of any shape; returns the same shape, at most
    1.

    Example:
        >>> from attnwidget.studies.significance import benjamini_hochberg
        >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3).tolist()
        [0.03, 0.04, 0.04]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    made = raw[~np.isnan(raw)]
    order = np.argsort(made, kind="stable")[::-1]
    scaled = made[order] * made.size / np.arange(made.size, 0, -1)
    corrected = np.full(raw.shape, np.nan)
    adjusted = np.empty_like(made)
    adjusted[order] = np.minimum.accumulate(np.minimum(scaled, 1.0))
    corrected[~np.isnan(raw)] = adjusted
    return corrected


def differ(only_first: ArrayLike, only_second: ArrayLike) -> Any:
    """Return the p-value of the exact two-sided McNemar test that two predictors differ.

    The arguments are the same as in `better_than`. The p-value is twice the probability of the
    rarer side, at most 1.

    Example:
        >>> from attnwidget.studies.significance import differ
        >>> round(float(differ(9, 1)), 4)
        0.0215
    """
    first = np.asarray(only_first)
    second = np.asarray(only_second)
    return np.minimum(1.0, 2 * binom.cdf(np.minimum(first, second), first + second, 0.5))


def bootstrap_interval(
    values: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> tuple[Float64Array, Float64Array]:
    """Return the percentile bootstrap interval of means over examples (Efron 1979).

    Examples are drawn with replacement, with the same draws for all entries of the leading axes.
    For differences of two scores of each example, this is the paired bootstrap.

    Args:
        values: [..., N], one number per example.
        groups: Group of each example, such as its document, [N]. Whole groups are drawn, because
            examples of a group are not independent. The drawn mean is taken over all examples of
            the drawn groups (the cluster bootstrap). None = every example is a group.
        confidence: Share of the drawn means in the interval.
        draws: Number of samples of N examples.
        seed: Seed of the draws.

    Returns:
        Low and high, two arrays [...].

    Example:
        >>> from attnwidget.studies.significance import bootstrap_interval
        >>> low, high = bootstrap_interval([0, 0, 1, 0, -1, 1, 1, 1])
        >>> float(low), float(high)
        (-0.125, 0.875)
        >>> low, high = bootstrap_interval([0, 0, 1, 1], groups=["a", "a", "b", "b"])
        >>> float(low), float(high)
        (0.0, 1.0)
    """
    sample = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(seed)
    flat = sample.reshape(-1, sample.shape[-1]).T
    sizes = np.ones(sample.shape[-1])
    if groups is not None:
        _, group = np.unique(np.asarray(groups), return_inverse=True)
        sizes = np.bincount(group).astype(np.float64)
        flat = (np.arange(len(sizes))[:, None] == group).astype(np.float64) @ flat
    n = len(sizes)
    drawn = (random.multinomial(n, np.full(n, 1 / n)) for _ in range(draws))
    means = [times @ flat / (times @ sizes) for times in drawn]
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(np.array(means), tails, axis=0)
    return low.reshape(sample.shape[:-1]), high.reshape(sample.shape[:-1])


def bootstrap_ratio_interval(
    successes: ArrayLike,
    trials: ArrayLike,
    *,
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a proportion pooled over examples.

    Examples are drawn with replacement, and the sum of their successes is divided by the sum of
    their trials (Efron 1979). Words of one sentence are not independent, so sentences are drawn and
    not words.

    `successes` and `trials` are [N], one number per example. Without trials, the interval is 0 to
    1.

    Example:
        >>> from attnwidget.studies.significance import bootstrap_ratio_interval
        >>> low, high = bootstrap_ratio_interval([2, 0, 1, 3], [4, 1, 1, 3])
        >>> round(low, 2), round(high, 2)
        (0.29, 1.0)
    """
    counts = np.stack([np.asarray(successes, float), np.asarray(trials, float)], 1)
    n = len(counts)
    random = np.random.default_rng(seed)
    if not counts[:, 1].any():
        return 0.0, 1.0
    drawn = np.array([random.multinomial(n, np.full(n, 1 / n)) @ counts for _ in range(draws)])
    drawn = drawn[drawn[:, 1] > 0]
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], tails)
    return float(low), float(high)


def sign_flip_test(values: ArrayLike, *, draws: int = 9999, seed: int = 0) -> Float64Array:
    """Return the two-sided p-value of the paired randomisation test that a mean is not 0.

    The signs of all differences are drawn at random, with the same signs for every entry of the
    leading axes; p is the share of draws, including the observed signs, whose mean is at least as
    far from 0 (Fisher 1935). The smallest possible value is 1 / (draws + 1).

    `values` are [..., N], one difference per example. Returns [...].

    Example:
        >>> from attnwidget.studies.significance import sign_flip_test
        >>> float(sign_flip_test([1.0, 2.0, 1.5, 0.5]).round(2))
        0.12
    """
    sample = np.asarray(values, dtype=np.float64)
    n = sample.shape[-1]
    random = np.random.default_rng(seed)
    flat = sample.reshape(-1, n).T
    # Sums that differ only by rounding count as equally far from 0.
    observed = np.abs(flat.sum(0)) * (1 - 1e-12)
    reached = np.ones(flat.shape[1])
    for _ in range(draws):
        reached += np.abs(random.choice((-1.0, 1.0), n) @ flat) >= observed
    return (reached / (draws + 1)).reshape(sample.shape[:-1])
