"""One head for each pattern: how it is chosen, what its figure shows, and what is refused."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import vl_convert

from attnwidget import (
    Attention,
    AttentionModel,
    load_model,
    measure,
    measure_attention,
    read_segments,
)
from attnwidget.charts.pattern_maps import pattern_maps
from attnwidget.charts.theme import LIGHT
from attnwidget.demo import demo_prose
from attnwidget.kernels.patterns import PATTERNS, classify, pattern_scores, plainness
from attnwidget.metrics import Patterns
from attnwidget.results import PatternExamples, PatternsResult
from refusals import naming

A = "The old woman opened the heavy door and saw her younger brother in the garden."
B = "He had a letter in his hand, and he did not look up when she called him."


@pytest.fixture(scope="module")
def patterns(model: AttentionModel) -> PatternsResult:
    segments = read_segments(demo_prose(), model)[:6]
    result: PatternsResult = measure(model, segments, ["patterns"], progress=False)["patterns"]
    return result


@pytest.fixture(scope="module")
def pair(model: AttentionModel) -> Attention:
    return model.attend(A, B)


@pytest.fixture(scope="module")
def examples(patterns: PatternsResult, pair: Attention) -> PatternExamples:
    return patterns.examples(pair)


def plainness_by_hand(map_: np.ndarray, border: int) -> dict[str, float]:
    n = len(map_)
    segments = torch.tensor([[int(i >= border) for i in range(n)]])
    scores = pattern_scores(torch.from_numpy(map_)[None, None], segments=segments)
    v, d, b = (float(score) for score in scores)
    uneven = float(np.mean([sum(max(0.0, w - 1 / n) for w in row) for row in map_.tolist()]))
    return {
        "vertical": v - max(d, b),
        "diagonal": d - v,
        "vertical + diagonal": min(v, d),
        "block": b - max(v, d),
        "heterogeneous": uneven - max(v, d, b),
    }


def test_heads_have_the_largest_product_of_share_and_plainness(
    patterns: PatternsResult, pair: Attention, examples: PatternExamples
) -> None:
    assert examples.patterns == PATTERNS and not examples.note
    border = examples.border
    assert border is not None and pair.tokens[border - 1] == "[SEP]"
    here = measure_attention(pair, ["patterns"])["patterns"].most_frequent()
    products: dict[str, dict[tuple[int, int], float]] = {name: {} for name in PATTERNS}
    for layer, head in np.ndindex(*here.shape):
        name = str(here[layer, head])
        share = patterns.heads()[name][layer, head]
        if share:
            plain = plainness_by_hand(pair.weights(layer, head), border)
            products[name][layer, head] = share * plain[name]
    for row in examples.to_frame().to_dict("records"):
        of_pattern = products[row["pattern"]]
        best = max(of_pattern, key=of_pattern.__getitem__)
        assert (row["layer"], row["head"]) == best
        assert row["share"] == patterns.heads()[row["pattern"]][best]
        assert row["share"] * row["plainness"] == pytest.approx(of_pattern[best], abs=1e-5)
    for head, weights in zip(examples.heads, examples.weights, strict=True):
        np.testing.assert_array_equal(weights, pair.weights(head))


@pytest.mark.parametrize(
    ("name", "first"),
    [("vertical", 1.0), ("diagonal", 1.0), ("block", 1.0), ("heterogeneous", 0.0)],
)
def test_a_pure_pattern_is_plainly_this_pattern(name: str, first: float) -> None:
    n = 40
    maps = {
        "vertical": np.eye(n)[[0] * n],
        "diagonal": np.eye(n, k=-1) + np.eye(n)[[0] * n] * (np.arange(n) == 0)[:, None],
        "block": np.kron(np.eye(2), np.full((n // 2, n // 2), 2 / n)),
        "heterogeneous": np.full((n, n), 1 / n),
    }
    weights = torch.from_numpy(maps[name])[None, None]
    segments = (torch.arange(n) >= n // 2).long()[None]
    scores = pattern_scores(weights, segments=segments)
    assert PATTERNS[classify(scores)] == name
    plain = plainness(weights, scores)[:, 0, 0]
    # An even map is heterogeneous by the rules, but shows nothing.
    assert float(plain[PATTERNS.index(name)]) == pytest.approx(first, abs=0.06)
    if first:
        assert PATTERNS[int(plain.argmax())] == name


def test_single_texts_and_causal_models_have_no_block(
    patterns: PatternsResult, model: AttentionModel
) -> None:
    single = patterns.examples(model.attend(A))
    assert single.border is None and "block" not in single.patterns
    assert single.note == "no head shows block here"
    assert "no head shows block here" in single.chart().to_dict()["description"]
    causal = load_model("attnwidget/induction").attend(A)
    found = measure_attention(causal, ["patterns"])["patterns"].examples(causal)
    assert found.heads and "block" not in found.patterns


def test_the_network_chooses_by_its_own_patterns(model: AttentionModel, pair: Attention) -> None:
    found = measure_attention(pair, [Patterns("cnn")])["patterns"]
    here = found.most_frequent()
    examples = found.examples(pair)
    assert [here[head[:2]] for head in examples.heads] == list(examples.patterns)


def rows_of(spec: dict[str, Any], number: int) -> list[dict[str, Any]]:
    part = spec["layer"][number]
    rows: list[dict[str, Any]] = spec["datasets"][part["data"]["name"]]
    return rows


def test_maps_are_drawn_with_names_shares_and_the_border(examples: PatternExamples) -> None:
    spec = examples.chart().to_dict()
    cells, frames, borders = (rows_of(spec, number) for number in range(3))
    assert len(frames) == 5 and len(borders) == 10
    drawn = examples.weights >= 0.001
    assert len(cells) == drawn.sum()
    assert [row["ink"] for row in cells] == pytest.approx(
        [round(float(weight) ** 0.6, 2) for weight in examples.weights[drawn]]
    )
    step = (frames[0]["x2"] - frames[0]["x"]) / len(examples.tokens)
    assert borders[1]["x"] - frames[0]["x"] == pytest.approx(step * (examples.border or 0))
    assert spec["layer"][2]["mark"]["strokeDash"] and spec["layer"][2]["mark"]["color"]
    color = spec["layer"][0]["encoding"]["color"]["scale"]
    assert color["domain"] == [0, 1] and color["range"] == list(LIGHT.ramp)
    svg = vl_convert.vegalite_to_svg(spec)
    for name, head, share in zip(examples.patterns, examples.heads, examples.shares, strict=True):
        assert f">{name}<" in svg and f"{head}: {100 * share:.0f}\xa0%" in svg


@pytest.mark.parametrize(("width", "n_rows"), [(640, 1), (455, 1), (291, 2), (219, 3)])
def test_maps_continue_in_the_next_row(examples: PatternExamples, width: int, n_rows: int) -> None:
    spec = examples.chart(width=width).to_dict()
    frames = rows_of(spec, 1)
    assert len({frame["y"] for frame in frames}) == n_rows
    assert spec["width"] <= width - 16
    assert max(frame["y2"] for frame in frames) < spec["height"]
    names = [row["text"] for row in rows_of(spec, 3)]
    assert {word for name in names for word in name.split()} == {
        word for name in PATTERNS for word in name.split()
    }


def test_examples_are_copied_saved_and_say_what_they_show(
    examples: PatternExamples, tmp_path: Any
) -> None:
    for again in (pickle.loads(pickle.dumps(examples)), copy.deepcopy(examples)):
        assert again.to_frame().equals(examples.to_frame())
    assert "diagonal L0 H2" in repr(examples)
    for suffix in ("svg", "pdf", "png"):
        examples.chart(width=252).save(tmp_path / f"patterns.{suffix}")
        assert (tmp_path / f"patterns.{suffix}").stat().st_size > 5_000


def test_what_has_no_examples_is_refused(
    patterns: PatternsResult, model: AttentionModel, examples: PatternExamples
) -> None:
    with pytest.raises(TypeError, match=naming("Attention", "str")):
        patterns.examples(A)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("6×12", "measured model")):
        patterns.examples(load_model("attnwidget/induction").attend(A))
    with pytest.raises(ValueError, match=naming("100 tokens", "132", "20 tokens")):
        patterns.examples(model.attend("cat " * 130))
    with pytest.raises(ValueError, match=naming("[1, 2, 2]", "[1, 3, 3]", "1 remarks")):
        pattern_maps(np.ones((1, 3, 3)), ["a", "b"], ["x"], ["y"], title="t")
    assert replace(examples, border=None).chart().to_dict()["layer"][2]["mark"]["type"] == "text"
