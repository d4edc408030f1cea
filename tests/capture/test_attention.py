"""Attention: maps computed on request are the model's own, in every form in which one can ask."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import Attention, Head, load_model
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from fixtures import zoo
from refusals import naming

SMALL = 1e-6


def one(name: str, **options: Any) -> dict[str, torch.Tensor]:
    return zoo.inputs(name, batch=1, padded=0, **options)


@pytest.fixture(scope="module")
def embedded() -> Attention:
    return load_model(device="cpu").attend(
        "The playing cats purr.", "They slept unbelievably well."
    )


@pytest.fixture(scope="module")
def causal() -> Attention:
    return load_model(zoo.build("llama")).attend(one("llama"))


@pytest.fixture(scope="module")
def translating() -> Attention:
    return load_model(zoo.build("bart")).attend(one("bart"))


@pytest.mark.parametrize(("name", "implementation"), zoo.LOADED)
def test_weights_are_those_of_eager_attention(name: str, implementation: str) -> None:
    given = one(name)
    attention = load_model(zoo.build(name, implementation)).attend(given)
    expected = zoo.eager_maps(name, given)
    assert list(attention.stacks) == list(expected)
    for stack, layers in expected.items():
        maps = torch.cat(layers).numpy()  # [L, H, Q, K]
        np.testing.assert_allclose(attention.weights(stack=stack), maps, atol=SMALL, rtol=0)
        for head in range(4):
            one_map = attention.weights(1, head, stack=stack)
            np.testing.assert_allclose(one_map, maps[1, head], atol=SMALL, rtol=0)
            rows = attention.rows(1, head, [2, 0], stack=stack)
            np.testing.assert_allclose(rows, maps[1, head, [2, 0]], atol=SMALL, rtol=0)
    if transformers.__version__.startswith("5"):
        assert attention.note == ("weights only" if name in zoo.WEIGHTS_ONLY else "")


@pytest.mark.parametrize("name", ["llama", "gemma2", "bloom", "opt"])
def test_causal_models_hide_later_keys(name: str) -> None:
    attention = load_model(zoo.build(name)).attend(one(name))
    for layer in range(3):
        visible = attention.visible(layer, 0)
        assert visible is not None
        assert not visible[np.triu_indices(14, 1)].any()
        np.testing.assert_array_equal(attention.weights(layer, 0) > 0, visible)


def test_a_sliding_window_hides_earlier_keys_in_its_layers() -> None:
    attention = load_model(zoo.build("gemma2")).attend(one("gemma2"))
    counts = {int(attention.visible(layer, 0)[-1].sum()) for layer in range(3)}  # type: ignore[index]
    assert counts == {5, 14}


def test_encoders_see_everything(embedded: Attention) -> None:
    assert embedded.visible(0, 0) is None
    assert embedded.words.visible(0, 0) is None


def test_rows_sum_to_1_but_for_sinks(embedded: Attention) -> None:
    np.testing.assert_allclose(embedded.row_sums(), 1, atol=1e-5)
    sinks = load_model(zoo.build("gpt-oss")).attend(one("gpt-oss")).row_sums()
    assert sinks.shape == (3, 4, 14)
    assert sinks.min() < 0.99


def test_shared_keys_are_counted_and_used(causal: Attention) -> None:
    assert causal.stacks["self"].n_key_heads == 2
    np.testing.assert_allclose(causal.weights(2, 3), causal.weights(2)[3], atol=SMALL)


def test_half_precision_models_give_float32_maps() -> None:
    model = zoo.build("bert", dtype=torch.bfloat16)
    attention = load_model(model).attend(one("bert"))
    assert attention.weights(0, 0).dtype == np.float32
    np.testing.assert_allclose(attention.row_sums(), 1, atol=1e-2)


def test_masks_of_all_layers_are_stored_once(causal: Attention) -> None:
    masks = {id(layer.mask) for layer in causal.head_maps.layers["self"].values()}
    assert len(masks) == 1


def test_stacks_of_an_encoder_decoder(translating: Attention) -> None:
    shapes = {name: translating.weights(stack=name).shape for name in translating.stacks}
    assert shapes == {
        "encoder": (2, 4, 14, 14),
        "decoder": (3, 4, 7, 7),
        "cross": (3, 4, 7, 14),
    }
    assert "encoder 2×4, decoder 3×4, cross 3×4, 14 tokens" in repr(translating)
    with pytest.raises(
        ValueError, match=naming("which stack", "BartForConditionalGeneration", "'cross'")
    ):
        translating.weights(0, 0)


def test_heads_are_checked(embedded: Attention, translating: Attention) -> None:
    assert embedded.head((5, 11)) == Head(5, 11)
    assert translating.head((2, 3, "cross")) == Head(2, 3, "cross")
    assert embedded.has((0, 0))
    for wrong, parts in [
        ((6, 0), ("layer 6", "'self'")),
        ((0, 12), ("head 12", "'self'")),
        ((-1, 0), ("layer -1", "'self'")),
        ((0, 0, "cross"), ("'cross'", "'self'")),
        ((0,), ("(1, 3)", "'L1 H3'", "(0,)")),
        ("L0", ("'L1 H3'", "'L0'")),
        ("L6 H0", ("layer 6", "'self'")),
    ]:
        assert not embedded.has(wrong)
        with pytest.raises(ValueError, match=naming(*parts)):
            embedded.head(wrong)
    with pytest.raises(ValueError, match=naming("'self'", "'encoder', 'decoder', 'cross'")):
        translating.head(Head(0, 0))
    with pytest.raises(ValueError, match=naming("query 99", "'self'")):
        embedded.rows(0, 0, 99)
    with pytest.raises(ValueError, match=naming("head=1", "layer=")):
        embedded.weights(head=1)


def test_rows_to_keys_are_weights_between_words() -> None:
    attention = load_model().attend("The captain said that he saw the captain.")
    weights = attention.weights("L1 H3")
    he, that, captains = 5, 4, [2, 8]
    both_captains = [("captain", 1), ("captain", 2)]
    for rows, expected in [
        (attention.rows("L1 H3", "he", "that"), weights[he, that]),
        (attention.rows(1, 3, he, ("captain", 2)), weights[he, captains[1]]),
        (attention.rows((1, 3), "he", both_captains), weights[he, captains]),
        (attention.rows(Head(1, 3), captains, key="he"), weights[captains, he]),
        (attention.rows("L1 H3", ["he", "that"], captains), weights[[he, that]][:, captains]),
    ]:
        assert np.shape(rows) == expected.shape
        np.testing.assert_allclose(rows, expected, atol=SMALL, rtol=0)
    with pytest.raises(ValueError, match=naming("key 'captain'", "2, 8", "('captain', 2)")):
        attention.rows("L1 H3", "he", "captain")


def test_results_belong_to_the_caller(embedded: Attention) -> None:
    first = embedded.weights(0, 0)
    first[:] = 7
    assert embedded.weights(0, 0).max() <= 1
    assert embedded.rows(0, 0, 1).shape == (len(embedded.tokens),)


def test_words_are_sums_over_keys_and_means_over_queries(embedded: Attention) -> None:
    tokens = embedded.stacks["self"].query
    groups = tokens.word_groups()
    assert len(groups) < len(tokens)
    assert embedded.words.tokens == list(tokens.to_words().text)
    weights = embedded.weights(2, 5)
    merged = [[weights[np.ix_(q, k)].sum(1).mean() for k in groups] for q in groups]
    np.testing.assert_allclose(embedded.words.weights(2, 5), merged, atol=SMALL)


def test_a_word_sees_what_its_tokens_see(causal: Attention) -> None:
    np.testing.assert_array_equal(causal.words.visible(0, 0), causal.visible(0, 0))


@pytest.mark.parametrize("unit", ["tokens", "words"])
@pytest.mark.parametrize("hidden", [(), ("cls", "sep"), ("cls", "sep", "first", "other", "")])
def test_thumbnails_hold_every_head(embedded: Attention, unit: Any, hidden: Any) -> None:
    drawn = embedded.words if unit == "words" else embedded
    axis = drawn.stacks["self"].query
    keep = [i for i, kind in enumerate(axis.special) if kind not in hidden]
    thumbnails = draw_thumbnails(drawn, hidden=hidden)
    assert thumbnails.values.dtype == np.uint8
    assert thumbnails.values.shape == (6, 12, len(keep), len(keep))
    assert thumbnails.strongest.dtype == np.int32
    if not keep:
        assert (thumbnails.strongest == -1).all()
        return
    for head in ((0, 0), (5, 11), (3, 7)):
        full = drawn.weights(*head)
        shown = full[np.ix_(keep, keep)]
        assert thumbnails.maxima[head] == pytest.approx(shown.max(), abs=SMALL)
        assert full[tuple(thumbnails.strongest[head])] == pytest.approx(shown.max(), abs=SMALL)
        wanted = 255 * np.sqrt(shown / shown.max())
        assert np.abs(thumbnails.values[head] - wanted).max() < 0.51


def test_remembered_maps_give_the_same_thumbnails_as_computed_maps(embedded: Attention) -> None:
    edited = embedded.disabled([(1, 3)])
    remembered = [copy.deepcopy(each) for each in (edited, embedded)]
    remembered[0].changes(remembered[1])
    assert remembered[0].head_maps.known("self", 1) is not None
    for minus in (False, True):
        first, second = (
            draw_thumbnails(own, minus=other if minus else None)
            for own, other in (remembered, (copy.deepcopy(edited), copy.deepcopy(embedded)))
        )
        for name in ("values", "maxima", "strongest"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_thumbnails_of_cross_attention_are_rectangular(translating: Attention) -> None:
    thumbnails = draw_thumbnails(translating, "cross")
    assert thumbnails.values.shape == (3, 4, 7, 14)
    with pytest.raises(
        ValueError, match=naming("which stack", "BartForConditionalGeneration", "'cross'")
    ):
        draw_thumbnails(translating)


def test_thumbnails_compare_tokens_with_tokens_and_words_with_words(embedded: Attention) -> None:
    same = draw_thumbnails(embedded.words, minus=embedded.words)
    assert (same.values == 128).all() and (same.maxima == 0).all()
    with pytest.raises(TypeError, match=naming("`.words`", "both attentions")):
        draw_thumbnails(embedded, minus=embedded.words)


def test_words_have_the_forms_of_tokens(embedded: Attention, translating: Attention) -> None:
    words = embedded.words
    shape = (6, 12, len(words.tokens), len(words.tokens))
    assert words.weights().shape == shape and words.weights(3).shape == shape[1:]
    np.testing.assert_array_equal(words.weights(3)[5], words.weights(3, 5))
    np.testing.assert_array_equal(words.map("weights", 3, 5), words.weights(3, 5))
    assert words.special[0] == "cls" and words.special[1] == ""
    assert words.stacks["self"].query.text == tuple(words.tokens)
    assert repr(words) == f"WordAttention({len(words.tokens)} words)"
    with pytest.raises(
        ValueError, match=naming("which stack", "BartForConditionalGeneration", "'cross'")
    ):
        translating.words.weights(0, 0)
    with pytest.raises(ValueError, match=naming("head=1", "layer=")):
        words.weights(head=1)
    with pytest.raises(ValueError, match=naming(f"query {len(words.tokens)}", "'self'")):
        words.token_values("query", len(words.tokens))


def test_long_thumbnails_keep_every_peak() -> None:
    random = torch.Generator().manual_seed(0)
    weights = torch.softmax(6 * torch.randn(2, 3, 150, 150, generator=random), -1)
    attention = Attention.from_weights(weights, [f"t{i}" for i in range(150)])
    thumbnails = draw_thumbnails(attention)
    assert thumbnails.values.shape == (2, 3, 64, 64)
    assert (thumbnails.values.max((-2, -1)) == 255).all()
    np.testing.assert_array_equal(thumbnails.maxima, weights.amax((-2, -1)).numpy())


def test_the_table_of_a_head_and_of_a_layer(translating: Attention) -> None:
    whole = translating.to_frame(stack="cross")
    in_layer = whole[whole["layer"] == 1].reset_index(drop=True)
    in_head = in_layer[in_layer["head"] == 1].reset_index(drop=True)
    assert 0 < len(in_head) < len(in_layer) < len(whole)
    for name in ((1, 1, "cross"), "cross L1 H1"):
        assert translating.to_frame(name).equals(in_head)
    assert translating.to_frame(1, 1, stack="cross").equals(in_head)
    assert translating.to_frame(1, stack="cross").equals(in_layer)
    assert translating.to_frame(1, stack="cross").attrs == whole.attrs
    with pytest.raises(ValueError, match=naming("layer 9", "'cross'")):
        translating.to_frame(9, 0, stack="cross")
    with pytest.raises(ValueError, match=naming("which stack", "'cross'")):
        translating.to_frame(1, 1)
    with pytest.raises(ValueError, match=naming("head=1", "layer=")):
        translating.to_frame(head=1, stack="cross")


def test_to_frame_is_tidy(translating: Attention) -> None:
    table = translating.to_frame(stack="cross")
    assert list(table.columns) == [
        "stack",
        "layer",
        "head",
        "query",
        "key",
        "query_token",
        "key_token",
        "weight",
    ]
    assert len(table) == 3 * 4 * 7 * 14
    row = table[
        (table.layer == 2) & (table["head"] == 1) & (table["query"] == 6) & (table.key == 3)
    ]
    assert row.weight.item() == translating.weights(2, 1, stack="cross")[6, 3]
    assert set(translating.to_frame()["stack"]) == {"encoder", "decoder", "cross"}


def test_threads_may_ask_at_once(embedded: Attention) -> None:
    expected = embedded.weights()
    wrong: list[Any] = []

    def ask(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(40):
            layer = int(random.integers(6))
            head = int(random.integers(12))
            difference = np.abs(embedded.weights(layer, head) - expected[layer, head]).max()
            if difference > SMALL:
                wrong.append((layer, head, difference))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_latest_maps_are_remembered_and_earlier_maps_are_computed_again() -> None:
    vectors = np.zeros((4, 4, 1200, 2), np.float32)
    maps = Attention.from_queries_keys(vectors, vectors, scale=1.0, tokens=["t"] * 1200).head_maps
    first = maps.get("self", 0, 0)
    assert np.shares_memory(maps.get("self", 0, 0), first)
    for layer in range(4):
        for head in range(4):
            maps.get("self", layer, head)
    # All maps together have 92 MB.
    assert not np.shares_memory(maps.get("self", 0, 0), first)


def test_repr_is_short(embedded: Attention) -> None:
    n = len(embedded.tokens)
    # Older releases of transformers show the weights of BERT alone.
    note = f", {embedded.note}" if embedded.note else ""
    called = "small BERT (in the package)"
    assert repr(embedded) == f"Attention({called}, self 6×12, {n} tokens{note})"
    assert repr(load_model(zoo.build("mpnet")).attend(one("mpnet"))) == (
        "Attention(MPNetModel, self 3×4, 14 tokens, weights only)"
    )
