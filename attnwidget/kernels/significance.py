"""Confidence intervals, and tests of differences between predictors on the same examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from attnwidget.kernels.arrays import Float64Array

#: Smallest number of units, such as texts or documents, of an interval that needs their spread.
FEWEST_UNITS = 6
# Level of all intervals.
_CONFIDENCE = 0.95
# Seed of the draws, so that the same numbers have the same interval.
_SEED = 0
# Number of draws of signs.
_FLIPS = 9999
# Largest number of different values of outcomes, such as right and wrong.
_OUTCOMES = 5


def wilson_interval(successes: ArrayLike, trials: ArrayLike) -> tuple[Float64Array, Float64Array]:
    """Return Wilson's 95 % interval of a proportion: low and high, 0 to 1 (Wilson 1927).

    Unlike p +- 2 standard errors, the interval keeps its level for few trials and for proportions
    near 0 and 1. `successes` and `trials` broadcast; without trials, the interval is 0 to 1.

    Example:
        >>> from attnwidget.kernels.significance import wilson_interval
        >>> low, high = wilson_interval(9, 10)
        >>> round(float(low), 3), round(float(high), 3)
        (0.596, 0.982)
    """
    z = float(scipy.stats.norm.ppf((1 + _CONFIDENCE) / 2))
    hits, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    p = np.divide(hits, n, out=np.full(hits.shape, 0.5), where=n > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        center = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        reach = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    low = np.where(n > 0, np.clip(center - reach, 0, 1), 0.0)
    return low, np.where(n > 0, np.clip(center + reach, 0, 1), 1.0)


def better_than(only_first: ArrayLike, only_second: ArrayLike) -> Any:
    """Return the p-value of the exact one-sided McNemar test that the first predictor is better.

    The test counts only trials on which exactly one of two predictors is right: for equally good
    predictors each such trial goes to the first with probability 1/2, and p is the probability of
    at least `only_first` such trials (McNemar 1947; with the exact binomial distribution instead of
    its normal approximation).

    `only_first` and `only_second` count the trials that only one predictor got right; they
    broadcast. Returns p-values of their shape; 1 where there are none.

    Example:
        >>> from attnwidget.kernels.significance import better_than
        >>> round(float(better_than(9, 1)), 4)
        0.0107
    """
    first = np.asarray(only_first)
    second = np.asarray(only_second)
    return scipy.stats.binom.sf(first - 1, first + second, 0.5)


def holm(p_values: ArrayLike) -> Float64Array:
    """Return p-values corrected by Holm's step-down rule (Holm 1979).

    Below a level of 0.05, the probability of any false discovery is at most 0.05, whatever the
    dependence between the tests. NaN marks a test that was not made; it stays NaN and does not
    count. `p_values` of any shape; returns the same shape, at most 1.

    Example:
        >>> from attnwidget.kernels.significance import holm
        >>> holm([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    made = raw[~np.isnan(raw)]
    order = np.argsort(made, kind="stable")
    stepped = np.maximum.accumulate(made[order] * np.arange(made.size, 0, -1))
    adjusted = np.empty_like(made)
    adjusted[order] = np.minimum(stepped, 1.0)
    corrected = np.full(raw.shape, np.nan)
    corrected[~np.isnan(raw)] = adjusted
    return corrected


def benjamini_hochberg(p_values: ArrayLike) -> Float64Array:
    """Return p-values corrected for the share of false discoveries.

    Below a level of 0.05, on average at most 5 % of the discoveries are false if the tests are
    independent or positively dependent (Benjamini and Hochberg 1995). NaN marks a test that was not
    made; it stays NaN and does not count. `p_values` of any shape; returns the same shape, at most
    1.

    Example:
        >>> from attnwidget.kernels.significance import benjamini_hochberg
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
        >>> from attnwidget.kernels.significance import differ
        >>> round(float(differ(9, 1)), 4)
        0.0215
    """
    first = np.asarray(only_first)
    second = np.asarray(only_second)
    return np.minimum(
        1.0, 2 * scipy.stats.binom.cdf(np.minimum(first, second), first + second, 0.5)
    )


def bootstrap_interval(
    values: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    draws: int = 2000,
) -> tuple[Float64Array, Float64Array]:
    """Return the studentised 95 % bootstrap interval of means over examples.

    Examples are drawn with replacement, with the same draws for all entries of the leading axes
    (Efron 1979; Hall 1988). For differences of two scores of each example, this is the paired
    bootstrap. Each drawn mean is divided by its own standard error, because the errors of skewed
    values vary with their mean. The interval also includes the interval of Student's t. Percentiles
    of the drawn means alone would be too narrow for few examples: with 8 examples, they include the
    true mean 85 to 89 times out of 100, and this interval 93 to 96 times.

    Outcomes, such as right and wrong, have few different values, and a sample may lack a rare
    outcome. If fewer than `FEWEST_UNITS` groups differ from the most frequent outcome, the interval
    is widened: it includes the interval with two additional examples, at the smallest and at the
    largest value of all entries (Bonett and Price 2012).

    Args:
        values: [..., N], one number per example. Outcomes are bools, whole numbers of an integer
            type, or at most five different values that occur twice or more on average.
        groups: Group of each example, such as its document, [N]. Whole groups are drawn, because
            examples of a group are not independent. The drawn mean is taken over all examples of
            the drawn groups (the cluster bootstrap). None = every example is a group.
        draws: Number of samples of N examples.

    Returns:
        Low and high, two arrays [...]; NaN with fewer than `FEWEST_UNITS` groups, which say too
        little about the shape of their distribution. The interval has no width if all values of an
        entry are equal and are no outcomes.

    Example:
        >>> from attnwidget.kernels.significance import bootstrap_interval
        >>> low, high = bootstrap_interval([0.1, 0.3, 0.2, 0.9, 0.4, 0.2, 0.3, 0.1])
        >>> round(float(low), 2), round(float(high), 2)
        (0.1, 0.71)
        >>> low, high = bootstrap_interval([False] * 8)
        >>> round(float(low), 2), round(float(high), 2)
        (0.0, 0.32)
        >>> low, high = bootstrap_interval([0, 0, 1, 1], groups=["a", "a", "b", "b"])
        >>> float(low), float(high)
        (nan, nan)
    """
    outcomes = _outcomes(np.asarray(values))
    sample = np.asarray(values, dtype=np.float64)
    sums = sample.reshape(-1, sample.shape[-1]).T
    sizes = np.ones(sample.shape[-1])
    if groups is not None:
        _, group = np.unique(np.asarray(groups), return_inverse=True)
        sizes = np.bincount(group).astype(np.float64)
        sums = (np.arange(len(sizes))[:, None] == group).astype(np.float64) @ sums
    low, high = _studentised(sums, sizes, draws, outcomes)
    return low.reshape(sample.shape[:-1]), high.reshape(sample.shape[:-1])


def _outcomes(values: NDArray[Any]) -> list[float]:
    """Return the different values of outcomes; none for other numbers."""
    different = [0.0, 1.0] if values.dtype.kind in "biu" else []
    rest = np.asarray(values, np.float64).ravel()
    rest = rest[~np.isnan(rest)]
    most = min(_OUTCOMES, rest.size // 2)
    while rest.size and len(different) <= most:
        different.append(float(rest[0]))
        rest = rest[np.abs(rest - rest[0]) > 1e-12 * max(1.0, abs(rest[0]))]
    return [] if rest.size else different


def few_differ(
    sums: ArrayLike, sizes: ArrayLike, outcomes: Sequence[float] = (0.0, 1.0)
) -> NDArray[np.bool_]:
    """Return whether fewer than `FEWEST_UNITS` units differ from the most frequent outcome.

    The spread of so few says little about units that were not drawn.

    Args:
        sums: Sum of the outcomes of each unit, such as the right words of a sentence, [..., n].
        sizes: Number of outcomes of each unit, [n].
        outcomes: The different outcomes.

    Returns:
        Bool [...].

    Example:
        >>> from attnwidget.kernels.significance import few_differ
        >>> few_differ([[0, 0, 2, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1, 1]], [2] * 7).tolist()
        [True, False]
    """
    total, size = np.asarray(sums, np.float64), np.asarray(sizes, np.float64)
    near = 1e-9 * np.maximum(size, 1)
    differing = [(np.abs(total - value * size) > near).sum(-1) for value in outcomes]
    return np.asarray(np.min(differing, axis=0) < FEWEST_UNITS)


def _with_both_ends(
    mean: Float64Array, square: Float64Array, n: int, ends: tuple[float, float]
) -> tuple[Float64Array, Float64Array]:
    """Return the interval of a mean with two more examples, one at each end of the values.

    This is the idea of `paired_interval`, with Student's t.

    Args:
        mean: Mean of n examples.
        square: Mean of their squares.
        n: Number of examples.
        ends: Smallest and largest possible value.
    """
    center = (n * mean + sum(ends)) / (n + 2)
    spread = (n * square + ends[0] ** 2 + ends[1] ** 2) / (n + 2) - center**2
    reach = scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1)
    reach = reach * np.sqrt(np.maximum(spread, 0) / (n + 2))
    low: Float64Array = np.maximum(center - reach, ends[0])
    return low, np.minimum(center + reach, ends[1])


def _studentised(
    sums: Float64Array,
    sizes: Float64Array,
    draws: int,
    outcomes: Sequence[float] = (),
) -> tuple[Float64Array, Float64Array]:
    """Return the studentised bootstrap interval of ratios: all sums over all sizes, [K] each.

    `sums` [n, K] and `sizes` [n] are of n groups. The standard error of a ratio is that of its
    linear approximation. If few groups differ from the most frequent of the outcomes, the interval
    includes the interval with two more groups, at the ends of the outcomes.
    """
    n = len(sizes)
    if n < FEWEST_UNITS:
        unknown = np.full(sums.shape[1], np.nan)
        return unknown, unknown
    means = sums.sum(0) / sizes.sum()
    rest = sums - means * sizes[:, None]
    squares = rest**2
    products = rest * sizes[:, None]
    variance = squares.sum(0)
    # Rounding leaves a variance of equal values a little above 0.
    equal = variance <= n * (1e-14 * np.abs(sums).max(0)) ** 2
    random = np.random.default_rng(_SEED)
    drawn = np.empty((draws, sums.shape[1]))
    for number in range(draws):
        times = random.multinomial(n, np.full(n, 1 / n)).astype(np.float64)
        size = times @ sizes
        change = times @ rest / size
        spread = times @ squares - 2 * change * (times @ products)
        spread += change**2 * (times @ sizes**2)
        # A sample of one example alone has no standard error, and is left out.
        known = spread > 1e-9 * variance
        drawn[number] = np.divide(
            change * size,
            np.sqrt(np.where(known, spread, 1.0)),
            out=np.full_like(change, np.nan),
            where=known,
        )
    upper, lower = (
        _quantile_of_known(drawn, share) for share in ((1 + _CONFIDENCE) / 2, (1 - _CONFIDENCE) / 2)
    )
    error = np.sqrt(variance) / sizes.sum()
    reach = np.sqrt(n / (n - 1)) * scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1)
    low = np.where(equal, means, means - np.maximum(upper, reach) * error)
    high = np.where(equal, means, means - np.minimum(lower, -reach) * error)
    if outcomes:
        rare = few_differ(sums.T, sizes, outcomes)
        # The residuals of a ratio have the spread of a mean over groups of equal size.
        square = means**2 + n * variance / sizes.sum() ** 2
        least, most = _with_both_ends(means, square, n, (min(outcomes), max(outcomes)))
        low = np.where(rare, np.minimum(low, least), low)
        high = np.where(rare, np.maximum(high, most), high)
    return low, high


def _quantile_of_known(values: Float64Array, share: float) -> Float64Array:
    """Return a quantile over the first axis without NaN; NaN where all values are NaN."""
    ordered = np.sort(values, axis=0)  # NaN comes last
    n_known = (~np.isnan(values)).sum(0)
    place = share * np.maximum(n_known - 1, 0)
    below = np.floor(place).astype(np.int64)
    above = np.ceil(place).astype(np.int64)
    first, second = (np.take_along_axis(ordered, at[None], 0)[0] for at in (below, above))
    return np.asarray(first + (place - below) * (second - first))


def percentile_tails(n: int) -> tuple[float, float]:
    """Return the shares of bootstrap draws below the ends of an interval of n units.

    Statistics without a standard error have a percentile bootstrap. Its draws vary as if a variance
    were divided by n and not by n - 1, and as a normal distribution and not as Student's t. The
    shares are therefore closer to 0 and 1 than 0.025 and 0.975 (Hesterberg 2015).

    Raises:
        ValueError: n is below `FEWEST_UNITS`.

    Example:
        >>> from attnwidget.kernels.significance import percentile_tails
        >>> [round(share, 4) for share in percentile_tails(8)]
        [0.0057, 0.9943]
        >>> [round(share, 4) for share in percentile_tails(1000)]
        [0.0248, 0.9752]
    """
    if n < FEWEST_UNITS:
        raise ValueError(
            f"an interval needs {FEWEST_UNITS} units or more, got {n}: give no interval"
        )
    reach = np.sqrt(n / (n - 1)) * scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1)
    return float(scipy.stats.norm.cdf(-reach)), float(scipy.stats.norm.cdf(reach))


