"""Distances, patterns and induction over batches: what holds of every accumulator of heads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnwidget.corpus.accumulator import Accumulator
from attnwidget.metrics.head_distances import Distances
from attnwidget.metrics.induction import Induction
from attnwidget.metrics.patterns import Patterns
from fixtures.random_batches import HEADS, one_document, random_batch, random_maps, seen

seeds = st.integers(0, 2**31 - 1)
several_lengths = st.lists(st.integers(2, 24), min_size=1, max_size=4)
MAKERS: dict[str, Callable[[], Accumulator[Any]]] = {
    "distances": Distances,
    "patterns": Patterns,
    "patterns of causal maps": Patterns,
    "patterns by the network": partial(Patterns, "cnn"),
    "induction": Induction,
}
kinds = pytest.mark.parametrize("kind", MAKERS)


def maps_of(kind: str, seed: int, lengths: list[int], padding: int = 0) -> torch.Tensor:
    causal = kind in ("induction", "patterns of causal maps")
    return random_maps(seed, lengths, padding=padding, causal=causal)


def same(first: Accumulator[Any], second: Accumulator[Any]) -> None:
    # Sums, not classes: a score on a threshold may fall to either side.
    for name, values in first.sums.items():
        if name != "maps":
            np.testing.assert_allclose(values, second.sums[name], atol=2e-5, rtol=1e-5)


@pytest.mark.slow
@kinds
@given(seed=seeds, lengths=several_lengths, padding=st.integers(0, 3))
def test_results_depend_neither_on_batches_nor_on_padding(
    kind: str, seed: int, lengths: list[int], padding: int
) -> None:
    batch = random_batch(seed, lengths, padding=padding)
    maps = maps_of(kind, seed, lengths, padding)
    together = seen(MAKERS[kind](), batch, maps)
    apart = MAKERS[kind]()
    for document in range(len(lengths)):
        seen(apart, *one_document(batch, maps, document))
    same(together, apart)


@pytest.mark.slow
@kinds
@given(seed=seeds)
def test_heads_permute(kind: str, seed: int) -> None:
    lengths = [9, 12]
    batch = random_batch(seed, lengths)
    maps = maps_of(kind, seed, lengths)
    order = [2, 0, 1]
    assert len(order) == HEADS
    heads = seen(MAKERS[kind](), batch, maps).compute().heads()
    permuted = seen(MAKERS[kind](), batch, maps[:, :, order]).compute().heads()
    for title, values in heads.items():
        np.testing.assert_allclose(values[:, order], permuted[title], atol=1e-6)


@pytest.mark.slow
@kinds
@given(seed=seeds)
def test_any_order_of_merging_gives_the_same(kind: str, seed: int) -> None:
    parts = []
    for k, lengths in enumerate(([7, 9], [12], [5, 5, 8])):
        batch = random_batch(seed + k, lengths)
        maps = maps_of(kind, seed + k, lengths)
        parts.append((batch, maps))
    states = []
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        merged, *rest = (seen(MAKERS[kind](), *parts[k]) for k in order)
        for other in rest:
            merged.merge(other)
        states.append(merged)
    for other in states[1:]:
        same(states[0], other)


@kinds
def test_a_restored_state_continues_to_the_last_bit(kind: str) -> None:
    first, second = ((random_batch(k, [8, 11]), maps_of(kind, k, [8, 11])) for k in (0, 1))
    whole = seen(seen(MAKERS[kind](), *first), *second)
    stopped = seen(MAKERS[kind](), *first)
    resumed = seen(MAKERS[kind](), *second)
    resumed.restore(stopped.state())
    seen(resumed, *second)
    for name, values in whole.sums.items():
        np.testing.assert_array_equal(values, resumed.sums[name])


@kinds
def test_results_have_frames_and_short_reprs(kind: str) -> None:
    batch = random_batch(0, [10, 12])
    maps = maps_of(kind, 0, [10, 12])
    result = seen(MAKERS[kind](), batch, maps).compute()
    frame = result.to_frame()
    assert list(frame.columns) == ["layer", "head", "metric", "value"]
    assert len(frame) == 6 * len(result.heads())
    assert len(repr(result)) < 160 and "array" not in repr(result)
    assert result.chart().to_dict()["title"]
