"""Means and maxima of heads: against numpy over the maps of all heads, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from attnwidget import Attention, Head, HeadGrid, HeadView, load_model, measure_attention
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.capture.model import AttentionModel
from attnwidget.metrics.rollout import attention_rollout
from fixtures import zoo
from refusals import naming

TEXT = "The otters purred because they were happy."
KINDS = ["bert", "llama", "gemma2", "gpt-oss", "modernbert", "deberta-v2", "t5", "bart", "vit"]


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model()


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT, loss="masked")


@pytest.mark.parametrize("name", KINDS)
def test_means_and_maxima_equal_those_over_all_maps_in_every_stack(name: str) -> None:
    given = zoo.inputs(name, batch=1, length=12, padded=0)
    attention = load_model(zoo.build(name, "eager"), None).attend(given)
    by_layer = attention.mean(each="layer")
    by_head = attention.max(each="head")
    whole = attention.mean()
    assert list(by_layer.stacks) == list(attention.stacks)
    for stack, axes in attention.stacks.items():
        maps = attention.weights(stack=stack)
        assert by_layer.stacks[stack].query == axes.query
        assert np.allclose(by_layer.weights(stack=stack)[:, 0], maps.mean(1), atol=1e-6)
        assert np.array_equal(by_head.weights(stack=stack)[0], maps.max(0))
        assert np.allclose(whole.weights(0, 0, stack=stack), maps.mean((0, 1)), atol=1e-6)
        sums = attention.row_sums(stack=stack).mean((0, 1))
        assert np.allclose(whole.row_sums(stack=stack)[0, 0], sums, atol=1e-5)
        seen = [attention.visible(i, 0, stack=stack) for i in range(axes.n_layers)]
        visible = whole.visible(0, 0, stack=stack)
        if any(mask is None for mask in seen):
            assert visible is None
        else:
            assert visible is not None
            assert np.array_equal(visible, np.any(np.stack([m for m in seen if m is not None]), 0))


def test_chosen_heads_of_chosen_layers(attention: Attention) -> None:
    maps = attention.weights()
    chosen = attention.mean(heads=[4, 0, 7], layers=[5, 2])
    assert np.allclose(chosen.weights(0, 0), maps[[5, 2]][:, [4, 0, 7]].mean((0, 1)), atol=1e-6)
    assert chosen.stacks["self"].head_name(0, 0) == "mean of heads 4, 0, 7 of layers 5, 2"
    named = attention.max(heads=[Head(1, 3), (5, 2)])
    assert np.array_equal(named.weights(0, 0), np.maximum(maps[1, 3], maps[5, 2]))
    assert named.stacks["self"].head_name(0, 0) == "maximum of L1 H3, L5 H2"
    by_layer = attention.mean(heads=3, layers=[4, 1], each="layer")
    assert np.allclose(by_layer.weights()[:, 0], maps[[4, 1], 3], atol=1e-7)
    assert by_layer.stacks["self"].head_name(1, 0) == "mean of head 3 of layer 1"


def test_all_quantities_words_rows_tiles_and_tokens_are_those_of_the_mean(
    attention: Attention,
) -> None:
    mean = attention.mean(each="layer")
    assert mean.quantities == attention.quantities == ("weights", "norms", "gradients")
    for quantity in mean.quantities:
        expected = getattr(attention, quantity)(3).mean(0)
        assert np.allclose(mean.map(quantity, 3, 0), expected, atol=1e-6)
        words = getattr(attention.words, quantity)(3).mean(0)
        assert np.allclose(mean.words.map(quantity, 3, 0), words, atol=1e-6)
        column = mean.token_values("key", 2, layer=3, quantity=quantity)[0]
        assert np.allclose(column, expected[:, 2], atol=1e-6)
    weights = attention.weights(3).mean(0)
    assert np.allclose(mean.rows(3, 0, [1, 4]), weights[[1, 4]], atol=1e-6)
    tile = mean.tile(3, 0, (0, 8), (0, 8), step=4)
    assert np.allclose(tile, weights[:8, :8].reshape(2, 4, 2, 4).max((1, 3)), atol=1e-6)
    link = mean.top_links(3, 0, 1).loc[0]
    query, key, weight = int(link["query"]), int(link["key"]), link["weight"]
    assert weight == pytest.approx(weights.max()) == pytest.approx(weights[query, key])
    assert draw_thumbnails(mean).values.shape[:2] == (6, 1)
    assert np.allclose(pickle.loads(pickle.dumps(mean)).weights(3, 0), weights, atol=1e-6)


@pytest.mark.parametrize("name", ["gpt2", "gemma2"])
def test_a_mean_of_a_long_input_has_the_same_parts_as_whole_maps(name: str) -> None:
    model = load_model(zoo.build(name, "eager", positions=308), None)
    given = zoo.inputs(name, batch=1, length=300, padded=0)
    long = model.attend(given, long=True).mean(each="layer")
    maps = model.attend(given, long=False).weights()
    for layer in range(long.n_layers):
        mean = maps[layer].mean(0)
        assert np.allclose(long.rows(layer, 0, [0, 170, 299]), mean[[0, 170, 299]], atol=1e-5)
        seen = long.visible(layer, 0)
        assert seen is not None
        assert not seen[3, 4]
        tile = long.tile(layer, 0, (40, 104), (40, 104), step=16)
        blocks = np.where(seen, mean, 0)[40:104, 40:104].reshape(4, 16, 4, 16).max((1, 3))
        assert np.allclose(np.nan_to_num(tile), blocks, atol=1e-5)
    drawn = draw_thumbnails(long)
    assert np.allclose(drawn.maxima[:, 0], maps.mean(1).max((-1, -2)), atol=1e-5)
    assert "norms" in long.quantities


@pytest.mark.parametrize("combination", ["mean", "max"])
def test_maps_that_do_not_fit_the_memory_are_refused(
    attention: Attention, combination: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnwidget.capture.maps.head_maps._UNCHECKED_BYTES", 100)
    monkeypatch.setattr("attnwidget.model_facts.free_memory.free_memory", lambda: 1000)
    with pytest.raises(ValueError, match=naming("1 whole map", "13 queries", "`tile`")):
        getattr(attention, combination)()


def test_maps_of_numpy_are_combined_without_torch() -> None:
    maps = np.random.default_rng(0).dirichlet(np.ones(5), (2, 3, 5)).astype(np.float32)
    attention = Attention.from_weights(maps, list("abcde"))
    mean = attention.mean(layers=1)
    assert np.allclose(mean.weights(0, 0), maps[1].mean(0))
    assert all(layer.is_numpy for layer in mean.head_maps.all_layers())
    assert np.array_equal(attention.max().weights(0, 0), maps.max((0, 1)))


@pytest.mark.parametrize(
    ("choice", "error", "parts"),
    [
        ({"heads": []}, ValueError, ("heads", "empty", "None")),
        ({"layers": ()}, ValueError, ("layers", "empty", "None")),
        ({"layers": 6}, ValueError, ("layer 6", "'self'")),
        ({"heads": [-1]}, ValueError, ("head -1", "'self'")),
        ({"heads": [2, 2]}, ValueError, ("head 2", "twice")),
        ({"heads": [(1, 2), (1, 2)]}, ValueError, ("L1 H2", "twice")),
        ({"heads": [(1, 2)], "layers": 1}, ValueError, ("(layer, head)", "layers", "each")),
        ({"heads": [1, (1, 2)]}, ValueError, ("heads", "'L1 H3'", "[1, (1, 2)]")),
        ({"heads": 1.5}, TypeError, ("head", "1.5")),
        ({"layers": True}, TypeError, ("layer", "True")),
        ({"heads": "all"}, ValueError, ("head", "'L1 H3'", "'all'")),
        ({"each": "token"}, ValueError, ("each", "'layer'", "'head'", "None", "'token'")),
        ({"stack": "cross"}, ValueError, ("'cross'", "'self'")),
    ],
)
@pytest.mark.parametrize("combination", ["mean", "max"])
def test_a_choice_that_names_no_heads_is_refused(
    attention: Attention,
    combination: str,
    choice: dict[str, Any],
    error: type[Exception],
    parts: tuple[str, ...],
) -> None:
    with pytest.raises(error, match=naming(*parts)):
        getattr(attention, combination)(**choice)


def test_what_a_combined_head_lacks_is_refused_with_the_reason(attention: Attention) -> None:
    mean = attention.mean()
    for ask in (
        lambda: mean.scores(0, 0),
        lambda: mean.value_norms(0),
        lambda: mean.summed_norms(0),
    ):
        with pytest.raises(ValueError, match=naming("a mean of heads", "single head")):
            ask()
    with pytest.raises(ValueError, match=naming("load_model", "maximum")):
        mean.disabled([(0, 0)])
    with pytest.raises(ValueError, match=naming("mean of heads", "maximum")):
        mean.max()


def test_a_maximum_is_never_read_as_a_distribution(attention: Attention) -> None:
    most = attention.max(each="layer")
    assert most.row_sums().max() > 1.01
    assert "rows do not sum to 1" in most.note
    with pytest.raises(ValueError, match=naming("maximum of heads", "metrics", "attention.mean")):
        measure_attention(most, ["entropy"])
    with pytest.raises(
        ValueError, match=naming("maximum of heads", "divergence", "attention.mean")
    ):
        most.changes(attention.max(each="layer"))
    with pytest.raises(ValueError, match=naming("maximum of heads", "rollout", "attention.mean")):
        attention_rollout(most)
    mean = attention.mean(each="layer")
    entropy = measure_attention(mean, ["entropy"])["entropy"].heads()["entropy"]
    assert entropy.shape == (6, 1)
    assert attention_rollout(mean).relevance.shape == attention_rollout(attention).relevance.shape


def test_figures_and_captions_name_the_mean_and_warn_once(attention: Attention) -> None:
    name = "mean of 12 heads of layer 3"
    mean = attention.mean(layers=3)
    for mode in ("lines", "matrix"):
        view = HeadView(mean, selected=[(0, 0)], mode=mode, unit="words")
        caption = view.figure().caption
        assert caption.head == name
        assert [note for note in caption.notes if "a mean hides" in note] == [mean.note]
        assert "L0 H0" not in str(caption)
        assert f"selected: {name}" in repr(view)
    assert ".mean(layers=3)" in view.code()
    grid = HeadGrid(attention.mean(each="layer"), selected=[(3, 0)])
    figure = grid.figure()
    assert figure.caption.head == name
    assert figure.table.loc[0, "head"] == name
    assert "a mean hides" in "".join(figure.caption.notes)


def test_the_name_of_a_mean_names_its_stack(model: AttentionModel) -> None:
    given = zoo.inputs("t5", batch=1, length=9, padded=0)
    attention = load_model(zoo.build("t5", "eager"), None).attend(given)
    cross = attention.mean(stack="cross", layers=0)
    assert list(cross.stacks) == ["cross"]
    assert cross.stacks["cross"].head_name(0, 0) == "mean of 4 cross heads of layer 0"
    assert attention.max().stacks["encoder"].head_name(0, 0) == "maximum of all 12 encoder heads"