def bootstrap_weights(n: int, draws: int) -> Float64Array:
    """Return how often each of n units counts in all units, then in bootstrap samples.

    Args:
        n: Number of units, such as sentences.
        draws: Number of samples of n units.

    Returns:
        Float64 [1 + draws, n]. The first row is 1.

    Example:
        >>> from attnwidget.kernels.significance import bootstrap_weights
        >>> bootstrap_weights(4, draws=2).sum(-1).tolist()
        [4.0, 4.0, 4.0]
    """
    drawn = np.random.default_rng(_SEED).multinomial(n, np.full(n, 1 / n), draws)
    return np.concatenate([np.ones((1, n)), drawn])


def percentile_interval(
    values: Float64Array, n: int, *, rare: NDArray[np.bool_] | None = None
) -> Float64Array:
    """Return a statistic with its 95 % interval from bootstrap samples.

    The percentiles of the samples have the tails of `percentile_tails`, and are too narrow for few
    units of a skewed distribution. The interval therefore includes that of Hall's transformation,
    which corrects Student's t by the skewness of the samples (Hall 1992). Shares of rare outcomes
    have the interval with two additional units instead, with the shares 0 and 1 (Bonett and Price
    2012), because a sample may lack a rare outcome.

    Args:
        values: The statistic of all units, then of bootstrap samples, [..., 1 + draws]. NaN marks a
            sample without the statistic.
        n: Number of units that count.
        rare: Whether the statistic is a share of rare outcomes, as `few_differ`, [...]; None = it
            is not.

    Returns:
        The value, the low and the high end, [3, ...]. With fewer than `FEWEST_UNITS` units, the
        ends are NaN.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.significance import bootstrap_weights, percentile_interval
        >>> right = np.array([1, 0, 1, 1, 0, 1, 1, 1.0])
        >>> shares = bootstrap_weights(8, draws=1000) @ right / 8
        >>> percentile_interval(shares, 8, rare=np.array(True)).round(2).tolist()
        [0.75, 0.25, 1.0]
    """
    value = values[..., 0]
    if n < FEWEST_UNITS:
        unknown = np.full(value.shape, np.nan)
        return np.stack([value, unknown, unknown])
    drawn = values[..., 1:]
    low, high = np.nanquantile(drawn, percentile_tails(n), axis=-1)
    apart = drawn - np.nanmean(drawn, axis=-1, keepdims=True)
    variance = np.nanmean(apart**2, axis=-1)
    known = variance > 1e-24
    cubes = np.nanmean(apart**3, axis=-1)
    skewness = np.divide(cubes, variance**1.5, out=np.zeros_like(cubes), where=known)
    # Samples of n units have smaller moments than their distribution.
    skewness *= np.sqrt(n * (n - 1)) / (n - 2)
    error = np.sqrt(variance * n / (n - 1))
    reach = scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1)
    least = value - _before_hall(reach, skewness) * error
    most = value - _before_hall(-reach, skewness) * error
    if rare is not None:
        of_rare = _with_both_ends(value, value**2 + n * variance, n, (0.0, 1.0))
        least = np.where(rare, of_rare[0], np.clip(least, 0, 1))
        most = np.where(rare, of_rare[1], np.clip(most, 0, 1))
    return np.stack([value, np.minimum(low, least), np.maximum(high, most)])


