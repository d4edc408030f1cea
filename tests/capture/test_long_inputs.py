"""Attention over long inputs, of which no map is whole: against whole maps of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Attention, load_model
from attnwidget.capture.maps import head_maps, whole_maps
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.capture.maps.whole_maps import LONG_FROM, shows_products
from attnwidget.capture.model import AttentionModel
from attnwidget.kernels.pooling import SIDE
from attnwidget.metrics import Classes, Confidence, Entropy, Position, Sinks
from attnwidget.metrics.measure_heads import measure, measure_attention
from attnwidget.model_facts import free_memory
from attnwidget.text.segments import Segment
from fixtures import zoo
from fixtures.tiers import only_first_is_fast
from refusals import naming

STREAMED = [name for name in zoo.ZOO if name not in zoo.WEIGHTS_ONLY]
TEXT = "The captain told his men to leave the ship before the storm reached the harbour. "
BY_ROWS = ["position", "classes", "entropy", "confidence", "sinks"]


def of_zoo(name: str, length: int, implementation: str = "eager") -> AttentionModel:
    return load_model(zoo.build(name, implementation, positions=length + 8), None)


def small_bert() -> AttentionModel:
    """The embedded model, where this version of transformers shows its queries and keys."""
    model = load_model()
    if not shows_products(model.hf_model):
        pytest.skip("this version of transformers shows the weights of BERT alone")
    return model


def inputs(name: str, length: int) -> dict[str, Any]:
    return zoo.inputs(name, batch=1, length=length, padded=0)


def whole_and_long(name: str, length: int) -> tuple[Attention, Attention]:
    model = of_zoo(name, length)
    given = inputs(name, length)
    if not shows_products(model.hf_model):
        pytest.skip("this version of transformers shows the weights of this model alone")
    return model.attend(given, long=False), model.attend(given, long=True)


def pooled(values: np.ndarray, step: int) -> np.ndarray:
    """The largest value of every block of `step` by `step`, NaN where all of it is NaN."""
    filled = np.where(np.isnan(values), -1, values)
    for axis in (0, 1):
        filled = np.maximum.reduceat(filled, range(0, filled.shape[axis], step), axis=axis)
    return np.where(filled < 0, np.nan, filled)


def map_of(attention: Attention, layer: int, head: int, stack: str) -> np.ndarray:
    """A whole map, NaN where masked."""
    values, seen = (
        found(layer, head, stack=stack) for found in (attention.weights, attention.visible)
    )
    return values if seen is None else np.where(seen, values, np.nan)


def links_of(attention: Attention, *arguments: Any, **options: Any) -> list[tuple[int, int, float]]:
    """Return the strongest links of a head as (query, key, weight)."""
    frame = attention.top_links(*arguments, **options)[["query", "key", "weight"]]
    return list(frame.itertuples(index=False, name=None))


@pytest.mark.parametrize("name", only_first_is_fast(STREAMED))
def test_every_part_of_every_map_is_that_of_the_whole(name: str) -> None:
    whole, long = whole_and_long(name, 512 if name != "vit" else 17)
    assert long.is_long
    assert not whole.is_long
    assert "long input" in repr(long)
    for stack, axes in whole.stacks.items():
        assert long.stacks[stack] == axes
        n_query = len(axes.query)
        n_key = len(axes.key)
        thumbnails = draw_thumbnails(long, stack)
        step = -(-max(n_query, n_key) // SIDE)
        for layer in range(axes.n_layers):
            for head in (0, axes.n_heads - 1):
                expected = map_of(whole, layer, head, stack)
                found = long.tile(layer, head, (0, n_query), (0, n_key), stack=stack)
                np.testing.assert_allclose(found, expected, atol=1e-6)
                assert float(thumbnails.maxima[layer, head]) == pytest.approx(
                    np.nanmax(expected), abs=1e-6
                )
                query, key = thumbnails.strongest[layer, head]
                assert expected[query, key] == pytest.approx(np.nanmax(expected), abs=1e-6)
                part = (n_query // 3, n_query), (0, max(1, n_key // 2 - 3))
                for size in (1, 3, 8, 16):
                    np.testing.assert_allclose(
                        long.tile(layer, head, *part, step=size, stack=stack),
                        pooled(expected[slice(*part[0]), slice(*part[1])], size),
                        atol=1e-6,
                    )
        blocks = pooled(np.nan_to_num(map_of(whole, 0, 0, stack)), step)
        levels = np.rint(255 * np.sqrt(blocks / blocks.max()))
        assert np.abs(thumbnails.values[0, 0] - levels).max() <= 1
        column = whole.token_values("key", 0, stack=stack)
        np.testing.assert_allclose(long.token_values("key", 0, stack=stack), column, atol=1e-6)
        row = whole.token_values("query", n_query - 1, layer=0, stack=stack)
        found = long.token_values("query", n_query - 1, layer=0, stack=stack)
        np.testing.assert_allclose(found, row, atol=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "llama",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("gemma2", "gpt-oss", "t5")),
    ],
)
def test_parts_of_maps_over_2048_tokens(name: str) -> None:
    whole, long = whole_and_long(name, 2048)
    stack = next(iter(whole.stacks))
    expected = map_of(whole, 1, 2, stack)
    tile = long.tile(1, 2, (0, 2048), (0, 2048), step=16, stack=stack)
    np.testing.assert_allclose(tile, pooled(expected, 16), atol=1e-6)
    part = long.tile(1, 2, (1700, 1956), (1500, 1756), stack=stack)
    np.testing.assert_allclose(part, expected[1700:1956, 1500:1756], atol=1e-6)
    cut = long.tile(1, 2, (0, 1028), (8, 2043), step=8, stack=stack)
    np.testing.assert_allclose(cut, pooled(expected[:1028, 8:2043], 8), atol=1e-6)
    links = links_of(long, 1, 2, 9, stack=stack)
    strongest = np.sort(np.nan_to_num(expected), axis=None)[::-1][:9]
    np.testing.assert_allclose([weight for _, _, weight in links], strongest, atol=1e-6)
    for query, key, weight in links:
        assert expected[query, key] == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize("cells", [1, 10**6])
@pytest.mark.parametrize("within", [(100, 260, 30, 90), (0, 300, 1, 300), (3, 11, 2, 9)])
def test_links_within_a_part_are_its_strongest(
    within: tuple[int, int, int, int], cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, long = whole_and_long("llama", 300)
    first, last, left, right = within
    part = np.nan_to_num(map_of(whole, 0, 1, "self"))[first:last, left:right]
    monkeypatch.setattr("attnwidget.capture.maps.tiles._CELLS_AT_ONCE", cells)
    for attention in (whole, long):
        links = links_of(attention, 0, 1, 5, within=within)
        weights = np.sort(part, axis=None)[::-1][:5]
        np.testing.assert_allclose([weight for _, _, weight in links], weights, atol=1e-6)
        assert all(first <= query < last and left <= key < right for query, key, _ in links)


@pytest.mark.parametrize("cells", [1, 10**6])
def test_links_of_tokens_to_themselves_can_be_left_out(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, long = whole_and_long("llama", 300)
    expected = np.nan_to_num(map_of(whole, 0, 1, "self"))
    np.fill_diagonal(expected, 0)
    strongest = np.sort(expected, axis=None)[::-1][:30]
    monkeypatch.setattr("attnwidget.capture.maps.tiles._CELLS_AT_ONCE", cells)
    monkeypatch.setattr("attnwidget.capture.maps.tiles._DIAGONAL", 64)
    for attention in (whole, long):
        before = attention.weights(0, 1) if attention is whole else None
        links = links_of(attention, 0, 1, 30, diagonal=False)
        np.testing.assert_allclose([weight for _, _, weight in links], strongest, atol=1e-6)
        assert all(query != key for query, key, _ in links)
        assert links_of(attention, 0, 1, 30) != links
        if before is not None:
            np.testing.assert_array_equal(attention.weights(0, 1), before)


def test_hidden_tokens_are_in_no_thumbnail() -> None:
    model = small_bert()
    whole, long = (model.attend(TEXT * 8, long=long) for long in (False, True))
    small = draw_thumbnails(long, hidden=["cls", "sep"])
    kept = [i for i, kind in enumerate(long.special) if kind not in ("cls", "sep")]
    shown = whole.weights(2, 3)[np.ix_(kept, kept)]
    assert small.maxima[2, 3] == pytest.approx(shown.max(), abs=1e-6)
    levels = pooled(shown, -(-len(kept) // SIDE)) / shown.max()
    assert np.abs(small.values[2, 3] - np.rint(255 * np.sqrt(levels))).max() <= 1
    query, key = small.strongest[2, 3]
    assert whole.weights(2, 3)[query, key] == pytest.approx(shown.max(), abs=1e-6)


#: Differences of norms that rounding explains, as a share of the largest.
NORM_TOLERANCE = 1e-5


@pytest.mark.parametrize(
    "name", ["bert", "llama", *(pytest.param(n, marks=pytest.mark.slow) for n in ("gpt2", "t5"))]
)
def test_norms_of_long_inputs_are_those_of_whole_maps(name: str) -> None:
    whole, long = whole_and_long(name, 160)
    if "norms" not in whole.quantities:
        assert "norms" not in long.quantities
        return
    assert long.quantities == ("weights", "norms")
    for stack in whole.stacks:
        n_layers = whole.stacks[stack].n_layers
        wanted = whole.norms(stack=stack)
        allowed = NORM_TOLERANCE * wanted.max()
        for layer in range(n_layers):
            np.testing.assert_allclose(
                long.value_norms(layer, stack=stack),
                whole.value_norms(layer, stack=stack),
                rtol=NORM_TOLERANCE,
            )
            norms = long.norms(layer, 1, stack=stack)
            np.testing.assert_allclose(norms, wanted[layer, 1], atol=allowed)
        for side in ("query", "key"):
            found, expected = (
                of.token_values(side, 4, stack=stack, quantity="norms") for of in (long, whole)
            )
            np.testing.assert_allclose(found, expected, atol=allowed)


def test_a_model_without_norms_says_so_of_long_inputs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_bert()
    projection = model.hf_model.bert.encoder.layer[1].attention.output.dense
    forward = projection.forward
    monkeypatch.setattr(projection, "forward", lambda states: 1.1 * forward(states))
    long, whole = (
        load_model(model.hf_model, model.tokenizer).attend(TEXT, long=long)
        for long in (True, False)
    )
    assert long.quantities == whole.quantities == ("weights",)
    with pytest.raises(ValueError, match=naming("norms", "BertSelfAttention")):
        long.norms(0, 0)


@pytest.mark.parametrize("hidden", [[], ["cls", "sep"]])
def test_thumbnails_of_norms_are_those_of_whole_maps(hidden: list[str]) -> None:
    model = small_bert()
    whole, long = (model.attend(TEXT, long=long) for long in (False, True))
    found, wanted = (draw_thumbnails(of, hidden=hidden, quantity="norms") for of in (long, whole))
    np.testing.assert_allclose(found.maxima, wanted.maxima, rtol=NORM_TOLERANCE)
    np.testing.assert_array_equal(found.strongest, wanted.strongest)
    assert np.abs(found.values.astype(int) - wanted.values).max() <= 1


@pytest.mark.parametrize("name", ["bert", "llama"])
@pytest.mark.parametrize("long", [False, True])
def test_thumbnails_times_keys_are_multiples_of_even_attention(name: str, long: bool) -> None:
    model = of_zoo(name, 40)
    if not shows_products(model.hf_model):
        pytest.skip("this version of transformers shows the weights of this model alone")
    attention = model.attend(inputs(name, 40), long=long)
    (stack,) = attention.stacks
    weights = attention.weights()
    seen = attention.visible(0, 0)
    counts = np.full(40, 40) if seen is None else seen.sum(-1)
    multiples = weights * counts[:, None]
    found = draw_thumbnails(attention, stack, times_keys=True)
    np.testing.assert_allclose(found.maxima, multiples.max((-2, -1)), rtol=1e-5)
    levels = np.sqrt(multiples / multiples.max((-2, -1), keepdims=True))
    np.testing.assert_allclose(found.values / 255, levels, atol=0.5 / 255 + 1e-5)
    with pytest.raises(ValueError, match=naming("times_keys", "quantity='weights'")):
        draw_thumbnails(attention, stack, times_keys=True, quantity="norms")


@pytest.mark.slow
def test_the_length_decides_unless_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LONG_FROM == 1024
    monkeypatch.setattr(whole_maps, "LONG_FROM", 20)
    model = small_bert()
    assert not model.attend("The cat sat.").is_long
    assert model.attend(TEXT * 3).is_long
    assert not model.attend(TEXT * 3, long=False).is_long
    assert [one.is_long for one in model.attend_batch([TEXT * 3, "The cat sat."])] == [True, False]
    assert not model.attend(TEXT * 3, loss="masked").is_long
    with model.disabled([(1, 2)]):
        assert not model.attend(TEXT * 3).is_long
    assert "long=True" in str(model.attend("The cat sat.", long=True).made_by)


@pytest.mark.slow
@pytest.mark.parametrize("metric", BY_ROWS)
def test_metrics_over_rows_are_those_over_whole_maps(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_bert()
    words = tuple(model.tokenizer.tokenize(TEXT * 6))
    segments = [Segment(words), Segment(words[:70]), Segment(words[20:50])]
    expected = measure(model, segments, [metric], progress=False, batch_size=2)
    monkeypatch.setattr(whole_maps, "LONG_FROM", 20)
    monkeypatch.setattr("attnwidget.corpus.model_reader._CELLS", 30_000)
    found = measure(model, segments, [metric], progress=False, batch_size=2)
    for title, values in expected.heads().items():
        np.testing.assert_allclose(
            found.heads()[title], values, atol=3e-6, rtol=1e-6, err_msg=title
        )
    of_one = measure_attention(model.attend(TEXT * 6), [metric])
    monkeypatch.undo()
    for title, values in measure_attention(model.attend(TEXT * 6), [metric]).heads().items():
        np.testing.assert_allclose(
            of_one.heads()[title], values, atol=3e-6, rtol=1e-6, err_msg=title
        )


def test_by_rows_tells_which_metrics_read_long_inputs() -> None:
    assert all(one().by_rows for one in (Position, Classes, Entropy, Confidence, Sinks))


def test_generation_is_read_whole_length(monkeypatch: pytest.MonkeyPatch) -> None:
    model = of_zoo("gpt2", 64)
    short = model.generate([5, 6, 7, 8] * 5, 6)
    monkeypatch.setattr(whole_maps, "LONG_FROM", 20)
    long = model.generate([5, 6, 7, 8] * 5, 6)
    assert long.is_long
    assert long.n_prompt == 20
    assert long.tokens == short.tokens
    np.testing.assert_allclose(long.weights(1, 2), short.weights(1, 2), atol=1e-6)


def test_words_differences_and_means_of_a_long_input_are_those_of_whole_maps() -> None:
    model = small_bert()
    long = model.attend(TEXT, long=True)
    short = model.attend(TEXT, long=False)
    np.testing.assert_allclose(long.words.weights(1), short.words.weights(1), atol=3e-6)
    for side in ("query", "key"):
        values = (one.words.token_values(side, 2) for one in (long, short))
        np.testing.assert_allclose(*values, atol=3e-6)
    np.testing.assert_allclose(long.mean().weights(0, 0), short.mean().weights(0, 0), atol=3e-6)
    assert np.abs(long.changes(short)).max() < 1e-6
    for drawn in (draw_thumbnails(long.words), draw_thumbnails(long, minus=short)):
        assert drawn.values.shape[:2] == (6, 12)
    patterns = (measure_attention(one, ["patterns"])["patterns"].heads() for one in (long, short))
    for values, expected in zip(*(found.values() for found in patterns), strict=True):
        np.testing.assert_allclose(values, expected, atol=1e-4)


def test_what_a_long_input_lacks_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = small_bert()
    long = model.attend(TEXT, long=True)
    with pytest.raises(ValueError, match=naming("long=False", "not kept")):
        long.summed_norms(0)
    with pytest.raises(ValueError, match=naming("gradients", "long=False")):
        model.attend(TEXT, loss="masked", long=True)
    with (
        model.disabled([(1, 2)]),
        pytest.raises(ValueError, match=naming("switched off", "long=False")),
    ):
        model.attend(TEXT, long=True)
    monkeypatch.setattr(head_maps, "_UNCHECKED_BYTES", 1000)
    monkeypatch.setattr("attnwidget.model_facts.free_memory.free_memory", lambda: 10_000)
    with pytest.raises(ValueError, match=naming("12 whole maps", "18 queries", "`tile`")):
        long.weights(0)
    with pytest.raises(ValueError, match=naming("12", "whole")):
        long.row_sums()


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"queries": (0, 19)}, ("queries", "(from, to)", "0 to 18")),
        ({"keys": (5, 5)}, ("keys", "(from, to)", "0 to 18")),
        ({"keys": (-1, 5)}, ("0", "keys")),
        ({"step": 0}, ("step", "got 0")),
        ({"layer": 6}, ("layer 6", "'self'")),
    ],
)
def test_no_such_tile(given: dict[str, Any], parts: tuple[str, ...]) -> None:
    long = small_bert().attend(TEXT, long=True)
    with pytest.raises(ValueError, match=naming(*parts)):
        long.tile(**({"layer": 0, "head": 0, "queries": (0, 9), "keys": (0, 9)} | given))


def test_no_such_links() -> None:
    long = small_bert().attend(TEXT, long=True)
    with pytest.raises(ValueError, match=naming("top", "got 0")):
        long.top_links(0, 0, 0)
    with pytest.raises(ValueError, match=naming("0", "queries")):
        long.top_links(0, 0, within=(3, 99, 0, 4))


@pytest.mark.parametrize("name", ["llama", "bart"])
def test_tokens_that_a_mask_hides_are_in_no_long_map(name: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(whole_maps, "LONG_FROM", 8)
    model = of_zoo(name, 16)
    given = inputs(name, 12)
    decoded = "decoder_input_ids" in given
    side = "decoder_" if decoded else ""
    mask = torch.ones_like(given[f"{side}input_ids"])
    mask[:, 2] = 0
    given[f"{side}attention_mask"] = mask
    attention = model.attend(given)
    assert not attention.is_long
    assert len(attention.stacks["decoder" if decoded else "self"].key) == mask.sum()
    with pytest.raises(ValueError, match=naming(f"{side}attention_mask", "hides", "long=None")):
        model.attend(given, long=True)


@pytest.mark.parametrize("name", sorted(zoo.WEIGHTS_ONLY))
def test_models_that_show_weights_alone_are_read_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = of_zoo(name, 40)
    given = inputs(name, 40)
    with pytest.raises(ValueError, match=naming("attention weights", "alone")):
        model.attend(given, long=True)
    monkeypatch.setattr(whole_maps, "LONG_FROM", 20)
    assert not model.attend(given).is_long
    monkeypatch.setattr(free_memory, "free_memory", lambda: 4 * 12 * 30**2)
    with pytest.raises(ValueError, match=naming("40 tokens", "30 tokens")):
        model.attend(given)


def test_the_formula_is_held_against_the_models_own_function() -> None:
    model = of_zoo("llama", 64)
    attention = model.hf_model.model.layers[1].self_attn
    attention.scaling = attention.scaling * 1.5
    assert model.attend(inputs("llama", 30), long=True).is_long
    module = __import__(type(attention).__module__, fromlist=["x"])
    own = module.eager_attention_forward

    def other(*args: Any, **kwargs: Any) -> Any:
        output, weights = own(*args, **kwargs)
        return output, weights * 0.9

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "eager_attention_forward", other)
        with pytest.raises(ValueError, match=naming("without whole maps", "long=False")):
            model.attend(inputs("llama", 30), long=True)


def test_a_batch_of_long_inputs_is_streamed_item_by_item(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = small_bert()
    monkeypatch.setattr(whole_maps, "LONG_FROM", 10)
    one, two = model.attend_batch([TEXT, TEXT.replace("captain", "dog")])
    for attention in (one, two):
        assert attention.is_long
        alone = model.attend(" ".join(attention.tokens[1:-1]), long=False)
        np.testing.assert_allclose(attention.weights(3, 4), alone.weights(3, 4), atol=2e-6)


def test_the_hidden_states_are_those_of_the_model() -> None:
    model = of_zoo("llama", 200, "sdpa")
    given = inputs("llama", 200)
    with torch.no_grad():
        expected = model.hf_model.model(**given).last_hidden_state
    found = {}
    hook = model.hf_model.model.norm.register_forward_hook(
        lambda module, args, output: found.update(states=output)
    )
    model.attend(given, long=True)
    hook.remove()
    torch.testing.assert_close(found["states"], expected, atol=1e-4, rtol=1e-4)
