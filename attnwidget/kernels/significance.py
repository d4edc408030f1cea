"""Confidence intervals, and tests for differences between predictors on the same examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from attnwidget.kernels.arrays import Float64Array

#: Smallest number of units, such as texts or documents, for an interval that needs their spread.
FEWEST_UNITS = 6
# Confidence level of all intervals.
_CONFIDENCE = 0.95
# Seed of the random draws, so that the same data gives the same interval.
_SEED = 0
# Number of random sign vectors.
_FLIPS = 9999
# Largest number of different values for outcomes, such as right and wrong.
_OUTCOMES = 5


def wilson_interval(successes: ArrayLike, trials: ArrayLike) -> tuple[Float64Array, Float64Array]:
    """Return Wilson's 95 % interval of a proportion: low and high, 0 to 1 (Wilson 1927).

    Unlike p +- 2 standard errors, the interval keeps its level for few trials and for proportions
    near 0 and 1.

    Args:
        successes: Number of successes.
        trials: Number of trials; `successes` and `trials` broadcast. Without trials, the interval
            is 0 to 1.

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
        half_width = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    low = np.where(n > 0, np.clip(center - half_width, 0, 1), 0.0)
    return low, np.where(n > 0, np.clip(center + half_width, 0, 1), 1.0)


def better_than(only_first: ArrayLike, only_second: ArrayLike) -> Any:
    """Return the p-value of the exact one-sided McNemar test that the first predictor is better.

    The test counts only trials for which exactly one of two predictors is right. If the predictors
    are equally good, the first is right in each such trial with probability 1/2. The p-value is the
    probability of at least `only_first` such trials (McNemar 1947, with the exact binomial
    distribution instead of its normal approximation).

    Args:
        only_first: Number of trials that only the first predictor gets right.
        only_second: Number of trials that only the second predictor gets right; the arguments
            broadcast.

    Returns:
        p-values; 1 if there are no such trials.

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

    At a level of 0.05, the probability of any false discovery is at most 0.05, for any dependence
    between the tests.

    Args:
        p_values: p-values of any shape. NaN marks a test that was not performed; it stays NaN and
            does not count.

    Returns:
        Corrected p-values of the same shape, at most 1.

    Example:
        >>> from attnwidget.kernels.significance import holm
        >>> holm([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    valid = raw[~np.isnan(raw)]
    order = np.argsort(valid, kind="stable")
    stepped = np.maximum.accumulate(valid[order] * np.arange(valid.size, 0, -1))
    adjusted = np.empty_like(valid)
    adjusted[order] = np.minimum(stepped, 1.0)
    corrected = np.full(raw.shape, np.nan)
    corrected[~np.isnan(raw)] = adjusted
    return corrected


def benjamini_hochberg(p_values: ArrayLike) -> Float64Array:
    """Return p-values corrected for the false discovery rate.

    At a level of 0.05, on average at most 5 % of the discoveries are false if the tests are
    independent or positively dependent (Benjamini and Hochberg 1995).

    Args:
        p_values: p-values of any shape. NaN marks a test that was not performed; it stays NaN and
            does not count.

    Returns:
        Corrected p-values of the same shape, at most 1.

    Example:
        >>> from attnwidget.kernels.significance import benjamini_hochberg
        >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3).tolist()
        [0.03, 0.04, 0.04]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    valid = raw[~np.isnan(raw)]
    order = np.argsort(valid, kind="stable")[::-1]
    scaled = valid[order] * valid.size / np.arange(valid.size, 0, -1)
    corrected = np.full(raw.shape, np.nan)
    adjusted = np.empty_like(valid)
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
    """Return the studentized 95 % bootstrap interval of means over examples.

    Examples are drawn with replacement, with the same draws for all entries of the leading axes
    (Efron 1979; Hall 1988). For differences between two scores of each example, this is the paired
    bootstrap. Each drawn mean is divided by its own standard error, because the errors of skewed
    values vary with their mean. The interval also includes Student's t interval. An interval from
    only the percentiles of the drawn means would be too narrow for few examples: with 8 examples,
    it includes the true mean 85 to 89 times out of 100, and this interval 93 to 96 times.

    Outcomes, such as right and wrong, have few different values, and a sample may lack a rare
    outcome. If fewer than `FEWEST_UNITS` groups differ from the most frequent outcome, the interval
    is widened: it includes the interval with two additional examples, one with the smallest and one
    with the largest value of all entries (Bonett and Price 2012).

    Args:
        values: One number per example, [..., N]. Values count as outcomes if they are bools, have
            an integer type, or have at most five different values that occur at least twice on
            average.
        groups: Group of each example, such as its document, [N]. Entire groups are drawn, because
            the examples of a group are not independent. Means are over all examples of the drawn
            groups (the cluster bootstrap). None = every example is a group.
        draws: Number of samples of N examples.

    Returns:
        Lower and upper end, two arrays [...]; NaN with fewer than `FEWEST_UNITS` groups, which do
        not show the shape of their distribution. The interval has no width if all values of an
        entry are equal and are not outcomes.

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
    """Return the different values of outcomes, or [] if the values are not outcomes."""
    different = [0.0, 1.0] if values.dtype.kind in "biu" else []
    rest = np.asarray(values, np.float64).ravel()
    rest = rest[~np.isnan(rest)]
    largest_count = min(_OUTCOMES, rest.size // 2)
    while rest.size and len(different) <= largest_count:
        different.append(float(rest[0]))
        rest = rest[np.abs(rest - rest[0]) > 1e-12 * max(1.0, abs(rest[0]))]
    return [] if rest.size else different


def few_differ(
    sums: ArrayLike, sizes: ArrayLike, outcomes: Sequence[float] = (0.0, 1.0)
) -> NDArray[np.bool_]:
    """Return whether fewer than `FEWEST_UNITS` units differ from the most frequent outcome.

    The spread of so few units says little about units that were not drawn.

    Args:
        sums: Sum of each unit's outcomes, such as the number of right words in a sentence,
            [..., n].
        sizes: Number of outcomes per unit, [n].
        outcomes: Different values of the outcomes.

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

    This is the method of `paired_interval`, with Student's t.

    Args:
        mean: Mean of n examples.
        square: Mean of the squared examples.
        n: Number of examples.
        ends: Smallest and largest possible value.
    """
    center = (n * mean + sum(ends)) / (n + 2)
    spread = (n * square + ends[0] ** 2 + ends[1] ** 2) / (n + 2) - center**2
    half_width = scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1)
    half_width = half_width * np.sqrt(np.maximum(spread, 0) / (n + 2))
    low: Float64Array = np.maximum(center - half_width, ends[0])
    return low, np.minimum(center + half_width, ends[1])


def _studentised(
    sums: Float64Array,
    sizes: Float64Array,
    draws: int,
    outcomes: Sequence[float] = (),
) -> tuple[Float64Array, Float64Array]:
    """Return the studentized bootstrap interval of K ratios, total sum / total size.

    The standard error of a ratio comes from its linear approximation. If only a few groups differ
    from the most frequent outcome, the interval includes the interval with two more groups, one
    with the smallest and one with the largest outcome.

    Args:
        sums: Sums of n groups, [n, K].
        sizes: Sizes of n groups, [n].
        draws: Number of bootstrap samples.
        outcomes: Different values of the outcomes, or () if the values are not outcomes.
    """
    n = len(sizes)
    if n < FEWEST_UNITS:
        missing = np.full(sums.shape[1], np.nan)
        return missing, missing
    means = sums.sum(0) / sizes.sum()
    residuals = sums - means * sizes[:, None]
    squares = residuals**2
    products = residuals * sizes[:, None]
    variance = squares.sum(0)
    # Rounding can make the variance of equal values slightly positive.
    equal = variance <= n * (1e-14 * np.abs(sums).max(0)) ** 2
    random = np.random.default_rng(_SEED)
    draw_statistics = np.empty((draws, sums.shape[1]))
    for number in range(draws):
        counts = random.multinomial(n, np.full(n, 1 / n)).astype(np.float64)
        size = counts @ sizes
        change = counts @ residuals / size
        spread = counts @ squares - 2 * change * (counts @ products)
        spread += change**2 * (counts @ sizes**2)
        # A sample that repeats a single example has no standard error, so leave it out.
        has_error = spread > 1e-9 * variance
        draw_statistics[number] = np.divide(
            change * size,
            np.sqrt(np.where(has_error, spread, 1.0)),
            out=np.full_like(change, np.nan),
            where=has_error,
        )
    upper, lower = (
        _quantile_of_known(draw_statistics, share)
        for share in ((1 + _CONFIDENCE) / 2, (1 - _CONFIDENCE) / 2)
    )
    error = np.sqrt(variance) / sizes.sum()
    half_width = np.sqrt(n / (n - 1)) * scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1)
    low = np.where(equal, means, means - np.maximum(upper, half_width) * error)
    high = np.where(equal, means, means - np.minimum(lower, -half_width) * error)
    if outcomes:
        rare = few_differ(sums.T, sizes, outcomes)
        # Treat the residuals of a ratio like the values of a mean over groups of equal size.
        square = means**2 + n * variance / sizes.sum() ** 2
        least, most = _with_both_ends(means, square, n, (min(outcomes), max(outcomes)))
        low = np.where(rare, np.minimum(low, least), low)
        high = np.where(rare, np.maximum(high, most), high)
    return low, high


def _quantile_of_known(values: Float64Array, share: float) -> Float64Array:
    """Return a quantile over the first axis, ignoring NaN; NaN if all values are NaN."""
    ordered = np.sort(values, axis=0)  # NaN is sorted to the end.
    n_known = (~np.isnan(values)).sum(0)
    position = share * np.maximum(n_known - 1, 0)
    lower = np.floor(position).astype(np.int64)
    upper = np.ceil(position).astype(np.int64)
    first, second = (np.take_along_axis(ordered, index[None], 0)[0] for index in (lower, upper))
    return np.asarray(first + (position - lower) * (second - first))


def percentile_tails(n: int) -> tuple[float, float]:
    """Return the shares of bootstrap draws below the two ends of an interval for n units.

    Statistics without a standard error use the percentile bootstrap. The variance of its draws is
    divided by n, not by n - 1, and they follow a normal distribution, not Student's t. The shares
    are therefore closer to 0 and 1 than 0.025 and 0.975 (Hesterberg 2015).

    Args:
        n: Number of units.

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
    half_width = np.sqrt(n / (n - 1)) * scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1)
    return float(scipy.stats.norm.cdf(-half_width)), float(scipy.stats.norm.cdf(half_width))


