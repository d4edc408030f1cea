"""Parts of scores sum to the model's own weights, in every kind of attention."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from attnwidget import Attention, load_model, measure_attention
from attnwidget.mechanisms import explain_link, key_biplot, score_sources, wavelength_shares
from fixtures.mechanism_models import HIDDEN, READABLE, ROTARY, attend, build, inputs, tiered
from refusals import naming

QUERY = 6
KEY = 3


def layers_of(attention: Attention) -> list[tuple[str, int]]:
    return [(name, n) for name, stack in attention.stacks.items() for n in stack.layers.numbers]


@pytest.mark.parametrize("name", tiered(READABLE))
def test_every_decomposition_sums_to_the_weights(name: str) -> None:
    attention = attend(name)
    for stack, layer in layers_of(attention):
        head = attention.stacks[stack].n_heads - 1
        scores = attention.scores(layer, head, stack=stack)
        weights = attention.weights(layer, head, stack=stack)
        np.testing.assert_allclose(scores.weights(), weights, atol=1e-6)
        link = explain_link(attention, layer, head, QUERY, KEY, stack=stack)
        assert link.total == pytest.approx(link.log_ratio, rel=1e-5, abs=1e-5)
        others = link.bias + link.softcap
        by_wavelength = link.wavelengths.sum() + link.content + others
        assert by_wavelength == pytest.approx(link.log_ratio, rel=1e-5, abs=1e-5)
        assert sum(link.parts().values()) == pytest.approx(link.total, rel=1e-9, abs=1e-9)
        sources = score_sources(attention, layer, head, QUERY, KEY, stack=stack)
        product = scores.products[QUERY, KEY]
        size = np.abs(sources.matrix).max()
        assert abs(sources.matrix.sum() - product) <= 1e-5 * max(abs(product), size)


@pytest.mark.parametrize("name", tiered(READABLE))
def test_sources_of_a_difference_sum_to_the_difference(name: str) -> None:
    attention = attend(name)
    stack, layer = layers_of(attention)[-1]
    link = explain_link(attention, layer, 1, QUERY, KEY, stack=stack)
    sources = score_sources(attention, layer, 1, QUERY, KEY, versus=link.versus, stack=stack)
    products = attention.scores(layer, 1, stack=stack).products[QUERY]
    difference = products[KEY] - products[link.versus]
    size = np.abs(sources.matrix).max()
    assert sources.total == pytest.approx(sources.matrix.sum(), abs=1e-9)
    assert abs(sources.total - difference) <= 1e-5 * max(abs(difference), size)
    assert sum(sources.by_query_writer().values()) == pytest.approx(sources.total, abs=1e-9)
    assert sum(sources.by_key_writer().values()) == pytest.approx(sources.total, abs=1e-9)


@pytest.mark.parametrize("name", tiered(name for name in ROTARY if name in READABLE))
def test_pairs_are_those_of_the_model(name: str) -> None:
    n_pairs, n_still = ROTARY[name]
    link = explain_link(attend(name), 0, 0, QUERY, KEY)
    assert (len(link.pairs), link.has_content) == (n_pairs, n_still > 0)
    n_dimensions = attend(name).score_parts(link.head, [QUERY]).query.shape[-1]
    assert n_dimensions - 2 * len(link.pairs) == n_still
    assert len(set(link.pairs.ravel())) == 2 * n_pairs and not link.note
    interleaved = name == "cohere"
    assert (link.pairs[:, 1] - link.pairs[:, 0] == 1).all() == (interleaved or n_pairs == 1)
    if name == "deepseek":
        assert link.pairs.min() == 8


def test_layers_without_rotation_have_content_alone() -> None:
    attention = attend("smollm3")
    pairs = [len(explain_link(attention, layer, 0, QUERY, KEY).pairs) for layer in range(3)]
    assert pairs == [4, 0, 4]


def test_scaled_frequencies_are_read_from_the_model() -> None:
    model = build("llama3 scaling")
    link = explain_link(attend("llama3 scaling", model), 0, 0, QUERY, KEY)
    frequencies = model.model.rotary_emb.inv_freq.double().numpy()
    np.testing.assert_allclose(2 * np.pi / link.periods, frequencies)
    plain = explain_link(attend("llama"), 0, 0, QUERY, KEY)
    assert not np.allclose(link.periods, plain.periods)


def test_the_contribution_of_a_pair_is_its_product_alone() -> None:
    """Queries and keys that are 0 outside of one pair give a link of one wavelength."""
    model = build("llama")
    with torch.no_grad():
        for name in ("q_proj", "k_proj"):
            weight = getattr(model.model.layers[0].self_attn, name).weight
            weight.view(-1, 8, 32)[:, [0, 1, 3, 4, 5, 7]] = 0  # pair (2, 6) stays
    link = explain_link(attend("llama", model), 0, 0, QUERY, KEY)
    assert link.pairs[2].tolist() == [2, 6]
    np.testing.assert_allclose(link.wavelengths[[0, 1, 3]], 0, atol=1e-12)
    assert link.wavelengths[2] == pytest.approx(link.log_ratio, rel=1e-5)


@pytest.mark.slow
def test_bias_cap_and_sink_have_their_own_parts() -> None:
    if "t5" in READABLE:
        t5 = attend("t5")
        link = explain_link(t5, 1, 2, QUERY, KEY, stack="encoder")
        bias = t5.scores(1, 2, stack="encoder").bias[QUERY]
        assert link.bias == pytest.approx(bias[KEY] - bias[link.versus])
        assert link.bias_kind == "relative positions" and link.bias != 0
    alibi = attend("alibi")
    assert explain_link(alibi, 1, 2, QUERY, KEY).bias_kind == "ALiBi"
    gemma = attend("gemma2")
    link = explain_link(gemma, 1, 2, QUERY, KEY)
    assert link.softcap != 0 and gemma.scores(1, 2).softcap == 2.0
    assert attend("gpt-oss").scores(1, 2).sink is not None


def test_the_rival_is_the_runner_up() -> None:
    attention = load_model(device="cpu").attend("The cat sat on the mat.")
    weights = attention.weights(2, 8)[2]
    order = np.argsort(-weights)
    assert explain_link(attention, 2, 8, 2, int(order[0])).versus == order[1]
    assert explain_link(attention, 2, 8, 2, int(order[4])).versus == order[0]
    assert explain_link(attention, 2, 8, 2, int(order[0]), int(order[3])).versus == order[3]


def test_links_that_have_no_explanation_are_refused() -> None:
    attention = attend("llama")
    with pytest.raises(ValueError, match=naming("key 9", "query 6")):
        explain_link(attention, 0, 0, 6, 9)
    with pytest.raises(ValueError, match=naming("query 0", "rival")):
        explain_link(attention, 0, 0, 0, 0)
    with pytest.raises(ValueError, match=naming("versus=3", "key itself")):
        explain_link(attention, 0, 0, 6, 3, 3)
    with pytest.raises(ValueError, match=naming("query 14", "13")):
        explain_link(attention, 0, 0, 14, 3)


@pytest.mark.parametrize("name", sorted(HIDDEN - {"esm", "t5"}))
def test_attention_that_shows_weights_alone_is_refused_by_name(name: str) -> None:
    attention = attend(name)
    for asked in (
        lambda: attention.scores(0, 0),
        lambda: explain_link(attention, 0, 0, QUERY, KEY),
        lambda: score_sources(attention, 0, 0, QUERY, KEY),
        lambda: key_biplot(attention, 0, 0),
    ):
        with pytest.raises(
            ValueError, match=naming(f"{attention.model_name}", "L0", "scores have no parts")
        ):
            asked()


def test_given_weights_are_refused() -> None:
    attention = Attention.from_weights(np.full((1, 1, 3, 3), 1 / 3), ["a", "b", "c"])
    with pytest.raises(ValueError, match=naming("weights", "L0", "scores have no parts")):
        explain_link(attention, 0, 0, 1, 0)


def test_sources_need_a_model_that_is_intact() -> None:
    model = load_model(device="cpu")
    with model.disabled([(0, 3)]):
        attention = model.attend("The cat sat.")
    with pytest.raises(ValueError, match=naming("residual stream", "load_model")):
        score_sources(attention, 2, 1, 2, 1)


@pytest.mark.slow
def test_sources_of_the_embedded_model_reach_through_all_its_norms() -> None:
    attention = load_model(device="cpu").attend("The cat sat on the mat.")
    sources = score_sources(attention, 5, 3, 2, 3)
    kinds = {str(writer) for writer in sources.key_writers}
    assert {"embeddings", "positions", "L0 H0", "L4 H11", "L4 MLP", "biases"} <= kinds
    product = attention.scores(5, 3).products[2, 3]
    assert sources.total == pytest.approx(product, rel=1e-5, abs=1e-5)
    first, second, value = sources.strongest(1)[0]
    place = sources.query_writers.index(first), sources.key_writers.index(second)
    assert abs(value) == np.abs(sources.matrix).max() and sources.matrix[place] == value


def test_sources_with_padding_are_those_without() -> None:
    model = load_model(build("llama"), tokenizer=None)
    ids = inputs("llama")["input_ids"]
    padded = torch.cat([ids, torch.zeros(1, 3, dtype=torch.long)], 1)
    mask = (torch.arange(17) < 14).long()[None]
    alone = score_sources(model.attend({"input_ids": ids}), 2, 1, QUERY, KEY)
    whole = model.attend({"input_ids": padded, "attention_mask": mask})
    np.testing.assert_allclose(
        score_sources(whole, 2, 1, QUERY, KEY).matrix, alone.matrix, atol=1e-5
    )


WAVES = ("llama", "gpt-neox", "t5", "gemma2", "alibi", "gpt2")


@pytest.mark.parametrize("name", [name for name in WAVES if name in READABLE])
def test_shares_of_variance_sum_to_one(name: str) -> None:
    attention = attend(name)
    layer = 1
    found = wavelength_shares(attention, layer, stack="encoder" if name == "t5" else "self")
    np.testing.assert_allclose(found.shares.sum(1) + found.content + found.bias, 1, atol=1e-9)
    assert (np.diff(found.periods) >= 0).all()
    turns = name in ("llama", "gemma2", "gpt-neox")
    assert (len(found.periods) > 0) == turns
    assert np.allclose(found.content, 0) == (name in ("llama", "gemma2"))
    assert found.bias.any() == (name in ("t5", "alibi"))
    assert sum(value[layer, 0] for value in found.heads().values()) == pytest.approx(1)


def test_the_plane_holds_the_best_two_directions_of_the_scores() -> None:
    attention = attend("llama")
    plot = key_biplot(attention, 1, 2)
    products = attention.scores(1, 2).products
    parts = attention.score_parts(attention.head((1, 2)))
    mean = parts.scaling * (parts.query @ parts.key.mean(0)).numpy()
    centered = products - mean[:, None]
    values = np.linalg.svd(centered, compute_uv=False)
    left_over = centered - plot.queries @ plot.keys.T
    assert np.square(left_over).sum() == pytest.approx(np.square(values[2:]).sum())
    assert plot.explained == pytest.approx(
        1 - np.square(left_over).sum() / np.square(centered).sum()
    )
    same = np.where(attention.visible(1, 2), centered, -np.inf)
    softmax = np.exp(same - same.max(-1, keepdims=True))
    softmax /= softmax.sum(-1, keepdims=True)
    np.testing.assert_allclose(softmax, attention.weights(1, 2), atol=1e-6)


@pytest.mark.slow
def test_the_plane_is_the_same_every_time_and_over_many_inputs() -> None:
    model = load_model(device="cpu")
    texts = ["The cat sat on the mat.", "It slept.", "The dog barked at the moon."]
    attentions = [model.attend(text) for text in texts]
    plot = key_biplot(attentions, 2, 8)
    again = key_biplot([model.attend(text) for text in texts], 2, 8)
    np.testing.assert_array_equal(plot.queries, again.queries)
    assert len(plot.queries) == sum(len(one.tokens) for one in attentions)
    assert set(plot.key_inputs) == {0, 1, 2}
    assert plot.keys[np.abs(plot.keys).argmax(0), [0, 1]].min() > 0
    with pytest.raises(ValueError, match=naming("BertForMaskedLM", "plane")):
        key_biplot([attentions[0], attend("bert")], 2, 1)


def test_results_are_tables_and_charts() -> None:
    attention = attend("llama")
    link = explain_link(attention, 1, 2, QUERY, KEY)
    frame = link.to_frame().set_index("kind")["value"]
    assert frame.loc["wavelength"].sum() + frame["content"] == pytest.approx(link.total)
    sources = score_sources(attention, 1, 2, QUERY, KEY)
    assert sources.to_frame()["value"].sum() == pytest.approx(sources.total)
    shares = wavelength_shares(attention, 1)
    plot = key_biplot(attention, 1, 2)
    scores = attention.scores(1, 2)
    learned = explain_link(load_model(device="cpu").attend("The cat sat."), 1, 2, 2, 1)
    assert learned.to_frame()["kind"].tolist() == ["content", "total"]
    for result in (link, learned, sources, shares, plot, scores):
        assert len(result.to_frame())
        assert result.chart().to_dict()["config"]["background"]
        assert len(repr(result)) < 250


def test_position_content_is_one_for_positions_and_zero_for_none() -> None:
    place = np.arange(12)
    near = np.exp(-np.abs(place[:, None] - place) / 2)
    causal = np.tril(np.exp(-(place[:, None] - place) / 3.0))
    random = np.random.default_rng(0).exponential(size=(12, 1)).T ** 2 * np.ones((12, 12))
    maps = np.stack([near, causal, random])
    maps = maps / maps.sum(-1, keepdims=True)
    for numbers, expected in ((maps[[0]], 1), (maps[[1]], 1)):
        attention = Attention.from_weights(numbers[None], [f"t{i}" for i in place])
        found = measure_attention(attention, ["position_content"])["position_content"]
        assert found.explained[0, 0] == pytest.approx(expected, abs=1e-4)
        assert math.isnan(found.shuffled[0, 0])
    attention = Attention.from_weights(maps[None, [2]], [f"t{i}" for i in place])
    found = measure_attention(attention, ["position_content"])["position_content"]
    assert 0 <= found.explained[0, 0] < 0.9
