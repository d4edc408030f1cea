"""Intervals and tests against scipy's own and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap, false_discovery_control, permutation_test, sem
from scipy.stats import t as student

from attnwidget.interventions.score_changes import ScoreChanges
from attnwidget.kernels.significance import (
    FEWEST_UNITS,
    above_zero,
    benjamini_hochberg,
    better_than,
    bootstrap_interval,
    bootstrap_ratio_interval,
    bootstrap_weights,
    differ,
    few_differ,
    fieller_interval,
    holm,
    paired_interval,
    percentile_interval,
    percentile_tails,
    sign_flip_test,
    smallest_mean_change,
    smallest_share_change,
    wilson_interval,
)
from refusals import naming

counts = st.integers(0, 60)


@given(hits=counts, misses=counts)
def test_wilson(hits: int, misses: int) -> None:
    low, high = wilson_interval(hits, hits + misses)
    if not hits + misses:
        assert (low, high) == (0, 1)
        return
    expected = binomtest(hits, hits + misses).proportion_ci(method="wilson")
    assert (float(low), float(high)) == (
        pytest.approx(expected.low, abs=1e-12),
        pytest.approx(expected.high, abs=1e-12),
    )


@given(first=counts, second=counts)
def test_mcnemar(first: int, second: int) -> None:
    expected = 1.0
    if first + second:
        expected = binomtest(first, first + second, alternative="greater").pvalue
    assert float(better_than(first, second)) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 1))
def test_holm_rejects_what_its_steps_reject(p_values: list[float], level: float) -> None:
    corrected = holm(np.array(p_values)[None])[0]
    left = len(p_values)
    rejected = set()
    for i in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        if p_values[i] * left > level or level == 1:
            break
        rejected.add(i)
        left -= 1
    if level < 1:
        assert {i for i, p in enumerate(corrected) if p <= level} == rejected
    assert (corrected >= p_values).all() and (corrected <= 1).all()


@given(first=counts, second=counts)
def test_two_sided_mcnemar(first: int, second: int) -> None:
    n = first + second
    expected = binomtest(first, n).pvalue if n else 1.0
    assert float(differ(first, second)) == pytest.approx(expected, rel=1e-9)


@given(p_values=st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_benjamini_hochberg(p_values: list[float]) -> None:
    expected = false_discovery_control(p_values)
    np.testing.assert_allclose(benjamini_hochberg(p_values), expected, atol=1e-12)
    missing = benjamini_hochberg([np.nan, *p_values])
    assert np.isnan(missing[0])
    np.testing.assert_allclose(missing[1:], expected, atol=1e-12)


@pytest.mark.slow
def test_bootstrap_and_sign_flips_beside_scipys() -> None:
    values = np.random.default_rng(3).normal(0.3, 1, (2, 60))
    low, high = bootstrap_interval(values, draws=4000)
    p = sign_flip_test(values)
    for i, own in enumerate(values):
        theirs = bootstrap((own,), np.mean, n_resamples=4000, method="percentile", random_state=1)
        interval = theirs.confidence_interval
        assert (low[i], high[i]) == pytest.approx((interval.low, interval.high), abs=0.03)
        flips = permutation_test((own,), np.mean, permutation_type="samples", random_state=1)
        assert p[i] == pytest.approx(flips.pvalue, abs=0.02)
    # Exact: of 2^3 signs the two that all agree.
    assert sign_flip_test([1.0, 1.0, 1.0]) == pytest.approx(0.25, abs=0.02)


def test_a_bootstrap_of_ratios_beside_scipys() -> None:
    random = np.random.default_rng(4)
    trials = random.integers(1, 20, 80)
    successes = random.binomial(trials, 0.6)
    low, high = bootstrap_ratio_interval(successes, trials, draws=4000)
    theirs = bootstrap(
        (successes, trials),
        lambda right, all_, axis=-1: right.sum(axis) / all_.sum(axis),
        paired=True,
        n_resamples=4000,
        method="percentile",
        random_state=1,  # `rng` from scipy 1.15 on
    ).confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.01)
    assert bootstrap_ratio_interval([0, 0], [0, 0]) == (0, 1)
    # One sentence with words is no basis for an interval.
    assert bootstrap_ratio_interval([0, 5], [0, 5]) == (0, 1)


def coverage(low: np.ndarray, high: np.ndarray, truth: float) -> float:
    return float(((low <= truth) & (truth <= high)).mean())


@pytest.mark.parametrize("n", [6, 8, 16])
def test_intervals_of_few_units_include_the_true_mean(n: int) -> None:
    random = np.random.default_rng(n)
    samples = {
        "uniform": (random.uniform(-1, 1, (1000, n)), 0.0),
        "shares": (random.beta(0.5, 3, (1000, n)), 1 / 7),
        "lognormal": (np.exp(0.5 * random.normal(size=(1000, n))), float(np.exp(0.125))),
    }
    for name, (values, truth) in samples.items():
        low, high = bootstrap_interval(values, draws=400)
        assert coverage(low, high, truth) >= 0.92, name
        assert (low <= values.mean(-1)).all() and (values.mean(-1) <= high).all()


def test_intervals_of_few_documents_include_the_true_mean() -> None:
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), [1, 2, 5, 3, 4, 2, 1, 6])
    of_documents = random.normal(0.2, 1, (800, 8))
    values = of_documents[:, groups] + random.normal(0, 0.3, (800, len(groups)))
    low, high = bootstrap_interval(values, groups=groups, draws=400)
    assert coverage(low, high, 0.2) >= 0.9


@pytest.mark.parametrize("n", [1, 2, FEWEST_UNITS - 1])
def test_too_few_units_have_no_interval(n: int) -> None:
    values = np.random.default_rng(0).normal(size=(3, n))
    assert np.isnan(bootstrap_interval(values)).all() and np.isnan(above_zero(values)).all()
    documents = np.arange(30) % n
    assert np.isnan(bootstrap_interval(np.ones((3, 30)), groups=documents)).all()
    assert bootstrap_ratio_interval([1] * n, [2] * n) == (0, 1)
    with pytest.raises(ValueError, match=naming("6 units", "interval")):
        percentile_tails(n)
    for judged in (True, False):
        few = ScoreChanges(np.ones((3, n)), np.zeros(n), judged=judged, tested=True)
        assert np.isnan(few.interval).all()


def test_equal_values_have_an_interval_without_width() -> None:
    low, high = bootstrap_interval(np.full((2, 9), 0.1))
    np.testing.assert_allclose([low, high], 0.1)
    # A model that is right every time may be wrong the next time.
    low, high = bootstrap_ratio_interval([3] * 9, [3] * 9)
    assert 0.7 < low < 0.8 and high == pytest.approx(1)


@pytest.mark.parametrize("n", [6, 8, 16, 32])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.3])
def test_intervals_of_rare_outcomes_include_the_true_mean(n: int, share: float) -> None:
    random = np.random.default_rng(n)
    drawn = random.random((600, n))
    right = drawn < share
    changes = np.where(drawn < share, 1.0, np.where(drawn > 1 - share / 2, -1.0, 0.0))
    for values, truth in (
        (right, share),
        (right.astype(int), share),
        (right - share, 0.0),
        (0.3 * right, 0.3 * share),
        (changes, share / 2),
    ):
        low, high = bootstrap_interval(values, draws=200)
        assert coverage(low, high, truth) >= 0.93
        assert (high - low > 0).all()


def test_rare_outcomes_of_one_head_have_an_interval() -> None:
    for value, ends in ((False, (0, 0.34)), (True, (0.66, 1)), (0, (0, 0.34))):
        low, high = bootstrap_interval([value] * 8)
        assert (float(low), float(high)) == pytest.approx(ends, abs=0.05)
    groups = np.repeat(np.arange(8), 3)
    low, high = bootstrap_interval(np.zeros((2, 24), bool), groups=groups)
    np.testing.assert_allclose(high, bootstrap_interval([False] * 8)[1])


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 8, 16])
def test_intervals_of_rare_right_words_include_the_true_share(n: int) -> None:
    random = np.random.default_rng(n)
    weights = bootstrap_weights(n, 300)
    for share, spread in ((0.05, 4), (0.95, 4), (0.3, 4)):
        covered = np.zeros(2)
        for _ in range(120):
            trials = random.integers(1, 20, n)
            of_sentence = random.beta(share * spread, (1 - share) * spread, n)
            hits = random.binomial(trials, of_sentence)
            rare = few_differ(hits, trials)
            _, low, high = percentile_interval(weights @ hits / (weights @ trials), n, rare=rare)
            ends = [(float(low), float(high)), bootstrap_ratio_interval(hits, trials, draws=200)]
            covered += [first <= share <= last for first, last in ends]
        assert (covered / 120 >= 0.93).all(), share


@pytest.mark.parametrize("n", [6, 8, 16])
def test_percentile_intervals_of_few_units_include_the_true_mean(n: int) -> None:
    random = np.random.default_rng(n)
    weights = bootstrap_weights(n, 400)
    samples = {
        "normal": (random.normal(size=(800, n)), 0.0),
        "exponential": (random.exponential(size=(800, n)), 1.0),
        "left": (-random.exponential(size=(800, n)), -1.0),
        "shares": (random.beta(0.5, 3, (800, n)), 1 / 7),
    }
    for name, (values, truth) in samples.items():
        value, low, high = percentile_interval(values @ weights.T / n, n)
        assert coverage(low, high, truth) >= 0.9, name
        assert (low <= value).all() and (value <= high).all()


@pytest.mark.parametrize("n", [6, 8, 16, 32])
def test_a_mean_of_0_is_seldom_above_0(n: int) -> None:
    random = np.random.default_rng(n)
    samples = {
        "normal": random.normal(size=(4000, n)),
        "left": 1 - random.exponential(size=(4000, n)),
        "shares": 1 / 7 - random.beta(0.5, 3, (4000, n)),
    }
    for name, values in samples.items():
        assert (above_zero(values) <= 0.05).mean() <= 0.08, name
    assert (above_zero(random.normal(1.5, 1, (500, n))) <= 0.05).mean() >= 0.7
    assert (above_zero(-np.abs(random.normal(size=(9, n)))) > 0.95).all()
    # A larger mean never has a larger p-value, however skewed the examples are.
    steps = np.linspace(0, 60, 200)[:, None]
    p = above_zero(steps + np.array([1.0] * (n - 1) + [-2.0]))
    assert (np.diff(p) <= 1e-12).all() and p[-1] < 1e-3


@given(broken=st.integers(0, 40), fixed=st.integers(0, 40), others=st.integers(0, 40))
def test_paired_intervals_hold_the_difference(broken: int, fixed: int, others: int) -> None:
    n = broken + fixed + others
    if n:
        low, high = paired_interval(fixed, broken, n)
        assert -1 <= low < high <= 1
        assert low <= (fixed - broken) / n <= high


def test_paired_intervals_of_few_examples_keep_their_level() -> None:
    random = np.random.default_rng(0)
    for shares in ([0.1, 0.05, 0.85], [0.4, 0.1, 0.5], [0.02, 0.02, 0.96]):
        fixed, broken, _ = random.multinomial(8, shares, 4000).T
        low, high = paired_interval(fixed, broken, 8)
        assert coverage(low, high, shares[0] - shares[1]) >= 0.93, shares
    right = np.zeros((1, 8))
    without = ScoreChanges(right, np.zeros(8), judged=True, tested=True)
    low, high = without.interval
    assert low[0] < -0.2 and high[0] > 0.2, "eight equal answers do not show that nothing changes"


def test_holm_leaves_out_tests_that_were_not_made() -> None:
    corrected = holm([[np.nan, 0.01], [0.04, 0.03]])
    assert np.isnan(corrected[0, 0])
    np.testing.assert_allclose(corrected.ravel()[1:], [0.03, 0.06, 0.06])


@given(
    n=st.integers(1, 40), changed=st.integers(0, 40), level=st.sampled_from([0.05, 0.05 / 72, 0.2])
)
def test_no_smaller_share_than_the_stated_one_is_significant(
    n: int, changed: int, level: float
) -> None:
    changed = min(changed, n)
    stated = float(smallest_share_change(changed, n, level))

    def significant(n_changed: int) -> list[float]:
        return [
            (better - (n_changed - better)) / n
            for better in range(n_changed + 1)
            if 2 * better >= n_changed and binomtest(better, max(n_changed, 1)).pvalue <= level
        ]

    possible = next((found for k in range(changed, n + 1) if (found := significant(k))), [])
    assert stated == pytest.approx(min(possible, default=np.inf))


def test_a_mean_is_significant_above_the_stated_one_and_not_below() -> None:
    draws = np.random.default_rng(0).normal(size=(40, 60))
    draws -= draws.mean(-1, keepdims=True)
    for level in (0.05, 0.05 / 20):
        smallest = smallest_mean_change(draws, level)
        assert (sign_flip_test(draws + 1.15 * smallest[:, None]) <= level).mean() > 0.95
        assert (sign_flip_test(draws + 0.85 * smallest[:, None]) <= level).mean() < 0.05


def test_no_mean_of_few_values_is_significant() -> None:
    assert np.isinf(smallest_mean_change(np.ones((2, 8)), 0.05 / 72)).all()
    assert sign_flip_test(np.ones(8)) > 0.05 / 72
    # The randomization test draws 9,999 sign vectors, so no p-value is below 1 / 10,000.
    assert np.isinf(smallest_mean_change(np.arange(100.0), 0.05 / 1000))


def test_the_interval_of_a_ratio_keeps_its_level() -> None:
    """The interval of Fieller contains the true ratio in 95 % of samples, as Student's t."""
    random = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        below = random.normal(1.0, 0.8, 20)
        above = 0.4 * below + random.normal(0.0, 0.5, 20)
        low, high = fieller_interval(above, below)
        inside += low <= 0.4 <= high
        mean_low = student.interval(0.95, 19, above.mean(), sem(above))[0]
        assert (low > 0) == (mean_low > 0)
    assert 0.94 < inside / 2000 < 0.96
    around_zero = np.array([1.0, -1.0, 2.0, -2.0])
    assert all(np.isnan(fieller_interval(np.ones(4), around_zero)))
    assert all(np.isnan(fieller_interval(np.ones(2), np.ones(2))))