def fieller_interval(numerator: Float64Array, denominator: Float64Array) -> tuple[float, float]:
    """Return Fieller's 95 % interval of the ratio of two means of paired numbers (Fieller 1954).

    The interval contains 0 if and only if the interval of Student's t for the mean numerator does.
    It is finite if and only if the interval of the mean denominator does not contain 0.

    Args:
        numerator: Numerator of each unit, [n].
        denominator: Denominator of the same units, [n].

    Returns:
        Low and high; NaN if the interval is not finite, or with fewer than 3 units.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.significance import fieller_interval
        >>> spent, total = np.array([1.0, 2.0, 1.5, 1.2]), np.array([2.0, 4.2, 2.9, 2.3])
        >>> low, high = fieller_interval(spent, total)
        >>> round(low, 3), round(high, 3)
        (0.471, 0.576)
    """
    n = len(numerator)
    if n < 3:
        return float("nan"), float("nan")
    a, b = float(np.mean(numerator)), float(np.mean(denominator))
    (v_a, c), (_, v_b) = np.cov(numerator, denominator) / n
    t_squared = float(scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1)) ** 2
    scale = b**2 - t_squared * v_b
    if scale <= 0:
        return float("nan"), float("nan")
    center = a * b - t_squared * c
    # Rounding may leave a negative number if the ratio is the same for all units.
    half_width = float(np.sqrt(max(center**2 - scale * (a**2 - t_squared * v_a), 0.0)))
    return float((center - half_width) / scale), float((center + half_width) / scale)


