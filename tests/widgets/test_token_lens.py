"""TokenLens with a recording comm: whose weights cross, how many bytes, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import traitlets

from attnwidget import Attention, Head, HeadGrid, HeadView, TokenLens, link, load_model
from attnwidget.widgets.token_lens.three_digits import three_digits
from attnwidget.widgets.wire.values import in_unit
from fixtures import zoo
from fixtures.recording import from_page, on_page, updates
from fixtures.svg_picture import elements

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the unsinkable ship."


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model().attend(TEXT, loss="auto")


@pytest.fixture(scope="module")
def causal() -> Attention:
    return load_model(zoo.build("llama")).attend(zoo.inputs("llama", batch=1, padded=0))


@pytest.fixture(scope="module")
def translated() -> Attention:
    torch.manual_seed(0)
    given = zoo.inputs("bart", batch=1, padded=0)
    return load_model(zoo.build("bart")).attend(given)


def full(attention: Attention, stack: str, unit: str, quantity: str) -> np.ndarray:
    """[L, H, Q, K] of all maps, NaN where masked."""
    held = attention.stacks[stack]
    shown = in_unit(attention, unit)
    maps = []
    for layer in range(held.n_layers):
        for head in range(held.n_heads):
            values = shown.map(quantity, layer, head, stack=stack)
            visible = shown.visible(layer, head, stack=stack)
            maps.append(values if visible is None else np.where(visible, values, np.nan))
    return np.stack(maps).reshape(held.n_layers, held.n_heads, *maps[0].shape)


@pytest.mark.parametrize("unit", ["tokens", "words"])
@pytest.mark.parametrize("quantity", ["weights", "norms", "gradients"])
def test_rows_and_columns_are_those_of_the_maps(
    attention: Attention, unit: str, quantity: str
) -> None:
    maps = full(attention, "self", unit, quantity)
    shown = in_unit(attention, unit)
    for index in (0, 5, maps.shape[-1] - 2):
        row = shown.of_token("query", index, quantity=quantity)
        np.testing.assert_allclose(row, maps[:, :, index], rtol=1e-5, atol=1e-8)
        column = shown.of_token("key", index, quantity=quantity)
        np.testing.assert_allclose(column, maps[..., index], rtol=1e-5, atol=1e-8)
        of_layer = shown.of_token("key", index, layer=2, quantity=quantity)
        np.testing.assert_array_equal(of_layer, column[2])


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_what_a_causal_model_masks_is_masked_not_zero(causal: Attention, unit: str) -> None:
    maps = full(causal, "self", unit, "weights")
    shown = in_unit(causal, unit)
    row = shown.of_token("query", 3)
    assert np.isnan(row[..., 4:]).all() and not np.isnan(row[..., :4]).any()
    np.testing.assert_allclose(row, maps[:, :, 3], rtol=1e-5)
    column = shown.of_token("key", 3)
    assert np.isnan(column[..., :3]).all() and not np.isnan(column[..., 3:]).any()
    np.testing.assert_allclose(column, maps[..., 3], rtol=1e-5)


def test_a_key_of_a_long_text_is_read_some_queries_at_a_time(
    attention: Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = attention.of_token("key", 2)
    monkeypatch.setattr("attnwidget.capture.maps.weights_of_token._CELLS_AT_ONCE", 12 * 16 * 3)
    np.testing.assert_allclose(attention.of_token("key", 2), whole, rtol=1e-5)


def test_tokens_that_are_not_there_are_refused(attention: Attention) -> None:
    n = len(attention.tokens)
    with pytest.raises(ValueError, match=f"query {n} is not among 0 to {n - 1} of 'self'"):
        attention.of_token("query", n)
    with pytest.raises(ValueError, match="side is 'query' or 'key', got 'from'"):
        attention.of_token("from", 0)
    with pytest.raises(ValueError, match="layer"):
        attention.of_token("key", 0, layer=99)


def test_heads_are_listed_where_the_locked_link_has_the_largest_weight(
    attention: Attention,
) -> None:
    maps = full(attention, "self", "tokens", "weights")
    query = attention.tokens.index("he")
    key = attention.tokens.index("captain")
    lens = TokenLens(attention, tokens=[("key", key), ("query", query)])
    weights = maps[:, :, query, key]
    assert lens.values is not None
    np.testing.assert_allclose(lens.values, weights, rtol=1e-5)
    for hidden in ([], ["cls", "sep"]):
        lens.hidden = hidden
        rows = maps[:, :, query].copy()
        rows[..., [kind in hidden for kind in attention.special]] = -1
        counts = (rows.argmax(-1) == key) & (weights >= 1.5 / len(attention.tokens))
        goes = [Head(int(i), int(j)) for i, j in np.argwhere(counts)]
        assert lens.heads == sorted(goes, key=lambda head: -weights[head[0], head[1]])
        assert on_page(lens, "lens")["goes"]["view"].tobytes().count(1) == len(goes) > 0
    lens.tokens = [("query", query)]
    assert lens.heads == []


def test_a_lens_counts_the_heads_that_a_grid_prints_in_bold(attention: Attention) -> None:
    query = attention.tokens.index("he")
    for key in range(1, len(attention.tokens) - 1):
        locked = [("query", query), ("key", key)]
        lens = TokenLens(attention, tokens=locked)
        bold = elements(HeadGrid(attention, tokens=locked).figure(), "text")
        numbers = [text for text in bold if (text.text or "").isdigit()]
        assert len(lens.heads) == sum(text.get("font-weight") == "700" for text in numbers)


def test_no_head_goes_where_it_may_not_see(causal: Attention) -> None:
    lens = TokenLens(causal, tokens=[("query", 2), ("key", 5)])
    assert lens.values is not None and np.isnan(lens.values).all()
    assert lens.heads == []


def test_several_or_hidden_locks_leave_the_last_that_is_there(attention: Attention) -> None:
    lens = TokenLens(attention)
    assert (lens.query, lens.key) == (1, None), "the first word, where none is locked"
    lens.tokens = [("query", 3), ("query", 5), ("key", 2)]
    assert (lens.query, lens.key) == (5, 2)
    lens.tokens = [("query", 0), ("key", 4)]
    lens.hidden = ["cls"]
    assert (lens.query, lens.key) == (None, 4)
    only = TokenLens(Attention.from_weights(np.ones((1, 1, 1, 1)), ["[CLS]"]), hidden=["cls"])
    assert (only.query, only.values, on_page(only, "lens")) == (None, None, None)


def test_one_message_of_few_bytes_answers_a_lock() -> None:
    random = np.random.default_rng(0)
    maps = random.dirichlet(np.full(122, 0.1), size=(12, 12, 122)).astype(np.float32)
    lens = TokenLens(Attention.from_weights(maps, ["t"] * 122), of="model")
    lens.open()
    for marks, shape in (
        ([["query", 5]], [12, 12, 122]),
        ([["key", 5]], [12, 12, 122]),
        ([["query", 5], ["key", 7]], [12, 12]),
    ):
        before = len(updates(lens))
        from_page(lens, {"tokens": marks})
        answers = [state for state, _ in updates(lens)[before:] if "_lens" in state]
        sent = [sum(map(len, buffers)) for _, buffers in updates(lens)[before:]]
        assert len(answers) == 1 and answers[0]["_lens"]["shape"] == shape
        assert "_axes" not in answers[0] and 0 < sum(sent) <= 30_000
    before = len(updates(lens))
    from_page(lens, {"layer": 3})
    assert not any("_lens" in state for state, _ in updates(lens)[before:]), "of all layers"
    lens.tokens = [("query", 5)]
    lens.of = "layer"
    np.testing.assert_allclose(lens.values, maps[3, :, 5])
    lens.layer = 4
    assert on_page(lens, "lens")["layer"] == 4
    sent = np.frombuffer(on_page(lens, "lens")["values"]["view"], "f4").reshape(12, 122)
    np.testing.assert_array_equal(sent, maps[4, :, 5])


def test_packed_numbers_have_three_digits() -> None:
    values = np.array([0.12345, 0.0123456, 0.99996, 0.001, np.nan, 0.0, 1e-7])
    packed, decade = three_digits(values)
    assert packed.nbytes == 12 and decade == 0
    assert three_digits(np.zeros(2))[1] == 0 and three_digits(np.array([np.nan]))[1] == 0
    assert three_digits(np.array([812.0]))[1] == 2


def test_it_follows_the_locks_and_heads_of_a_view_and_a_grid(attention: Attention) -> None:
    lens = TokenLens(attention)
    view = HeadView(attention, 1, 2)
    grid = HeadGrid(attention)
    link(lens, view)
    link(lens, grid)
    view.tokens = [("query", 5)]
    assert lens.query == 5 and lens.layer == 1
    lens.selected = [(4, 4)]
    assert view.head == Head(4, 4) and grid.layer == 4


def test_stacks_of_an_encoder_decoder(translated: Attention) -> None:
    lens = TokenLens(translated, stack="cross", tokens=[("query", 2)])
    maps = full(translated, "cross", "tokens", "weights")
    np.testing.assert_allclose(lens.values, maps[0, :, 2], rtol=1e-5)
    lens.selected = [(0, 1, "decoder")]
    assert lens.stack == "decoder"
    with pytest.raises(traitlets.TraitError, match="'stack' is one of"):
        lens.stack = "self"
    lens.attention = load_model().attend("The cat sat.")
    assert lens.stack == "self" and lens.tokens == []


def test_the_caption_and_the_table_name_words_direction_quantity_and_scale(
    attention: Attention,
) -> None:
    query = attention.tokens.index("he")
    key = attention.tokens.index("captain")
    lens = TokenLens(attention, tokens=[("query", query)], layer=3, hidden=[])
    said = str(lens.caption)
    assert "the 12 heads of layer 3" in said
    assert f"from “he” to {len(attention.tokens)} tokens · attention weights" in said
    assert "absolute colour scale, 0 to 1" in said
    table = lens.figure().table
    assert list(table.columns) == ["head", "to", "weight"] and len(table) == 12
    best = attention.of_token("query", query, layer=3)
    head, token = np.unravel_index(best.argmax(), best.shape)
    assert table.iloc[0]["head"] == f"L3 H{head} (4-{head + 1})"
    assert table.iloc[0]["to"] == attention.tokens[token]
    lens.tokens = [("query", query), ("key", key)]
    said = str(lens.caption)
    assert f"{len(lens.heads)} of 72 heads go from “he” to “captain”" in said
    assert "more weight than any other token, from 1.5 times an even share on" in said
    lens.unit = "words"
    lens.tokens = [("key", 3)]
    lens.quantity = "norms"
    assert "from 16 words to “told”" in str(lens.caption), str(lens.caption)
    lens.tokens = []
    assert "no word is locked" in str(lens.caption)
