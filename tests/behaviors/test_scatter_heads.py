"""Heads as points: any number against any other number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from attnwidget import AttentionModel, make_segments, measure
from attnwidget.behaviors import measure_rules, scatter_heads
from attnwidget.charts.heads_by_numbers import heads_by_numbers
from attnwidget.demo import demo_atlas, demo_treebank
from refusals import naming

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.random((6, 12)), RANDOM.random((6, 12))
NUMBERS = {"x": {"across": X}, "y": {"up": Y}}


def rows_of(chart: Any, layer: int) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    rows: list[dict[str, Any]] = spec["datasets"][spec["layer"][layer]["data"]["name"]]
    return rows


def test_numbers_come_from_results_tables_and_arrays(model: AttentionModel) -> None:
    texts = make_segments(["The cat sat on the mat.", "It slept there."], model)
    measured = measure(model, texts, ["entropy", "confidence"], progress=False)
    entropy = measured["entropy"].entropy
    found = scatter_heads((measured, "entropy"), measured["confidence"])
    assert np.array_equal(found.x, entropy)
    assert np.array_equal(found.heads()["confidence"], measured["confidence"].confidence)
    assert found.model_name == model.name
    table = measured["entropy"].to_frame().query("metric == 'entropy'")
    from_table = scatter_heads((table, "value"), NUMBERS["y"])
    assert np.array_equal(from_table.x, entropy) and from_table.x_title == "value"
    by_layer = scatter_heads("layer", NUMBERS["y"])
    assert by_layer.x[:, 3].tolist() == list(range(6)) and np.array_equal(by_layer.y, Y)
    frame = by_layer.to_frame()
    assert frame["up"].tolist() == Y.ravel().tolist()
    assert list(frame.columns) == ["layer", "head", "up", "name", "outstanding"]


def test_a_table_with_some_heads_leaves_the_others_out(model: AttentionModel) -> None:
    rules = {"L0 H2": "previous token", "L2 H8": "determiner to its noun"}
    measured = measure_rules(model, demo_treebank()[:8], rules, progress=False)
    found = scatter_heads((measured, "coverage"), NUMBERS["y"])
    assert found.to_frame()[["layer", "head"]].values.tolist() == [[0, 2], [2, 8]]
    assert found.x[0, 2] == measured["L0 H2"].coverage.coverage
    assert np.isnan(found.x).sum() == 70
    # Both groups of predictions have a number of their own.
    with pytest.raises(ValueError, match=naming("several values", "'off'", "L2 H8", "group")):
        scatter_heads((measured, "off"), NUMBERS["y"])
    frame = measured.to_frame()
    itself = frame[frame["group"] == "the word itself"]
    assert scatter_heads((itself, "off"), NUMBERS["y"]).x[2, 8] == itself["off"].iloc[1]


def test_heads_that_stand_out_have_their_names() -> None:
    x, y = X.copy(), Y.copy()
    x[0, 2] = 9.0
    y[5, 1] = -9.0
    atlas = demo_atlas()
    found = scatter_heads({"across": x}, {"up": y}, atlas=atlas)
    assert set(found.outstanding) == {"L0 H2", "L5 H1"}
    assert "across is largest in L0 H2 (9)" in found.finding
    assert found.correlation == pytest.approx(spearmanr(x.ravel(), y.ravel()).statistic)
    frame = found.to_frame()
    assert frame.loc[frame["outstanding"], "name"].tolist() == ["previous token", atlas.names[5, 1]]
    chart = found.chart()
    points = rows_of(chart, 0)
    assert len(points) == 72
    families = {(row["layer"], row["head"]): row["family"] for row in points}
    assert families[0, 2] == "neighbor" and families[2, 8] == "grammar"
    assert families[2, 3] == "rests" and families[0, 0] == "no name"
    labels = [row["text"] for layer in range(1, len(chart.layer)) for row in rows_of(chart, layer)]
    assert set(labels) == {"L0 H2 previous token", "L5 H1"}
    assert "near: similar in both numbers" in " ".join(chart.to_dict()["title"]["subtitle"])


def test_labels_cover_no_point_and_no_other_label() -> None:
    # Twenty outliers at almost the same place, and a crowd elsewhere.
    crowd = pd.DataFrame({"x": RANDOM.random(200) / 50, "y": RANDOM.random(200) / 50})
    outliers = pd.DataFrame({"x": 1 + RANDOM.random(20) / 100, "y": 1 + RANDOM.random(20) / 100})
    frame = pd.concat([crowd, outliers], ignore_index=True)
    frame = frame.assign(layer=frame.index // 11, head=frame.index % 11, says="", family="no name")
    chart = heads_by_numbers(frame, x_title="x", y_title="y", title="Heads")
    labels = [row for layer in range(1, len(chart.layer)) for row in rows_of(chart, layer)]
    assert 1 <= len(labels) < 6
    spread = frame.assign(x=np.arange(220.0), y=RANDOM.permutation(220) ** 3.0)
    chart = heads_by_numbers(spread, x_title="x", y_title="y", title="Heads")
    assert sum(len(rows_of(chart, layer)) for layer in range(1, len(chart.layer))) <= 11


@pytest.mark.parametrize(
    ("x", "y", "error", "parts"),
    [
        ("layer", "layer", ValueError, ("both numbers are the layer",)),
        ({"a": X}, {"a": Y}, ValueError, ("both numbers have the title 'a'",)),
        ({"a": X}, {"b": np.ones((2, 3))}, ValueError, ("2×3", "6×12", "one model")),
        ({"a": np.ones(3)}, {"b": Y}, ValueError, ("'a'", "[3]", "[layers, heads]")),
        ({"a": np.where(X > 0.5, np.inf, X)}, {"b": Y}, ValueError, ("'a'", "infinite")),
        ({"a": X * np.nan}, {"b": Y}, ValueError, ("no head has both numbers", "'a'")),
        (X, {"b": Y}, TypeError, ("x has the type ndarray", "'title'")),
        ((demo_atlas(), "previous tokens"), {"b": Y}, ValueError, ("previous token",)),
        (demo_atlas(), {"b": Y}, ValueError, ("x has", "choose one", "x=(result,")),
        ((pd.DataFrame({"a": [1]}), "a"), {"b": Y}, ValueError, ("layer and head",)),
    ],
)
def test_other_numbers_are_refused(
    x: Any, y: Any, error: type[Exception], parts: tuple[str, ...]
) -> None:
    with pytest.raises(error, match=naming(*parts)):
        scatter_heads(x, y)


def test_an_atlas_of_another_model_is_refused() -> None:
    with pytest.raises(ValueError, match=naming("6×12", "2×3", "one model")):
        scatter_heads({"a": np.ones((2, 3))}, "layer", atlas=demo_atlas())