def bootstrap_weights(n: int, draws: int) -> Float64Array:
    """Return the counts of n units in the original sample and in bootstrap samples.

    Args:
        n: Number of units, such as sentences.
        draws: Number of bootstrap samples.

    Returns:
        Counts, float64 [1 + draws, n]. The first row, for the original sample, is 1.

    Example:
        >>> from attnwidget.kernels.significance import bootstrap_weights
        >>> bootstrap_weights(4, draws=2).sum(-1).tolist()
        [4.0, 4.0, 4.0]
    """
    counts = np.random.default_rng(_SEED).multinomial(n, np.full(n, 1 / n), draws)
    return np.concatenate([np.ones((1, n)), counts])


def percentile_interval(
    values: Float64Array, n: int, *, rare: NDArray[np.bool_] | None = None
) -> Float64Array:
    """Return a statistic with its 95 % interval from bootstrap samples.

    The interval uses the percentiles of `percentile_tails`, which are too narrow for a small sample
    from a skewed distribution. The interval therefore includes the interval of Hall's
    transformation, which corrects Student's t for the skewness of the samples (Hall 1992). For
    shares of rare outcomes, it instead includes the interval with two additional units, with the
    shares 0 and 1 (Bonett and Price 2012), because a sample may lack a rare outcome.

    Args:
        values: Statistic of the original sample, then of bootstrap samples, [..., 1 + draws]. NaN
            marks a sample for which the statistic is not defined.
        n: Number of units that count.
        rare: Whether the statistic is a share of rare outcomes, from `few_differ`, [...]; None =
            it is not.

    Returns:
        The value, the lower end and the upper end, [3, ...]. With fewer than `FEWEST_UNITS` units,
        the ends are NaN.

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
        missing = np.full(value.shape, np.nan)
        return np.stack([value, missing, missing])
    draw_statistics = values[..., 1:]
    low, high = np.nanquantile(draw_statistics, percentile_tails(n), axis=-1)
    deviations = draw_statistics - np.nanmean(draw_statistics, axis=-1, keepdims=True)
    variance = np.nanmean(deviations**2, axis=-1)
    varies = variance > 1e-24
    cubes = np.nanmean(deviations**3, axis=-1)
    skewness = np.divide(cubes, variance**1.5, out=np.zeros_like(cubes), where=varies)
    # Correct the bias: samples of n units have smaller moments than their distribution.
    skewness *= np.sqrt(n * (n - 1)) / (n - 2)
    error = np.sqrt(variance * n / (n - 1))
    half_width = scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1)
    least = value - _before_hall(half_width, skewness) * error
    most = value - _before_hall(-half_width, skewness) * error
    if rare is not None:
        rare_ends = _with_both_ends(value, value**2 + n * variance, n, (0.0, 1.0))
        least = np.where(rare, rare_ends[0], np.clip(least, 0, 1))
        most = np.where(rare, rare_ends[1], np.clip(most, 0, 1))
    return np.stack([value, np.minimum(low, least), np.maximum(high, most)])


def _hall(t: Float64Array, skewness: Float64Array) -> Float64Array:
    """Return Hall's transformation of a studentized mean, which is less skewed (Hall 1992)."""
    transformed: Float64Array = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
    return transformed


