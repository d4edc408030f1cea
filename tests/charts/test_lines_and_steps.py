"""Dashed lines for even attention and thresholds, bars with ticks, and the steps to words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from attnwidget import Attention, load_model, measure, measure_attention, read_segments
from attnwidget.charts.bars_with_ticks import bars_with_ticks
from attnwidget.charts.layer_curves import layer_curves
from attnwidget.charts.map_steps import map_steps
from attnwidget.charts.outstanding_heads import outstanding_heads
from attnwidget.demo import demo_prose


def layers_of(chart: Any) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the kind of mark and the rows of each layer of a chart."""
    spec = chart.to_dict()
    sources = [part.get("data", spec.get("data")) for part in spec["layer"]]
    rows = [spec["datasets"][source["name"]] for source in sources]
    kinds = [part["mark"]["type"] for part in spec["layer"]]
    return list(zip(kinds, rows, strict=True))


def rules(chart: Any) -> list[dict[str, Any]]:
    """Return the rows of the dashed lines of a chart."""
    return [row for kind, rows in layers_of(chart) for row in rows if kind == "rule"]


def test_classes_have_a_line_at_their_even_share() -> None:
    model = load_model()
    segments = read_segments(demo_prose(), model, limit=2)
    found = measure(model, segments, ["classes"], progress=False)["classes"]
    stops = [
        sum(token in (".", ",") for token in (*segment.first, *(segment.second or ())))
        for segment in segments
    ]
    even = {
        "to [CLS]": 1 / 128,
        "to [SEP]": 2 / 128,
        "to . ,": sum(stops) / 2 / 128,
    }
    chart = found.chart()
    assert {row["name"]: row["value"] for row in rules(chart)} == pytest.approx(even)
    (subtitle,) = chart.to_dict()["title"]["subtitle"]
    assert "dashed: even attention (to [CLS] 0.0078, to [SEP] 0.016" in subtitle


def test_even_attention_of_a_causal_model_sees_earlier_tokens() -> None:
    causal = np.tril(np.ones((4, 4)))
    weights = (causal / causal.sum(1, keepdims=True))[None, None]
    attention = Attention.from_weights(weights, ["a", "b", ".", "c"])
    found = measure_attention(attention, ["classes"])["classes"]
    by_name = dict(zip(found.names, found.even, strict=True))
    assert by_name["first token"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert by_name[". ,"] == pytest.approx((1 / 3 + 1 / 4) / 4)
    assert found.mass[found.names.index(". ,")] == pytest.approx(by_name[". ,"])


def test_positions_have_a_line_at_one_half_and_all_names_above() -> None:
    table = pd.DataFrame(
        {
            "layer": np.repeat(np.arange(4), 6),
            "head": np.tile(np.arange(6), 4),
            "series": "next token",
            "value": np.where(np.arange(24) % 4 == 0, 0.6 + np.arange(24) / 100, 0.05),
        }
    )
    chart = layer_curves(table, title="t", value_title="v", threshold=0.5)
    assert rules(chart) == [{"name": "threshold", "value": 0.5}]
    above = table[table["value"] > 0.5]
    named = outstanding_heads(table, (0.0, 1.0), width=600, height=400, above=0.5)
    assert set(named["name"]) == {f"L{r.layer} H{r.head}" for r in above.itertuples()}
    assert len(outstanding_heads(table, (0.0, 1.0), width=600, height=400)) <= 3


def test_bars_have_ticks_where_a_value_is_published() -> None:
    frame = pd.DataFrame(
        {
            "predictor": ["next word", "attention"],
            "value": [0.3, 0.6],
            "low": [0.2, 0.5],
            "high": [0.4, 0.7],
            "tick": [np.nan, 0.61],
        }
    )
    chart = bars_with_ticks(
        frame, title="t", value_title="UAS", tick_title="paper", emphasized=["attention"]
    )
    rows = layers_of(chart)[0][1]
    assert [row["tick"] for row in rows] == [None, 0.61]
    assert [row["is_emphasized"] for row in rows] == [False, True]


@pytest.mark.parametrize(("width", "sign"), [(640, "→"), (320, "↓")])
def test_steps_frame_split_words_and_have_arrows(width: int, sign: str) -> None:
    tokens, words = ["[CLS]", "as", "##tro", "slept", "."] * 2, ["[CLS]", "astro", "slept", "."] * 2
    owners = np.array([0, 1, 1, 2, 3, 4, 5, 5, 6, 7])
    maps = (np.full((10, 10), 0.1), np.full((10, 8), 0.1), np.full((8, 8), 0.1))
    chart = map_steps(maps, tokens=tokens, words=words, owners=owners, title="t", width=width)
    parts = [rows for _, rows in layers_of(chart)]
    assert len(parts[0]) == 100 + 80 + 64
    # Two words in each of: columns of the first map, both sides of the second, rows of the third.
    assert len(parts[1]) == 8
    assert [row["sign"] for row in parts[4]] == [sign, sign]
    assert max(row["x2"] for row in parts[0]) <= width


def test_the_axis_does_not_strike_through_the_name_of_a_head_near_zero() -> None:
    rows = [
        {"layer": layer, "head": head, "series": "entropy", "value": 4 + head / 100}
        for layer in range(3)
        for head in range(12)
    ]
    rows[2]["value"] = 0.03
    chart = layer_curves(pd.DataFrame(rows), title="Entropy", value_title="nats")
    (text,) = (
        part
        for part in chart.to_dict()["layer"]
        if part["mark"]["type"] == "text" and "dy" in part["mark"] and part["mark"]["dy"] < 0
    )
    (row,) = chart.to_dict()["datasets"][text["data"]["name"]]
    assert row["name"] == "L0 H2"
