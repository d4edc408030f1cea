"""Broad heads: entropy and largest weight recomputed by loops, and what the result says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnwidget import Attention, AttentionModel, load_model, measure_attention
from attnwidget.metrics import Confidence, Entropy, broad_heads
from attnwidget.results import BroadHeads
from refusals import naming

TOKENS = ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]"]
UNIFORM = np.full((8, 8), 1 / 8)
HALF = np.tile(np.array([0.5, *[0.5 / 7] * 7]), (8, 1))


def of_maps(weights: np.ndarray, **options: float) -> BroadHeads:
    attention = Attention.from_weights(weights, TOKENS)
    return broad_heads(measure_attention(attention, ["entropy", "confidence"]), **options)


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model()


def test_numbers_equal_loops_over_the_weights(model: AttentionModel) -> None:
    attention = model.attend("The old woman opened the heavy door and saw her younger brother.")
    metrics = [Entropy(smoothing=0), Confidence()]
    found = broad_heads(measure_attention(attention, metrics))
    weights = attention.weights()
    for layer, head in [(0, 11), (1, 11), (3, 6)]:
        rows = weights[layer, head].astype("f8")
        largest = [max(row) for row in rows]
        entropies = [-sum(w * math.log(w) for w in row if w > 0) for row in rows]
        assert found.confidence[layer, head] == pytest.approx(np.mean(largest), abs=1e-5)
        assert found.entropy[layer, head] == pytest.approx(np.mean(entropies), abs=1e-4)
        assert found.entropy_from_first[layer, head] == pytest.approx(entropies[0], abs=1e-4)


def test_broad_heads_are_counted_against_the_largest_weight() -> None:
    found = of_maps(np.array([[UNIFORM, HALF]]), broad_entropy=1.5, largest_weight=0.2)
    assert found.is_broad.tolist() == [[True, True]]
    assert found.is_spread.tolist() == [[True, False]]
    assert found.finding == (
        "2 of 2 heads have more than 1.5 nats of entropy, and 1 of them give no token more than "
        "20 % on average (most: L0 H1, 50 %); from [CLS], L0 has 1.87 nats"
    )
    assert set(found.heads()) == {"entropy", "confidence", "entropy from [CLS]"}


def test_the_finding_says_if_no_head_is_broad() -> None:
    finding = of_maps(np.array([[UNIFORM, HALF]])).finding
    assert finding.startswith(
        "No head has more than 3.8 nats of entropy (most: L0 H0, 2.08; even attention: 2.08)"
    )


def test_causal_heads_are_compared_with_even_attention_to_visible_tokens() -> None:
    model = load_model("attnwidget/induction")
    attention = model.attend("The cat sat on the mat.")
    found = broad_heads(measure_attention(attention, ["entropy", "confidence"]))
    n = len(attention.tokens)
    assert found.uniform == pytest.approx(np.mean([math.log(i) for i in range(1, n + 1)]))
    assert (found.entropy <= found.uniform + 1e-3).all()
    # The first token sees only itself.
    assert "from first token" not in found.finding


def test_the_chart_has_no_curve_for_a_token_that_sees_only_itself(model: AttentionModel) -> None:
    causal = load_model("attnwidget/induction").attend("The cat sat on the mat.")
    for attention, names in ((causal, {"all tokens"}), (model.attend("The cat sat."), None)):
        found = measure_attention(attention, ["entropy"])["entropy"]
        spec = found.chart().to_dict()
        drawn = {
            row["series"] for rows in spec["datasets"].values() for row in rows if "head" in row
        }
        assert drawn == (names or {"all tokens", "from [CLS]"})
        subtitle = " ".join(spec["title"]["subtitle"])
        assert ("first token sees only itself" in subtitle) == (names is not None), subtitle
        # The numbers are there in both cases.
        assert f"entropy from {found.first}" in found.heads()


def test_the_chart_marks_the_corner_and_names_heads() -> None:
    chart = of_maps(np.array([[UNIFORM, HALF]]), broad_entropy=1.5, largest_weight=0.2).chart()
    spec = chart.to_dict()
    rows = [spec["datasets"][part["data"]["name"]] for part in spec["layer"]]
    assert spec["layer"][0]["mark"]["type"] == "rect"
    assert (rows[0][0]["x"], rows[0][0]["y2"]) == (1.5, 0.2)
    assert {row["name"] for part in rows[4:] for row in part} == {"L0 H0", "L0 H1"}
    assert "1 of 2 broad heads give no token more than 20 %" in chart.to_dict()["title"]["text"][0]


def test_missing_metrics_and_left_out_tokens_are_refused(model: AttentionModel) -> None:
    attention = model.attend("The cat sat.")
    with pytest.raises(ValueError, match=naming("confidence", "measure(model")):
        broad_heads(measure_attention(attention, ["entropy"]))
    without = measure_attention(attention, ["entropy", Confidence(["[SEP]"])])
    with pytest.raises(ValueError, match=naming("over all tokens", "[SEP]")):
        broad_heads(without)