def _before_hall(transformed: float, skewness: Float64Array) -> Float64Array:
    """Return the inverse of Hall's transformation, a studentized mean."""
    safe_skewness = np.where(np.abs(skewness) > 1e-6, skewness, 1.0)
    mean: Float64Array = (
        3 / safe_skewness * (np.cbrt(1 + safe_skewness * (transformed - safe_skewness / 6)) - 1)
    )
    return np.where(np.abs(skewness) > 1e-6, mean, transformed)


def bootstrap_ratio_interval(
    successes: ArrayLike,
    trials: ArrayLike,
    *,
    draws: int = 2000,
) -> tuple[float, float]:
    """Return the studentized 95 % bootstrap interval of a proportion pooled over examples.

    Examples are drawn with replacement, and their total number of successes is divided by their
    total number of trials (Efron 1979), as in `bootstrap_interval`. For example, sentences are
    drawn rather than words, because the words of one sentence are not independent.

    With fewer than `FEWEST_UNITS` examples with trials, the interval is 0 to 1. If so few examples
    have successes or failures, the interval includes the interval with two additional examples, one
    with the proportion 0 and one with the proportion 1 (Bonett and Price 2012).

    Args:
        successes: Number of successes per example, [N].
        trials: Number of trials per example, [N]. Examples without trials do not count.
        draws: Number of bootstrap samples.

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
    """Return the 95 % interval of the difference between two accuracies on the same n examples.

    One example is added to each kind of disagreement (Bonett and Price 2012). The interval
    therefore keeps its level for few examples, and is not empty without disagreements.

    Args:
        only_first: Number of examples that only the first predictor gets right.
        only_second: Number of examples that only the second predictor gets right.
        n: Total number of examples.

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
        (np.asarray(count, np.float64) + 1) / size for count in (only_first, only_second)
    )
    difference = first - second
    half_width = scipy.stats.norm.ppf((1 + _CONFIDENCE) / 2) * np.sqrt(
        (first + second - difference**2) / size
    )
    low: Float64Array = np.maximum(difference - half_width, -1)
    return low, np.minimum(difference + half_width, 1)


