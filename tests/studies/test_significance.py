"""Intervals and tests against scipy's own and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap, false_discovery_control, permutation_test

from attnwidget.studies.significance import (
    benjamini_hochberg,
    better_than,
    bootstrap_interval,
    bootstrap_ratio_interval,
    differ,
    holm,
    sign_flip_test,
    wilson_interval,
)

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
    assert bootstrap_ratio_interval([0, 5], [0, 5]) == (1, 1)
