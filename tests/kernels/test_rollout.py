"""Rollout and attention flow against literal references, and as studies of one input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnwidget import Attention, load_model
from attnwidget.metrics.rollout import (
    attention_flow,
    attention_rollout,
    head_rollout,
    with_residual,
)
from attnwidget.metrics.rollout import flow_to_inputs as flow_of
from attnwidget.metrics.rollout import rollout as rollout_of
from references import reference_heads as reference
from refusals import naming

seeds = st.integers(0, 2**31 - 1)
# Capacities are rounded to 2**-30; small graphs have cuts of few edges.
TOLERANCE = 1e-7


def maps(seed: int, layers: int, n: int, *, causal: bool = False, peaked: float = 3.0):
    scores = np.random.default_rng(seed).normal(size=(layers, 2, n, n)) * peaked
    if causal:
        scores = np.where(np.tril(np.ones((n, n))) > 0, scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return torch.from_numpy(powers / powers.sum(-1, keepdims=True))


@given(seed=seeds, layers=st.integers(1, 4), n=st.integers(1, 6), causal=st.booleans())
def test_rollout_equals_the_reference(seed: int, layers: int, n: int, causal: bool) -> None:
    weights = maps(seed, layers, n, causal=causal)
    found = rollout_of(weights)
    np.testing.assert_allclose(found, reference.rollout(weights.numpy()), atol=1e-12)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-12)


@given(seed=seeds, n=st.integers(1, 6))
def test_rollout_through_one_head_equals_a_model_with_a_single_head(seed: int, n: int) -> None:
    weights = maps(seed, 3, n)
    alone = weights.clone()
    alone[2, 0] = alone[2, 1]
    torch.testing.assert_close(head_rollout(weights, 2, 1), rollout_of(alone)[2])
    torch.testing.assert_close(
        head_rollout(weights, 0, 1), with_residual(weights[0, 1:2]), atol=1e-12, rtol=0
    )


@settings(max_examples=25)
@given(
    seed=seeds,
    layer=st.integers(0, 3),
    n=st.integers(1, 4),
    causal=st.booleans(),
    peaked=st.sampled_from([0.5, 4.0, 30.0]),
)
def test_flow_equals_the_reference(
    seed: int, layer: int, n: int, causal: bool, peaked: float
) -> None:
    weights = maps(seed, 4, n, causal=causal, peaked=peaked)
    found = flow_of(weights, layer)
    np.testing.assert_allclose(found, reference.flow(weights.numpy(), layer), atol=TOLERANCE)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-12)
    torch.testing.assert_close(flow_of(weights, layer, [n - 1]), found[-1:])


def test_flow_begins_as_rollout_and_saturates_later() -> None:
    weights = maps(0, 3, 5)
    torch.testing.assert_close(flow_of(weights, 0), rollout_of(weights)[0])
    assert (flow_of(weights, 2) - rollout_of(weights)[2]).abs().max() > 0.01


def test_causal_flow_reaches_no_later_token() -> None:
    found = flow_of(maps(0, 4, 6, causal=True), 3)
    assert not found.triu(1).any()


def test_studies_of_one_input() -> None:
    attention = load_model().attend("The cat sat.", "It slept.")
    found = attention_rollout(attention)
    n = len(attention.tokens)
    np.testing.assert_allclose(found.relevance, reference.rollout(attention.weights()), atol=1e-12)
    assert found.layers == tuple(range(6)) and found.tokens == tuple(attention.tokens)
    frame = found.to_frame()
    row = frame[(frame["layer"] == 5) & (frame["query"] == 1) & (frame["key"] == 0)].iloc[0]
    assert row["value"] == found.after_layer(5)[1, 0]
    assert (row["query_token"], row["key_token"]) == ("the", "[CLS]")
    assert len(frame) == 6 * n * n
    flows = attention_flow(attention, queries=[0, 3])
    assert flows.relevance.shape == (1, 2, n)
    np.testing.assert_allclose(
        attention_flow(attention, 1, queries=[0, 3]).after_layer(1),
        reference.flow(attention.weights(), 1)[[0, 3]],
    )
    assert list(flows.to_frame()["query"].unique()) == [0, 3]
    through = attention_rollout(attention, head=(3, 5))
    np.testing.assert_allclose(
        through.after_layer(3),
        head_rollout(torch.from_numpy(attention.weights()), 3, 5),
        atol=1e-12,
    )
    assert repr(through) == f"TokenRelevance(Rollout through L3 H5, L3, {n} tokens)"
    assert "Rollout after L5" in found.chart().to_dict()["title"]["text"][0]
    assert "Attention flow after L5" in flows.chart().to_dict()["title"]["text"][0]


def test_wrong_questions_are_explained() -> None:
    attention = load_model().attend("The cat sat.")
    with pytest.raises(ValueError, match=naming("layer 6", "'self'")):
        attention_flow(attention, 6)
    with pytest.raises(ValueError, match=naming("queries", "5", "[6]")):
        attention_flow(attention, queries=[6])
    with pytest.raises(ValueError, match=naming("flow", "[2]")):
        attention_flow(attention, 2).chart(3)
    with pytest.raises(ValueError, match=naming("head 12", "'self'")):
        attention_rollout(attention, head=(0, 12))
    cross = Attention.from_weights(
        np.full((1, 1, 2, 3), 1 / 3), ["a", "b"], key_tokens=["x", "y", "z"], stack="cross"
    )
    with pytest.raises(ValueError, match=naming("'cross'", '"encoder"', '"decoder"')):
        attention_rollout(cross)
