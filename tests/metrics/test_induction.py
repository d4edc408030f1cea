"""Induction, duplicate-token and previous-token scores: on made maps, and on small models."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import GPT2Config, GPT2LMHeadModel

from attnwidget import load_model
from attnwidget.corpus.segmenting import make_segments
from attnwidget.kernels.causal import is_causal
from attnwidget.kernels.induction import even_spread, induction_targets, mass_on_targets
from attnwidget.metrics.induction import Induction, induction_scores
from attnwidget.metrics.measure_heads import measure
from fixtures import zoo
from fixtures.random_batches import HEADS, LAYERS, random_batch, random_maps, seen
from references import reference_heads as reference
from refusals import naming

seeds = st.integers(0, 2**31 - 1)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Over the keys that a causal query sees."""
    seen = np.tril(np.ones(scores.shape)) > 0
    powers = np.where(seen, np.exp(scores - scores.max()), 0)
    return powers / powers.sum(-1, keepdims=True)


@given(seed=seeds, n=st.integers(2, 14), letters=st.integers(1, 8))
def test_scores_equal_the_reference(seed: int, n: int, letters: int) -> None:
    draw = np.random.default_rng(seed)
    ids = draw.integers(0, letters, n)
    weights = softmax(draw.normal(size=(n, n)) * 3)
    targets = induction_targets(torch.from_numpy(ids)[None])
    found = [float(mass_on_targets(torch.from_numpy(weights)[None, None], t)) for t in targets]
    np.testing.assert_allclose(found, reference.induction_scores(weights, list(ids)), atol=1e-6)
    even = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    found = [float(even_spread(t)) for t in targets]
    np.testing.assert_allclose(found, reference.induction_scores(even, list(ids)), atol=1e-6)


@given(seed=seeds, lengths=st.lists(st.integers(2, 12), min_size=1, max_size=3))
def test_the_accumulator_is_the_mean_over_documents_that_repeat(
    seed: int, lengths: list[int]
) -> None:
    batch = random_batch(seed, lengths, padding=2)
    maps = random_maps(seed, lengths, padding=2, causal=True)
    result = seen(Induction(), batch, maps).compute()
    for layer in range(LAYERS):
        for head in range(HEADS):
            scores = [
                reference.induction_scores(
                    maps[layer, d, head, :n, :n].numpy(),
                    batch.inputs["input_ids"][d, :n].tolist(),
                )
                for d, n in enumerate(lengths)
            ]
            for of_head, of_documents in zip(
                result.heads().values(), zip(*scores, strict=True), strict=True
            ):
                kept = [score for score in of_documents if not np.isnan(score)]
                expected = np.mean(kept) if kept else np.nan
                np.testing.assert_allclose(of_head[layer, head], expected, atol=1e-6)


def test_two_layers_built_to_continue_a_sequence() -> None:
    """A previous-token head, and one that matches its query with the token before each key."""
    length = 10
    ids = np.tile(np.random.default_rng(0).permutation(40)[:length], 2)
    n = len(ids)
    tokens = np.eye(40)[ids]
    first = softmax(20.0 * np.eye(n, k=-1))
    before = first @ tokens  # what layer 0 writes: each position's previous token
    before[0] = 0
    second = softmax(20.0 * tokens @ before.T)
    duplicate = softmax(20.0 * (tokens @ tokens.T - np.eye(n)))
    targets = induction_targets(torch.from_numpy(ids)[None])
    maps = torch.from_numpy(np.stack([first, second, duplicate]))[None]
    induction, copies, previous = (mass_on_targets(maps, t)[0] for t in targets)
    assert induction[1] > 0.99 and induction[[0, 2]].max() < 0.1
    assert copies[2] > 0.99 and copies[[0, 1]].max() < 0.1
    assert previous[0] > 0.99 and previous[[1, 2]].max() < 0.3


def gpt2(**fields: int) -> GPT2LMHeadModel:
    torch.manual_seed(0)
    small = {"n_layer": 2, "n_head": 4, "n_embd": 32, "vocab_size": 99, "n_positions": 128}
    return GPT2LMHeadModel(GPT2Config(**(small | {"bos_token_id": 0, "eos_token_id": 0} | fields)))


def test_a_random_model_scores_what_an_even_head_does() -> None:
    result = induction_scores(load_model(gpt2()), n_sequences=4, length=30)
    assert result.n_documents == 4
    for title, scores in result.heads().items():
        assert scores.shape == (2, 4)
        # The first previous tokens are seen by queries that see little else.
        np.testing.assert_allclose(scores, result.even[title], atol=0.02)
    assert result.even["induction"] == pytest.approx(
        np.mean([1 / (i + 1) for i in range(31, 61)]), rel=1e-5
    )


def test_sequences_follow_the_seed_and_begin_as_texts_do(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(gpt2())
    asked: list[list[int]] = []
    attend = model.attend
    monkeypatch.setattr(model, "attend", lambda ids: (asked.append(ids), attend(ids))[1])
    for seed in (0, 0, 1):
        induction_scores(model, n_sequences=1, length=6, repeats=3, seed=seed)
    first, again, other = asked
    assert first == again != other
    assert first[0] == 0 and 0 not in first[1:]
    assert first[1:7] == first[7:13] == first[13:] and len(set(first[1:7])) == 6


def test_text_with_repetitions_is_measured() -> None:
    tokenizer = load_model().tokenizer
    model = load_model(gpt2(vocab_size=len(tokenizer)), tokenizer)
    texts = ["the rain fell on the hill, the rain fell on the town", "the cat"]
    found = measure(model, make_segments(texts, model), ["induction"], progress=False)["induction"]
    ids = tokenizer(texts[0])["input_ids"]
    maps = model.attend(texts[0]).weights()
    expected = reference.induction_scores(maps[1, 2], ids)
    assert found.heads()["induction"][1, 2] == pytest.approx(expected[0], abs=1e-6)
    assert found.heads()["duplicate token"][1, 2] == pytest.approx(expected[1], abs=1e-6)


@pytest.mark.slow
def test_what_has_no_scores_is_refused() -> None:
    bert = load_model()
    with pytest.raises(ValueError, match=naming("BertForMaskedLM", "causal")):
        induction_scores(bert, length=10)
    with pytest.raises(ValueError, match=naming("BertForMaskedLM", "causal")):
        measure(bert, make_segments(["a b a b"], bert), ["induction"], progress=False)
    with pytest.raises(ValueError, match=naming("encoder-decoder")):
        induction_scores(load_model(zoo.build("bart")), length=5)
    model = load_model(gpt2())
    with pytest.raises(ValueError, match=naming("length", "1")):
        induction_scores(model, length=1)
    with pytest.raises(ValueError, match=naming("length 100", "98 tokens")):
        induction_scores(model, length=100)
    with pytest.raises(ValueError, match=naming("128")):
        induction_scores(model, length=70)


def test_causal_maps_are_told_from_others() -> None:
    maps = random_maps(0, [4, 6], padding=2, causal=True)[0]
    real = random_batch(0, [4, 6], padding=2).real
    assert is_causal(maps, real)
    maps[1, 2, 3, 4] = 1e-6
    assert not is_causal(maps, real)
