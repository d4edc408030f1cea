"""Metrics of long segments: rows of maps, some at a time, give the numbers of whole maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnwidget import AttentionModel, Segment, load_model, measure
from attnwidget.capture.maps import whole_maps
from attnwidget.corpus import model_reader
from attnwidget.corpus.accumulator import Accumulator
from attnwidget.metrics import Classes, Confidence, Entropy, Position, Sinks
from fixtures import zoo
from fixtures.vocabularies import word_tokenizer
from refusals import naming

# Two-sided and causal heads, grouped keys, sliding windows with a soft cap, sinks, position biases.
ARCHITECTURES = ("bert", "roberta", "gpt2", "llama", "qwen3", "gemma2", "gpt-oss", "t5")
LENGTH = 90


def of_zoo(name: str) -> AttentionModel:
    tokenizer = word_tokenizer(zoo.VOCABULARY)
    return load_model(zoo.build(name, positions=LENGTH + 8), tokenizer)


def segments(model: AttentionModel, count: int = 2) -> list[Segment]:
    random = np.random.default_rng(0)
    ids = random.integers(5, zoo.VOCABULARY, (count, LENGTH))
    return [Segment(tuple(model.tokenizer.convert_ids_to_tokens(row.tolist()))) for row in ids]


def metrics() -> list[Accumulator[Any]]:
    return [
        Position((-40, -1, 0, 1, 7)),
        Classes({"fives": {"w5", "w6", "w7"}}),
        Entropy(),
        Confidence(),
        Sinks(3),
    ]


@pytest.fixture
def in_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of the tests are long, and metrics get few rows at a time."""
    monkeypatch.setattr(whole_maps, "LONG_FROM", 20)
    monkeypatch.setattr(model_reader, "_CELLS", 32 * LENGTH)
    # Several tiles per head.
    monkeypatch.setattr("attnwidget.kernels.streaming._CELLS_AT_ONCE", 32 * LENGTH)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_rows_give_the_numbers_of_whole_maps(name: str, request: pytest.FixtureRequest) -> None:
    model = of_zoo(name)
    if not whole_maps.shows_products(model.hf_model):
        pytest.skip("this version of transformers shows the weights of this model alone")
    texts = segments(model)
    expected = measure(model, texts, metrics(), progress=False)
    exact = measure(model, texts, Entropy(smoothing=0), progress=False)
    request.getfixturevalue("in_rows")
    found = measure(model, texts, metrics(), progress=False)
    for title, values in expected.heads().items():
        np.testing.assert_allclose(found.heads()[title], values, atol=1e-5, err_msg=title)
    without = measure(model, texts, Entropy(smoothing=0), progress=False)
    for title, values in exact.heads().items():
        np.testing.assert_allclose(without.heads()[title], values, atol=1e-5, err_msg=title)


def test_entropy_without_smoothing_is_that_of_the_weights() -> None:
    model = of_zoo("llama")
    texts = segments(model, 1)
    weights = model.attend(list(texts[0].first)).weights().astype(np.float64)
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    exact = measure(model, texts, Entropy(smoothing=0), progress=False)["entropy"]
    expected = -(weights * logs).sum(-1).mean(-1)
    assert weights.shape[-1] == LENGTH + 2
    np.testing.assert_allclose(exact.entropy, expected, atol=1e-6)
    smoothed = measure(model, texts, [Entropy()], progress=False)["entropy"]
    assert 0 < (smoothed.entropy - exact.entropy).max() < 0.002


@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_a_smoothing_outside_of_its_range_is_refused(smoothing: float) -> None:
    with pytest.raises(ValueError, match=naming("smoothing", "0", "1")):
        Entropy(smoothing)