def _hall(t: Float64Array, skewness: Float64Array) -> Float64Array:
    """Return Hall's transformation of a studentised mean, which is less skewed (Hall 1992)."""
    transformed: Float64Array = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
    return transformed


def _before_hall(transformed: float, skewness: Float64Array) -> Float64Array:
    """Return the studentised mean that Hall's transformation maps to a number."""
    some = np.where(np.abs(skewness) > 1e-6, skewness, 1.0)
    mean: Float64Array = 3 / some * (np.cbrt(1 + some * (transformed - some / 6)) - 1)
    return np.where(np.abs(skewness) > 1e-6, mean, transformed)


def bootstrap_ratio_interval(
    successes: ArrayLike,
    trials: ArrayLike,
    *,
    draws: int = 2000,
) -> tuple[float, float]:
    """Return the studentised 95 % bootstrap interval of a proportion pooled over examples.

    Examples are drawn with replacement, and the sum of their successes is divided by the sum of
    their trials (Efron 1979), as in `bootstrap_interval`. Words of one sentence are not
    independent, so sentences are drawn and not words.

    `successes` and `trials` are [N], one number per example. Examples without trials do not count.
    With fewer than `FEWEST_UNITS` examples with trials, the interval is 0 to 1. If successes or
    failures are that rare, the interval includes the interval with two additional examples, of the
    proportions 0 and 1 (Bonett and Price 2012).

    Example:
        >>> from attnwidget.kernels.significance import bootstrap_ratio_interval
        >>> low, high = bootstrap_ratio_interval([2, 0, 1, 3, 2, 1, 3, 2], [4, 1, 1, 3, 4, 2, 4, 3])
        >>> round(low, 2), round(high, 2)
        (0.45, 0.87)
    """
    hits, counts = np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    hits, counts = hits[counts > 0], counts[counts > 0]
    if len(counts) < FEWEST_UNITS:
        return 0.0, 1.0
    low, high = _studentised(hits[:, None], counts, draws, (0.0, 1.0))
    return max(0.0, float(low[0])), min(1.0, float(high[0]))


