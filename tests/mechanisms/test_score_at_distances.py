"""A key at another distance: equal to a pass of the model with other positions in layer 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Attention, load_model
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.mechanisms import score_at_distances
from fixtures import zoo
from fixtures.mechanism_models import READABLE, ROTARY, attend, build, inputs, tiered
from refusals import naming

QUERY = 9
KEY = 6
#: Models that number positions as they are told (ESM numbers them by itself), and distances.
LEARNED = ["gpt2", "bert"]
if not zoo.TRANSFORMERS_4:  # there DistilBERT takes no position_ids
    LEARNED.append("distilbert")
SHIFTED = [
    (name, distance)
    for name in [*ROTARY, *LEARNED]
    for distance in (0, 2, 7, 30)
    if name != "esm" and not (name in LEARNED and distance > QUERY)
]


def first_layer(model: Any, given: dict[str, torch.Tensor]) -> LayerAttention:
    seen: list[LayerAttention] = []
    with torch.no_grad(), tap(model, seen.append):
        model(**given)
    return seen[0]


@pytest.mark.parametrize(("name", "distance"), tiered(SHIFTED))
def test_the_slider_equals_a_pass_with_a_moved_key(name: str, distance: int) -> None:
    model = build(name)
    moved = score_at_distances(attend(name, model), 0, 2, QUERY, KEY, [distance])
    given = inputs(name)
    # Rotary positions are relative: a later beginning leaves room for a key far before.
    first = max(0, distance - QUERY)
    position_ids = first + torch.arange(14)[None]
    position_ids[0, KEY] = first + QUERY - distance
    seen = first_layer(model, {**given, "position_ids": position_ids})
    assert seen.query is not None and seen.key is not None and seen.scaling is not None
    # The other keys are where they were: their scores do not change in layer 0.
    weights = seen.weights[0, 2, QUERY]
    assert float(moved.weights[0]) == pytest.approx(float(weights[KEY]), abs=1e-5)
    if name != "gemma2":  # whose scores are bounded
        group = seen.query.shape[1] // seen.key.shape[1]
        score = seen.scaling * seen.query[0, 2, QUERY] @ seen.key[0, 2 // group, KEY]
        assert moved.scores[0] == pytest.approx(float(score), abs=1e-5)


def test_alibi_equals_a_longer_pass_with_tokens_in_between() -> None:
    """In layer 0 of a model with ALiBi keys do not depend on positions, and the bias is linear."""
    model = build("alibi")
    given = inputs("alibi")
    moved = score_at_distances(attend("alibi", model), 0, 1, QUERY, KEY, [QUERY - KEY, 40])
    ids = given["input_ids"]
    between = ids[:, 5:6].expand(1, 40 - (QUERY - KEY))
    longer = torch.cat([ids[:, : KEY + 1], between, ids[:, KEY + 1 :]], 1)
    attention = load_model(model, tokenizer=None).attend({"input_ids": longer})
    far = attention.scores(0, 1)
    own = attend("alibi", model).scores(0, 1)
    query = QUERY + between.shape[1]
    # A constant of the row is free: scores are compared with that of the query's own place.
    expected = far.scores[query, KEY] - far.scores[query, query] + own.scores[QUERY, QUERY]
    assert moved.scores[1] == pytest.approx(expected, abs=1e-4)
    assert moved.scores[0] == pytest.approx(own.scores[QUERY, KEY], abs=1e-6)


@pytest.mark.parametrize("name", tiered(name for name in READABLE if name != "vit"))
def test_the_distance_of_the_input_gives_the_weight_of_the_input(name: str) -> None:
    attention = attend(name)
    for stack, axes in attention.stacks.items():
        if stack == "cross":
            continue
        query = min(QUERY, len(axes.query) - 1)
        moved = score_at_distances(attention, 0, 1, query, KEY, [query - KEY], stack=stack)
        weight = attention.weights(0, 1, stack=stack)[query, KEY]
        assert moved.weights[0] == pytest.approx(float(weight), abs=1e-6)


@pytest.mark.parametrize(
    "name", tiered(name for name in (*ROTARY, "t5", "alibi") if name in READABLE)
)
def test_distances_are_exact_in_every_layer(name: str) -> None:
    attention = attend(name)
    stack = "encoder" if name == "t5" else "self"
    for layer in range(attention.stacks[stack].n_layers):
        moved = score_at_distances(attention, layer, 3, QUERY, KEY, [3, 4], stack=stack)
        weight = attention.weights(layer, 3, stack=stack)[QUERY, KEY]
        assert moved.weights[0] == pytest.approx(float(weight), abs=1e-6)


def test_the_waves_give_the_score_at_every_distance() -> None:
    attention = attend("gpt-neox")
    moved = score_at_distances(attention, 2, 1, QUERY, KEY, range(60))
    angles = moved.frequencies * np.arange(60)[:, None] + moved.phases
    waves = moved.content + (moved.amplitudes * np.cos(angles)).sum(-1)
    np.testing.assert_allclose(waves, moved.scores, atol=1e-9)
    assert moved.chart().to_dict()["config"]["background"]
    assert list(moved.to_frame()["distance"]) == list(range(60)) and len(repr(moved)) < 120


def test_learned_positions_are_refused_beyond_the_first_layer() -> None:
    for name in ("bert", "gpt2", "opt", "bart"):
        stack = "encoder" if name == "bart" else None
        with pytest.raises(ValueError, match=naming("layer 1", "layer 0", "learned positions")):
            score_at_distances(attend(name), 1, 0, 6, 3, [2], stack=stack)


def test_distances_outside_of_the_positions_are_refused() -> None:
    with pytest.raises(ValueError, match=naming("GPT2LMHeadModel", "64", "distance 60")):
        score_at_distances(attend("gpt2"), 0, 0, 6, 3, [60])

    if "t5" in READABLE:
        with pytest.raises(ValueError, match=naming("positions -13", "relative")):
            score_at_distances(attend("t5"), 1, 0, 6, 3, [14], stack="encoder")


def test_what_has_no_distance_is_refused() -> None:
    attention = attend("llama")
    with pytest.raises(ValueError, match=naming("distances", "empty")):
        score_at_distances(attention, 0, 0, 6, 3, [])
    with pytest.raises(ValueError, match=naming("key 9", "hides")):
        score_at_distances(attention, 0, 0, 6, 9, [1])
    with pytest.raises(ValueError, match=naming("cross-attention", "distance")):
        score_at_distances(attend("t5"), 0, 0, 3, 3, [1], stack="cross")
    weights = Attention.from_weights(np.full((1, 1, 2, 2), 0.5), ["a", "b"])
    with pytest.raises(ValueError, match=naming("weights", "L0", "scores have no parts")):
        score_at_distances(weights, 0, 0, 1, 0, [1])