def above_zero(values: ArrayLike) -> Float64Array:
    """Return the one-sided p-value for the hypothesis that a mean over examples is not above 0.

    The p-value is the larger of two: Student's t, and Student's t after Hall's transformation,
    which corrects for the skewness of the examples (Hall 1992). A small sample seldom shows a long
    tail of small values. At a level of 5 %, Student's t without correction then rejects a true mean
    of 0 in 15 % of the samples. For the same reason, the skewness of a small sample is too small,
    and is therefore multiplied by 1 + 6 / N; the rejection rate is then 5 to 7 %.

    Args:
        values: One number per example, [..., N].

    Returns:
        p-values [...]; NaN with fewer than `FEWEST_UNITS` examples.

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
    # Rounding can change the variance of equal values slightly, so use a lower bound.
    error = np.sqrt(np.maximum(sample.var(-1, ddof=1), 1e-18) / n)
    cubes = ((sample - mean[..., None]) ** 3).mean(-1) * n**2 / ((n - 1) * (n - 2))
    skewness = (1 + 6 / n) * cubes / (error * np.sqrt(n)) ** 3 / np.sqrt(n)
    t = mean / error
    p = scipy.stats.t.sf(np.stack([t, _hall(t, skewness)]), n - 1)
    return np.asarray(p.max(0), np.float64)


def sign_flip_test(values: ArrayLike) -> Float64Array:
    """Return the two-sided p-value of the paired randomization test that a mean is not 0.

    The signs of all differences are drawn at random, with the same signs for all entries of the
    leading axes. The p-value is the share of draws, including the observed signs, whose mean is at
    least as far from 0 (Fisher 1935). The smallest possible p-value is 1 / 10,000.

    Args:
        values: One difference per example, [..., N].

    Returns:
        p-values [...].

    Example:
        >>> from attnwidget.kernels.significance import sign_flip_test
        >>> float(sign_flip_test([1.0, 2.0, 1.5, 0.5]).round(2))
        0.12
    """
    sample = np.asarray(values, dtype=np.float64)
    n = sample.shape[-1]
    random = np.random.default_rng(_SEED)
    flat = sample.reshape(-1, n).T
    # Treat sums that differ only by rounding as equally far from 0.
    observed = np.abs(flat.sum(0)) * (1 - 1e-12)
    n_as_far = np.ones(flat.shape[1])
    for _ in range(_FLIPS):
        n_as_far += np.abs(random.choice((-1.0, 1.0), n) @ flat) >= observed
    return (n_as_far / (_FLIPS + 1)).reshape(sample.shape[:-1])


def smallest_share_change(n_changed: ArrayLike, n: int, level: float) -> Float64Array:
    """Return the smallest difference of two accuracies that McNemar's exact test can detect.

    A difference of t examples needs at least t examples that change. If more examples change, some
    of them change in the opposite direction, and the difference must be larger.

    Args:
        n_changed: Number of examples that only one of the predictors gets right.
        n: Total number of examples.
        level: Largest two-sided p-value that counts as significant.

    Returns:
        Smallest differences, 0 to 1; infinite if not even n changed examples are significant.

    Example:
        >>> from attnwidget.kernels.significance import smallest_share_change
        >>> smallest_share_change([0, 8, 20], 100, 0.05).tolist()
        [0.06, 0.08, 0.1]
    """
    changed = np.asarray(n_changed, np.int64)
    smallest = np.full(changed.shape, np.inf)
    for index, n_flips in np.ndenumerate(changed):
        # With fewer changed examples than this, no difference is significant.
        while n_flips <= n:
            wins = np.arange((n_flips + 1) // 2, n_flips + 1)
            significant = wins[differ(wins, n_flips - wins) <= level]
            if len(significant):
                smallest[index] = (2 * significant[0] - n_flips) / n
                break
            n_flips += 1
    return smallest


def smallest_mean_change(values: ArrayLike, level: float) -> Float64Array:
    """Return the smallest mean that the sign-flip test of N differences can detect.

    The differences keep their standard deviation. The distribution of their mean under random signs
    is approximated by a normal distribution, and no p-value is below that of all signs being equal,
    or below 1 / 10,000.

    Args:
        values: One difference per example, [..., N].
        level: Largest two-sided p-value that counts as significant.

    Returns:
        Smallest means, of the unit of the values, [...]; infinite if no mean is significant.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.significance import smallest_mean_change
        >>> differences = np.array([0.3, -0.1, 0.2, 0.1, -0.2, 0.0, 0.1, 0.2])
        >>> smallest_mean_change(differences, 0.05).round(2).tolist()
        0.15
        >>> smallest_mean_change(differences[:4], 0.05).tolist()
        inf
    """
    sample = np.asarray(values, dtype=np.float64)
    n = sample.shape[-1]
    quantile = scipy.stats.norm.isf(level / 2)
    if max(2.0 ** (1 - n), 1 / (_FLIPS + 1)) > level or n <= quantile**2:
        return np.full(sample.shape[:-1], np.inf)
    # The squared sum of the differences must exceed quantile ** 2 times the sum of their squares.
    smallest: Float64Array = quantile * sample.std(-1) / np.sqrt(n - quantile**2)
    return smallest