def paired_interval(
    only_first: ArrayLike, only_second: ArrayLike, n: ArrayLike
) -> tuple[Float64Array, Float64Array]:
    """Return the 95 % interval of the difference of two shares of the same n examples.

    One example is added to each kind of disagreement (Bonett and Price 2012). The interval
    therefore keeps its level for few examples, and has a width without disagreements.

    Args:
        only_first: Number of examples that only the first predictor gets right.
        only_second: Number that only the second gets right.
        n: Number of all examples.

    Example:
        >>> from attnwidget.kernels.significance import paired_interval
        >>> low, high = paired_interval(30, 10, 100)
        >>> round(float(low), 2), round(float(high), 2)
        (0.08, 0.31)
        >>> low, high = paired_interval(0, 0, 8)
        >>> round(float(low), 2), round(float(high), 2)
        (-0.28, 0.28)
    """
    size = np.asarray(n, np.float64) + 2
    first, second = (
        (np.asarray(only, np.float64) + 1) / size for only in (only_first, only_second)
    )
    difference = first - second
    reach = scipy.stats.norm.ppf((1 + _CONFIDENCE) / 2) * np.sqrt(
        (first + second - difference**2) / size
    )
    low: Float64Array = np.maximum(difference - reach, -1)
    return low, np.minimum(difference + reach, 1)


