"""Kernels against slow references, and what must hold of any input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnwidget.kernels import divergence
from attnwidget.kernels.divergence import js_changes, js_divergences
from attnwidget.kernels.entropy import entropy
from attnwidget.kernels.pooling import cell_edges, max_pool, quantize
from attnwidget.kernels.weights import attention_weights
from attnwidget.kernels.word_weights import word_weights
from references import reference_kernels as reference
from refusals import naming

seeds = st.integers(0, 2**31 - 1)
lengths = st.integers(1, 9)


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype("f4")


def maps(seed: int, *shape: int) -> np.ndarray:
    scores = np.exp(random(seed, *shape))
    return scores / scores.sum(-1, keepdims=True)


@given(seed=seeds, rows=lengths, columns=lengths, key_heads=st.sampled_from([1, 2, 4]))
def test_weights_equal_the_reference(seed: int, rows: int, columns: int, key_heads: int) -> None:
    query = random(seed, 4, rows, 8)
    key = random(seed + 1, key_heads, columns, 8)
    mask = np.where(random(seed + 2, rows, columns) > 0.7, np.finfo("f4").min, 0).astype("f4")
    got = attention_weights(
        torch.from_numpy(query), torch.from_numpy(key), scaling=0.3, mask=torch.from_numpy(mask)
    ).numpy()
    np.testing.assert_allclose(got, reference.attention_weights(query, key, 0.3, mask), atol=1e-6)
    np.testing.assert_allclose(got.sum(-1), 1, atol=1e-6)


@given(seed=seeds, length=lengths)
def test_heads_and_tokens_permute_with_their_inputs(seed: int, length: int) -> None:
    query, key = (torch.from_numpy(random(seed + k, 3, length, 4)) for k in (0, 1))
    weights = attention_weights(query, key, scaling=1.0)
    order = torch.randperm(length, generator=torch.Generator().manual_seed(seed))
    heads = torch.tensor([2, 0, 1])
    again = attention_weights(query[heads][:, order], key[heads][:, order], scaling=1.0)
    torch.testing.assert_close(again, weights[heads][:, order][:, :, order], atol=1e-6, rtol=0)


@given(seed=seeds, length=lengths, padding=st.integers(1, 5))
def test_masked_padding_changes_nothing(seed: int, length: int, padding: int) -> None:
    query, key = (torch.from_numpy(random(seed + k, 2, length + padding, 4)) for k in (0, 1))
    mask = torch.zeros(length + padding)
    mask[length:] = torch.finfo(torch.float32).min
    padded = attention_weights(query, key, scaling=1.0, mask=mask)
    alone = attention_weights(query[:, :length], key[:, :length], scaling=1.0)
    torch.testing.assert_close(padded[:, :length, :length], alone, atol=1e-6, rtol=0)


def test_sinks_take_their_share() -> None:
    query = torch.zeros(2, 1, 4)
    weights = attention_weights(
        query, torch.zeros(2, 3, 4), scaling=1.0, sinks=torch.tensor([0.0, -1e4])
    )
    torch.testing.assert_close(weights.sum(-1).flatten(), torch.tensor([0.75, 1.0]))


def test_soft_cap_and_bias_come_before_the_softmax() -> None:
    query = torch.full((1, 1, 1), 10.0)
    key = torch.tensor([[[1.0], [-1.0]]])
    bias = torch.tensor([[[0.0, 1.0]]])
    weights = attention_weights(query, key, scaling=1.0, softcap=2.0, position_bias=bias)
    expected = torch.softmax(torch.tanh(torch.tensor([5.0, -5.0])) * 2 + bias[0, 0], -1)
    torch.testing.assert_close(weights[0, 0], expected)


def test_uneven_sharing_is_refused() -> None:
    with pytest.raises(ValueError, match=naming("3 query", "2 key")):
        attention_weights(torch.zeros(3, 1, 2), torch.zeros(2, 1, 2), scaling=1.0)


@given(seed=seeds, words=st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_words_equal_the_reference(seed: int, words: list[int]) -> None:
    owner = np.repeat(np.arange(len(words)), words)
    groups = [list(np.flatnonzero(owner == k)) for k in range(len(words))]
    weights = maps(seed, len(owner), len(owner))
    index = torch.from_numpy(owner)
    got = word_weights(torch.from_numpy(weights), index, index).numpy()
    np.testing.assert_allclose(got, reference.word_weights(weights, groups, groups), atol=1e-6)
    np.testing.assert_allclose(got.sum(-1), 1, atol=1e-5)


@given(seed=seeds, rows=st.integers(1, 20), columns=st.integers(1, 20), side=st.integers(1, 8))
def test_pooling_equals_the_reference(seed: int, rows: int, columns: int, side: int) -> None:
    weights = maps(seed, rows, columns)
    cells = cell_edges(rows, side), cell_edges(columns, side)
    got = max_pool(torch.from_numpy(weights), *cells).numpy()
    np.testing.assert_array_equal(got, reference.max_pool(weights, side))
    assert got.max() == weights.max()


@given(seed=seeds)
def test_bytes_hold_the_weight_to_a_step(seed: int) -> None:
    weights = torch.from_numpy(maps(seed, 2, 7, 7))
    values, maxima = quantize(weights)
    back = (values.float() / 255).square() * maxima[:, None, None]
    assert values.amax() == 255
    # One step of the root is 1/255; the square's slope is at most 2.
    assert ((back - weights).abs() / maxima[:, None, None]).max() <= 1.01 / 255


def test_an_empty_map_stays_zero() -> None:
    values, maxima = quantize(torch.zeros(3, 3))
    assert not values.any() and maxima == 0


def test_entropies_over_thousands_of_keys_keep_their_digits() -> None:
    # Half of the keys are hidden, and their smoothed weights are too small for one float32 sum.
    weights = np.zeros((1, 1, 4, 8192), "f4")
    weights[..., :4096] = maps(0, 1, 1, 4, 4096)
    p = weights.astype("f8") * (1 - 1e-4) + 1e-4 / 8192
    found = entropy(torch.from_numpy(weights), torch.tensor([8192]), first=4095)
    np.testing.assert_allclose(found, -(p * np.log(p)).sum(-1), atol=3e-6)


@pytest.mark.parametrize("is_causal", [False, True])
def test_changes_of_heads_are_the_divergences_of_each_pair_to_the_last_bit(
    is_causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 5, 70, 70, generator=draw) * 3
    if is_causal:
        scores = scores.masked_fill(~torch.ones(70, 70).tril().bool(), -torch.inf)
    weights, others = scores.softmax(-1)
    others[3] = weights[3]
    others[4, :, :20] = 0  # another number of cells that a head sees
    weights[4, :, :20] = 0
    calls: list[int] = []
    log2 = divergence.log2

    def counting(values: np.ndarray, out: np.ndarray) -> None:
        calls.append(values.size)
        log2(values, out)

    monkeypatch.setattr(divergence, "log2", counting)
    found = js_changes(weights, others)
    n_calls = len(calls)
    expected = [
        float(js_divergences(torch.stack(pair))[0, 1]) / 70 if not torch.equal(*pair) else 0.0
        for pair in zip(weights, others, strict=True)
    ]
    assert found.tolist() == expected
    assert found[3] == 0
    assert n_calls <= (len(calls) - n_calls) / 3
    assert max(calls) <= 32768  # torch would spread more over threads
