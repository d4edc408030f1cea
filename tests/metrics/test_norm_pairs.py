"""Weights and norms of all pairs of tokens, and norms by frequency: against scipy on the maps."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from attnwidget import make_segments, measure
from attnwidget.kernels.pair_histogram import SIZE, rank_correlation
from attnwidget.metrics import Norms
from attnwidget.results import NormPairs, NormsByFrequency
from refusals import naming

TEXTS = [
    "The old man went to the sea, and the sea was far.",
    "It slept.",
    "The cat sat, then left.",
]


def measured(model: Any, **options: Any) -> Any:
    segments = make_segments(TEXTS, model)
    metric = Norms(each_token=True)
    return measure(model, segments, [metric], progress=False, **options)["norms"]


@pytest.fixture(scope="module")
def norms(model: Any) -> Any:
    return measured(model)


@pytest.fixture(scope="module")
def literal(model: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Weight and norm of each pair of tokens, for each class and all tokens."""
    pairs: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for text in TEXTS:
        attention = model.attend(text)
        for layer in range(model.n_layers):
            weights = attention.weights(layer)
            norms = np.broadcast_to(attention.value_norms(layer)[:, None], weights.shape)
            for key, token in enumerate(attention.tokens):
                name = ". ," if token in (".", ",") else token
                name = name if name in ("[CLS]", "[SEP]", ". ,") else "other tokens"
                for one in (name, "all tokens"):
                    columns = weights[..., key].ravel(), norms[..., key].ravel()
                    pairs.setdefault(one, []).append(columns)
    return {
        name: (np.concatenate([a for a, _ in parts]), np.concatenate([f for _, f in parts]))
        for name, parts in pairs.items()
    }


def test_pairs_have_the_correlation_of_all_weights_and_norms(norms: Any, literal: Any) -> None:
    found = norms.pairs
    assert isinstance(found, NormPairs) and found.counts.shape[1:] == SIZE
    frame = found.to_frame().set_index("class")
    assert list(frame.index) == ["[CLS]", "[SEP]", ". ,", "other tokens", "all tokens"]
    for name, (weights, lengths) in literal.items():
        assert frame.loc[name, "pairs"] == len(weights)
        expected = spearmanr(weights, lengths)[0]
        assert frame.loc[name, "correlation"] == pytest.approx(expected, abs=0.01)
        assert frame.loc[name, "median weight"] == pytest.approx(np.median(weights), rel=0.16)
        assert frame.loc[name, "median norm"] == pytest.approx(np.median(lengths), rel=0.07)
    strongest = max(found.classes[:-1], key=lambda name: abs(frame.loc[name, "correlation"]))
    assert found.finding.startswith(f'Larger weights on "{strongest}" go with ')


def test_options_do_not_change_the_other_norms(model: Any, norms: Any) -> None:
    plain = measure(model, make_segments(TEXTS, model), ["norms"], progress=False)["norms"]
    assert plain.pairs is None and plain.occurrences is None
    np.testing.assert_array_equal(plain.norms, norms.norms)
    with pytest.raises(ValueError, match=naming("each_token=True")):
        plain.by_frequency()


def test_batches_and_merging_change_nothing(model: Any, norms: Any) -> None:
    single = measured(model, batch_size=1)
    # Padding changes weights by rounding, which moves a few pairs to the next bin.
    moved = np.abs(single.pairs.counts - norms.pairs.counts).sum()
    assert moved < 0.01 * norms.pairs.counts.sum()
    np.testing.assert_array_equal(single.pairs.counts.sum((1, 2)), norms.pairs.counts.sum((1, 2)))
    assert Counter(single.occurrences.tokens) == Counter(norms.occurrences.tokens)
    ours, other = norms.by_frequency(), single.by_frequency()
    assert ours.norm_correlation == pytest.approx(other.norm_correlation, abs=1e-3)


def test_later_tokens_are_no_pairs_in_a_causal_model() -> None:
    from attnwidget import load_model

    model = load_model("attnwidget/induction")
    segments = make_segments(["the man saw the head"], model)
    found = measure(model, segments, [Norms(each_token=True)], progress=False)["norms"].pairs
    n = len(model.attend("the man saw the head").tokens)
    assert found.counts[-1].sum() == model.n_layers * model.n_heads * n * (n + 1) / 2