def above_zero(values: ArrayLike) -> Float64Array:
    """Return the one-sided p-value that a mean over examples is not above 0.

    The p-value is the larger of two: Student's t, and Student's t after Hall's transformation,
    which corrects the skewness of the examples (Hall 1992). With a long tail of small values, few
    examples seldom show the tail, and Student's t alone rejects a true mean of 0 in 15 % of the
    samples at a level of 5 %. The skewness of few examples is too small for the same reason, and is
    therefore multiplied by 1 + 6 / N; the rate is then 5 to 7 %.

    `values` are [..., N], one number per example. Returns [...]; NaN with fewer than `FEWEST_UNITS`
    examples.

    Example:
        >>> from attnwidget.kernels.significance import above_zero
        >>> float(above_zero([0.2, 0.3, 0.25, 0.35, 0.1, 0.2]).round(5))
        0.00497
        >>> float(above_zero([0.3, 0.3, 0.25, 0.35, -0.3, 0.3]).round(2))
        0.42
    """
    sample = np.asarray(values, dtype=np.float64)
    n = sample.shape[-1]
    if n < FEWEST_UNITS:
        return np.full(sample.shape[:-1], np.nan)
    mean = sample.mean(-1)
    # Rounding leaves a variance of equal values a little above or below 0.
    error = np.sqrt(np.maximum(sample.var(-1, ddof=1), 1e-18) / n)
    cubes = ((sample - mean[..., None]) ** 3).mean(-1) * n**2 / ((n - 1) * (n - 2))
    skewness = (1 + 6 / n) * cubes / (error * np.sqrt(n)) ** 3 / np.sqrt(n)
    t = mean / error
    p = scipy.stats.t.sf(np.stack([t, _hall(t, skewness)]), n - 1)
    return np.asarray(p.max(0), np.float64)


def sign_flip_test(values: ArrayLike) -> Float64Array:
    """Return the two-sided p-value of the paired randomization test that a mean is not 0.

    The signs of all differences are drawn at random, with the same signs for every entry of the
    leading axes; p is the share of draws, including the observed signs, whose mean is at least as
    far from 0 (Fisher 1935). The smallest possible value is 1 / 10,000.

    `values` are [..., N], one difference per example. Returns [...].

    Example:
        >>> from attnwidget.kernels.significance import sign_flip_test
        >>> float(sign_flip_test([1.0, 2.0, 1.5, 0.5]).round(2))
        0.12
    """
    sample = np.asarray(values, dtype=np.float64)
    n = sample.shape[-1]
    random = np.random.default_rng(_SEED)
    flat = sample.reshape(-1, n).T
    # Sums that differ only by rounding count as equally far from 0.
    observed = np.abs(flat.sum(0)) * (1 - 1e-12)
    reached = np.ones(flat.shape[1])
    for _ in range(_FLIPS):
        reached += np.abs(random.choice((-1.0, 1.0), n) @ flat) >= observed
    return (reached / (_FLIPS + 1)).reshape(sample.shape[:-1])
