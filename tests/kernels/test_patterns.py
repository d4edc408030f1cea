"""Patterns of maps: by rule as by eye, on made maps of each pattern and on labeled ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from attnwidget.kernels.patterns import (
    BLOCK,
    BLOCK_FROM,
    BOTH,
    DIAGONAL,
    DIAGONAL_FROM,
    OTHER,
    PATTERNS,
    VERTICAL,
    VERTICAL_FROM,
    PatternScores,
    classify,
    pattern_scores,
)
from attnwidget.metrics.patterns import Patterns
from fixtures.random_batches import HEADS, LAYERS, random_batch, random_maps, seen
from references import reference_heads as reference

DATA = Path(__file__).parents[1] / "data"
seeds = st.integers(0, 2**31 - 1)


def labeled() -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    """Maps [n, n] of embedded models as bytes of sqrt(weight / maximum), and labels.

    Labels were given by eye, those of today's models by a language model that saw pictures of the
    maps, and before any rule or network had named them. "development" maps were
    looked at while the rules were made; "held out" ones were drawn and labeled afterwards: both
    are of an earlier embedded model. "training" and "held out later" are of today's two, of other
    texts each. The network was trained on "development" and "training".
    """
    entries = json.loads((DATA / "pattern_labels.json").read_text("utf-8"))
    stored = np.load(DATA / "pattern_maps.npz")["maps"]
    start = 0
    for entry in entries:
        n = entry["tokens"]
        cells = stored[start : start + n * n].reshape(n, n) / 255.0
        start += n * n
        weights = cells**2 * entry["maximum"]
        yield weights / weights.sum(-1, keepdims=True), entry
    assert start == len(stored)


def name_of(map_: np.ndarray, first: int | None = None, *, causal: bool = False) -> str:
    """The pattern of one map whose first sentence has `first` tokens."""
    n = len(map_)
    segments = torch.arange(n)[None] >= (n if first is None else first)
    scores = pattern_scores(
        torch.from_numpy(map_.astype("f4"))[None, None], segments=segments, causal=causal
    )
    return PATTERNS[int(classify(scores))]


def macro_f1(pairs: list[tuple[str, str]]) -> float:
    """Mean over the patterns that occur of 2 TP / (labeled + named)."""
    found = []
    for pattern in PATTERNS:
        hits = sum(label == name == pattern for label, name in pairs)
        size = sum((label == pattern) + (name == pattern) for label, name in pairs)
        if size:
            found.append(2 * hits / size)
    return float(np.mean(found))


def agreement(*samples: str) -> tuple[float, float]:
    """Accuracy and macro-F1 of the rules on labeled samples."""
    pairs = [
        (entry["label"], name_of(map_, entry["first"]))
        for map_, entry in labeled()
        if entry["sample"] in samples
    ]
    return float(np.mean([label == name for label, name in pairs])), macro_f1(pairs)


@pytest.mark.slow
def test_rules_agree_with_labels_by_eye() -> None:
    assert sum(1 for _ in labeled()) == 406
    accuracy, f1 = agreement("held out")
    assert accuracy >= 0.90 and f1 >= 0.87
    accuracy, f1 = agreement("development", "held out")
    assert accuracy >= 0.82 and f1 >= 0.78


def test_every_pattern_is_among_the_labels() -> None:
    assert {entry["label"] for _, entry in labeled()} == set(PATTERNS)


def made(pattern: str, n: int, draw: np.random.Generator) -> np.ndarray:
    """A map [n, n] of a pattern, each row part noise; a block has its border in the middle."""
    places = np.arange(n)
    noise = np.exp(draw.normal(size=(n, n)))
    noise /= noise.sum(-1, keepdims=True)
    column = np.zeros((n, n))
    line = np.zeros((n, n))
    column[:, draw.choice(n, 2, replace=False)] = draw.dirichlet([3, 3])
    line[places, np.clip(places + draw.integers(-1, 2), 0, n - 1)] = 1
    half = places < n // 2
    block = np.exp(draw.normal(size=(n, n)) / 2) * (half[:, None] == half)
    block /= block.sum(-1, keepdims=True)
    share = draw.uniform(0.75 if pattern == BOTH else 0.5, 0.95)
    shape = {
        VERTICAL: column,
        DIAGONAL: line,
        BOTH: (column + line) / 2,
        BLOCK: block,
        OTHER: noise,
    }[pattern]
    return share * shape + (1 - share) * noise


@pytest.mark.parametrize("pattern", PATTERNS)
@given(seed=seeds, n=st.integers(24, 128))
def test_made_maps_have_the_pattern_they_were_made_with(pattern: str, seed: int, n: int) -> None:
    map_ = made(pattern, n, np.random.default_rng(seed))
    assert name_of(map_, n // 2) == pattern


@given(seed=seeds, n=st.integers(4, 24), first=st.integers(1, 24), peaked=st.sampled_from([1, 4]))
def test_scores_equal_the_reference(seed: int, n: int, first: int, peaked: int) -> None:
    assume(first <= n)
    powers = np.exp(np.random.default_rng(seed).normal(size=(n, n)) * peaked)
    map_ = powers / powers.sum(-1, keepdims=True)
    segments = [int(i >= first) for i in range(n)]
    expected = reference.pattern_scores(map_, segments)
    # A share of a variance that is nearly 0 rounds to 2e-5 in float32.
    for dtype, tolerance in (("f8", 1e-7), ("f4", 1e-4)):
        scores = pattern_scores(
            torch.from_numpy(map_.astype(dtype))[None, None], segments=torch.tensor([segments])
        )
        np.testing.assert_allclose(
            [float(score) for score in scores], expected, atol=tolerance, rtol=tolerance
        )


@pytest.mark.parametrize("n", [16, 40, 128])
def test_causal_maps_are_compared_with_what_a_query_sees(n: int) -> None:
    sees = np.tril(np.ones((n, n)))
    even = sees / sees.sum(-1, keepdims=True)
    first = np.zeros((n, n))
    before = np.zeros((n, n))
    first[:, 0] = before[0, 0] = 1
    before[range(1, n), range(n - 1)] = 1
    assert name_of(even, causal=True) == OTHER
    assert name_of(first, causal=True) == VERTICAL
    assert name_of(before, causal=True) == DIAGONAL
    assert name_of((first + before) / 2, causal=True) == BOTH
    assert name_of((first + even) / 2, causal=True) == VERTICAL
    # The second sentence's even attention is no block: the first one cannot see it.
    assert name_of(even, n // 2, causal=True) == OTHER


def test_thresholds_belong_to_the_pattern_and_the_diagonal_comes_first() -> None:
    below = 1e-6
    rows = [
        (VERTICAL_FROM, 0, 0, VERTICAL),
        (VERTICAL_FROM - below, 0, 0, OTHER),
        (0, DIAGONAL_FROM, 1, DIAGONAL),
        (VERTICAL_FROM, DIAGONAL_FROM, 1, BOTH),
        (1, DIAGONAL_FROM - below, BLOCK_FROM, BLOCK),
    ]
    scores = PatternScores(*torch.tensor([row[:3] for row in rows]).double().T[:, None])
    assert [PATTERNS[k] for k in classify(scores)[0]] == [row[3] for row in rows]


@pytest.mark.slow
@given(seed=seeds)
def test_the_accumulator_counts_the_patterns_of_its_maps(seed: int) -> None:
    lengths = [10, 14, 12]
    batch = random_batch(seed, lengths, padding=3)
    maps = random_maps(seed, lengths, padding=3)
    result = seen(Patterns(), batch, maps).compute()
    for layer in range(LAYERS):
        for head in range(HEADS):
            names = [
                name_of(maps[layer, d, head, :n, :n].numpy(), batch.tokens[d].segments.count(0))
                for d, n in enumerate(lengths)
            ]
            for pattern, shares in result.heads().items():
                assert shares[layer, head] == pytest.approx(names.count(pattern) / 3)
    assert (result.n_documents, result.n_pairs) == (3, 1)
    np.testing.assert_allclose(result.fractions.sum(0), 1)
    assert sum(result.overall().values()) == pytest.approx(1)
    assert result.most_frequent().shape == (LAYERS, HEADS)