def test_norms_by_frequency_are_means_of_occurrences(model: Any, norms: Any) -> None:
    counts = {"the": 90, ",": 60, ".": 70, "and": 30, "it": 20, "cat": 3}
    found = norms.by_frequency(counts)
    assert isinstance(found, NormsByFrequency) and found.tokens[:3] == ("the", ".", ",")
    assert "[CLS]" not in found.tokens and set(found.special_norms) == {"[CLS]", "[SEP]"}
    ranks: list[float] = []
    lengths: dict[str, list[float]] = {}
    weights: list[float] = []
    every: list[float] = []
    for text in TEXTS:
        attention = model.attend(text)
        of_tokens = np.mean(
            [attention.value_norms(layer).mean(0) for layer in range(model.n_layers)], axis=0
        )
        received = attention.weights().mean((0, 1, 2))
        for token, length, weight in zip(attention.tokens, of_tokens, received, strict=True):
            lengths.setdefault(token, []).append(length)
            if token not in ("[CLS]", "[SEP]"):
                ranks.append(-counts.get(token, 0))
                every.append(length)
                weights.append(weight)
    frame = found.to_frame().set_index("token")
    assert frame.loc["the", "occurrences"] == 4 and frame.loc["the", "rank"] == 1
    for token in found.tokens:
        assert frame.loc[token, "norm"] == pytest.approx(np.mean(lengths[token]), rel=1e-4)
    assert found.special_norms["[SEP]"] == pytest.approx(np.mean(lengths["[SEP]"]), rel=1e-4)
    assert found.norm_correlation == pytest.approx(spearmanr(ranks, every)[0], abs=1e-6)
    assert found.weight_correlation == pytest.approx(spearmanr(ranks, weights)[0], abs=1e-6)
    # Tokens without a count share the last rank.
    assert frame.loc["slept", "rank"] == frame.loc["sea", "rank"] == frame["rank"].max()


def test_frequency_of_the_segments_is_the_default(norms: Any) -> None:
    found = norms.by_frequency()
    assert found.tokens[0] == "the" and found.source == "the measured segments"
    assert (found.token_counts == found.occurrences).all()
    direction = "shorter" if found.norm_correlation > 0.1 else "longer"
    if abs(found.norm_correlation) < 0.1:
        direction = "about as long"
    assert direction in found.finding and f"{found.norm_correlation:.2f}" in found.finding


def test_counts_of_other_tokens_are_refused(norms: Any) -> None:
    with pytest.raises(ValueError, match=naming("counts", "model.tokenizer.tokenize")):
        norms.by_frequency({"Zeppelin": 4})


@pytest.mark.parametrize("width", [640, 240])
def test_charts_have_all_classes_and_the_finding(norms: Any, width: int) -> None:
    pairs = norms.pairs.chart(width=width).to_dict()
    panels = [panel for row in pairs["vconcat"] for panel in row["hconcat"]]
    assert [panel["title"]["text"][0] for panel in panels] == list(norms.pairs.classes[:-1])
    assert len(pairs["vconcat"][0]["hconcat"]) == (4 if width == 640 else 2)
    found = norms.by_frequency()
    drawn = found.chart(width=width).to_dict()
    assert " ".join(drawn["title"]["text"]) == found.finding
    assert len(drawn["datasets"][drawn["layer"][0]["data"]["name"]]) == len(found.tokens)


def test_a_histogram_without_variation_has_no_correlation() -> None:
    counts = np.zeros((3, 4), np.int64)
    assert np.isnan(rank_correlation(counts))
    counts[1, :] = 5
    assert np.isnan(rank_correlation(counts))
    counts = np.diag([1, 2, 3])[::-1]
    assert rank_correlation(counts) == pytest.approx(-1)


def test_the_most_frequent_tokens_are_named(norms: Any) -> None:
    found = norms.by_frequency({"the": 90, ".": 70, ",": 60, "and": 30, "it": 20})
    drawn = found.chart().to_dict()
    first = next(layer for layer in drawn["layer"] if layer["mark"]["type"] == "text")
    names = drawn["datasets"][first["data"]["name"]]
    ranks = [row["rank"] for row in names]
    assert names[0]["token"] == "the" and ranks == sorted(ranks)
