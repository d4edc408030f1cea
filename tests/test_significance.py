"""Intervals and tests against scipy's own and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from attnwidget.studies.significance import better_than, holm, wilson_interval

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
    left, rejected = len(p_values), set()
    for i in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        if p_values[i] * left > level or level == 1:
            break
        rejected.add(i)
        left -= 1
    if level < 1:
        assert {i for i, p in enumerate(corrected) if p <= level} == rejected
    assert (corrected >= p_values).all() and (corrected <= 1).all()
