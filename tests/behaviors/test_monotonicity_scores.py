"""Alignment scores beside SciPy, and a planted cross-attention head."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from transformers import BartConfig, BartForConditionalGeneration

from attnwidget import AttentionModel, load_model
from attnwidget.behaviors import monotonicity_scores
from attnwidget.behaviors.scores.monotonicity_scores import MonotonicityScores, monotonicity
from attnwidget.corpus.resume_from import resume_from
from fixtures.on_workers import on_workers
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import VOCABULARY
from refusals import naming

WORDS = 20
SIZE = 64
HEADS = 2
ALIGNED = (1, 0)


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(3, 8), m=st.integers(2, 8))
def test_monotonicity_equals_spearman_of_mean_positions(seed: int, n: int, m: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(m), (2, n))
    for head, found in zip(weights, monotonicity(weights), strict=True):
        expected = spearmanr(np.arange(n), (head @ np.arange(m)).round(4)).statistic
        assert found == pytest.approx(expected, abs=1e-12)


def planted_bart() -> BartForConditionalGeneration:
    """Return a model whose head `ALIGNED` attends from a word to the same word of the source."""
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=VOCABULARY,
        d_model=SIZE,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=8,
        decoder_ffn_dim=8,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
    )
    model = BartForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_positions" in name or "out_proj" in name or "fc2" in name:
                weight.zero_()  # the stream has the word alone
        words = model.model.shared.weight
        words.zero_()
        words[5 : 5 + WORDS, :WORDS] = torch.eye(WORDS)
        layer, head = ALIGNED
        attention = model.model.decoder.layers[layer].encoder_attn
        rows = slice(head * SIZE // HEADS, (head + 1) * SIZE // HEADS)
        for projection in (attention.q_proj, attention.k_proj):
            projection.weight[rows] = 2 * torch.eye(SIZE)[: SIZE // HEADS]
    return model


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model(planted_bart(), word_tokenizer(), name="planted", device="cpu")


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    random = np.random.default_rng(0)
    texts = [
        " ".join(f"w{i}" for i in random.permutation(WORDS)[:length])
        for length in random.integers(10, 16, 12)
    ]
    return [(text, text) for text in texts]


@pytest.fixture(scope="module")
def found(model: AttentionModel, pairs: list[tuple[str, str]]) -> MonotonicityScores:
    return monotonicity_scores(model, pairs, progress=False)


def test_a_planted_head_is_aligned_and_no_other(found: MonotonicityScores) -> None:
    assert found.score[ALIGNED] > 0.95 and abs(found.control[ALIGNED]) < 0.4
    assert np.argwhere(found.aligned).tolist() == [list(ALIGNED)]
    assert found.low[ALIGNED] > 0.5


def test_special_tokens_count_neither_as_queries_nor_as_keys(
    model: AttentionModel, pairs: list[tuple[str, str]], found: MonotonicityScores
) -> None:
    scores = []
    for source, target in pairs:
        attention = model.attend(source, target=target)
        stack = attention.stacks["cross"]
        queries, keys = (
            [i for i, token in enumerate(axis.raw) if token.startswith("w")]
            for axis in (stack.query, stack.key)
        )
        weights = attention.weights(stack="cross")
        scores.append(monotonicity(weights[:, :, queries][..., keys]))
    np.testing.assert_allclose(found.score, np.mean(scores, 0), atol=1e-12)


def test_a_result_is_a_table_and_a_figure(found: MonotonicityScores) -> None:
    frame = found.to_frame()
    assert set(frame["metric"]) == {"alignment", "alignment, control"}
    assert len(frame) == 2 * found.score.size and frame.attrs["model"] == found.model_name
    assert "12 pairs" in str(found.chart().to_dict()["title"])


def test_workers_and_resume_files_give_the_same_bits(
    model: AttentionModel, pairs: list[tuple[str, str]], found: MonotonicityScores, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as pool:
        others = [on_workers(pool, monotonicity_scores, model, pairs, progress=False)]
    with resume_from(tmp_path / "alignment.npz"):
        others += [monotonicity_scores(model, pairs, progress=False) for _ in range(2)]
    for other in others:
        np.testing.assert_array_equal(found.score, other.score)
        np.testing.assert_array_equal(found.adjusted, other.adjusted)


def test_unclear_requests_are_refused(model: AttentionModel) -> None:
    with pytest.raises(
        ValueError, match=naming("BertForMaskedLM", "cross-attention", "encoder-decoder")
    ):
        monotonicity_scores(load_model(device="cpu"), [("a", "b")] * 3)
    with pytest.raises(ValueError, match=naming("2 pairs", "pass 3")):
        monotonicity_scores(model, [("w1 w2 w3", "w1 w2 w3")] * 2)
    with pytest.raises(TypeError, match=naming("pair 0", "'w1 w2'")):
        monotonicity_scores(model, ["w1 w2"] * 3)  # type: ignore[list-item]
    with pytest.raises(ValueError, match=naming("'w1'", "1 ordinary", "pass texts of 3")):
        monotonicity_scores(model, [("w1", "w1 w2 w3")] * 3, progress=False)
