"""Charts that say the answer: titles that name a head, and names at the points of heads."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attnwidget import load_model, measure, read_segments
from attnwidget.charts.answer_title import answer_title
from attnwidget.charts.layer_curves import layer_curves
from attnwidget.charts.outstanding_heads import outstanding_heads
from attnwidget.demo import demo_prose
from attnwidget.metrics import induction_scores


def drawn_names(chart) -> list[str]:
    """The names of heads that stand as texts in a chart."""
    spec = chart.to_dict()
    marks = [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]
    rows = [row for mark in marks for row in spec["datasets"][mark["data"]["name"]]]
    return [row["name"] for row in rows if "head" in row]


def test_a_title_names_the_head_with_the_value_furthest_from_zero() -> None:
    values = np.array([[0.1, np.nan], [0.2, -0.5]])
    assert answer_title("Change\nmodel", values) == "Change: most in L1 H1 (−0.5)\nmodel"
    series = {"a": values, "b": 2 * values, "c": values / 2, "d": np.zeros((2, 2))}
    assert answer_title("Change", series) == "Change: a most in L1 H1 (−0.5), b most in L1 H1 (−1)"


def test_a_title_without_an_answer_stays_as_it_is() -> None:
    for values in (np.full((2, 2), np.nan), np.zeros((2, 2)), np.ones((1, 1))):
        assert answer_title("Change\nmodel", values) == "Change\nmodel"


def test_heads_far_from_the_others_are_named_without_touching() -> None:
    rng = np.random.default_rng(0)
    layer, head = (index.ravel() for index in np.indices((12, 12)))
    values = rng.uniform(0, 0.05, 144)
    values[[30, 31, 90]] = 0.9, 0.895, 0.6
    table = pd.DataFrame({"layer": layer, "head": head, "series": "a", "value": values})
    named = outstanding_heads(table, (0.0, 1.0), width=450, height=220)
    # L2 H7 would stand on L2 H6.
    assert named["name"].tolist() == ["L2 H6", "L7 H6"]
    assert named["is_right"].tolist() == [True, False]
    flat = outstanding_heads(table.assign(value=0.5), (0.0, 1.0), width=450, height=220)
    assert flat.empty
    chart = layer_curves(table, title="t", value_title="v")
    assert drawn_names(chart) == ["L7 H6", "L2 H6"]


def test_charts_of_results_name_the_heads_of_induction_and_of_positions() -> None:
    model = load_model("attnwidget/induction")
    found = induction_scores(model)
    layer, head = np.unravel_index(int(found.induction.argmax()), found.induction.shape)
    chart = found.chart()
    assert f"L{layer} H{head}" in drawn_names(chart)
    assert f"induction most in L{layer} H{head}" in " ".join(chart.to_dict()["title"]["text"])
    bert = load_model()
    segments = read_segments(demo_prose(), bert, limit=3)
    chart = measure(bert, segments, ["position"], progress=False)["position"].chart()
    assert {"L0 H2", "L1 H8"} <= set(drawn_names(chart))
    assert "previous token most in L0 H2" in " ".join(chart.to_dict()["title"]["text"])
