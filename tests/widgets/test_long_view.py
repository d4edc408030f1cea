"""A view of a long input: what crosses to its page, what it refuses, what files hold."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets
from numpy.typing import NDArray

import attnwidget.capture.maps.whole_maps as capture
from attnwidget import (
    Attention,
    Head,
    HeadGrid,
    HeadView,
    explore,
    link_figures,
    load_model,
    save_page,
)
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.head_view.long_maps import next_of, places_of
from attnwidget.widgets.head_view.map_cells import TokenCells
from attnwidget.widgets.head_view.map_traits import NOT_BY_PARTS
from attnwidget.widgets.head_view.parted_map import ShownParts
from attnwidget.widgets.wire.values import axes_in, in_unit
from fixtures import zoo
from fixtures.recording import from_page, on_page, updates
from references.formula_attention import NEEDLES, FormulaAttention
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

#: The most that a page gets at once: a tile of floats, its first column and its tokens, and links.
MOST_BYTES = 4 * (256 * 256 + 256)
MOST_TEXT = 64_000
#: Two passes over an input, whole and by rows, differ by so much in single precision.
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def long() -> FormulaAttention:
    return FormulaAttention(8192)


@pytest.fixture
def above_100(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs of more than 100 tokens are long, where BERT shows its queries and keys."""
    if not capture.shows_products(load_model().hf_model):
        pytest.skip("this version of transformers shows the weights of BERT alone")
    monkeypatch.setattr(capture, "LONG_FROM", 100)


def floats(wire: dict[str, Any]) -> NDArray[np.float32]:
    return np.frombuffer(bytes(wire["view"]), "<f4").reshape(wire["shape"])


@pytest.fixture(scope="module")
def causal() -> Attention:
    """1,100 tokens of a small Llama."""
    recipe = zoo.ZOO["llama"]
    with pytest.MonkeyPatch.context() as patch:
        fields = recipe.fields | {"max_position_embeddings": 2048}
        patch.setitem(zoo.ZOO, "llama", replace(recipe, fields=fields))
        model = load_model(zoo.build("llama"))
    return model.attend(zoo.inputs("llama", batch=1, length=1100, padded=0))


def blocks(values: NDArray[np.float32], step: int) -> NDArray[np.float32]:
    """Maxima of blocks; only masked ones are NaN."""
    n, m = values.shape
    found = np.full((-(-n // step), -(-m // step)), np.nan, "f4")
    for i, j in np.ndindex(*found.shape):
        block = values[i * step : (i + 1) * step, j * step : (j + 1) * step]
        if not np.isnan(block).all():
            found[i, j] = np.nanmax(block)
    return found


def masked(attention: Attention, layer: int, head: int) -> NDArray[np.float32]:
    values = attention.weights(layer, head)
    seen = attention.visible(layer, head)
    assert seen is not None
    values[~seen] = np.nan
    return values


# What is sent


@pytest.mark.parametrize(
    ("window", "step"),
    [
        (None, 8),
        ((100, 140, 20, 150), 1),
        ((0, 20, 0, 20), 1),
        ((0, 500, 0, 400), 2),
        ((3, 515, 3, 515), 4),
    ],
)
def test_a_tile_has_the_part_in_sight(causal: Attention, window: Any, step: int) -> None:
    assert causal.is_long
    view = HeadView(causal, 1, 2, window=window)
    assert (view.mode, view.scale) == ("matrix", "absolute")
    whole = masked(causal, 1, 2)
    n = len(causal.tokens)
    apart = whole.copy()
    apart[:, 0] = np.nan
    tile = on_page(view, "tile")
    head = on_page(view, "maps")
    (q0, q1), (k0, k1) = tile["queries"], tile["keys"]
    wanted = window or (0, n, 0, n)
    assert q0 <= wanted[0] and wanted[1] <= q1 and k0 <= wanted[2] and wanted[3] <= k1
    assert (q0 % step, k0 % step, tile["step"]) == (0, 0, step)
    # As much beside it as there is room for.
    assert max(floats(tile["values"]).shape) == min(256, -(-n // step))

    drawn = apart if step > 1 else whole
    np.testing.assert_allclose(
        floats(tile["values"])[0], blocks(drawn[q0:q1, k0:k1], step), rtol=1e-6, strict=True
    )
    np.testing.assert_allclose(
        floats(tile["first"])[0], blocks(whole[q0:q1, :1], step)[:, 0], rtol=1e-6
    )
    np.testing.assert_allclose(floats(head["values"])[0], blocks(apart, head["step"]), rtol=1e-6)
    assert head["maxima"] == [pytest.approx(np.nanmax(apart), rel=1e-6)]
    assert on_page(view, "axes")["query"]["text"] == causal.tokens
    (links,) = head["links"]
    query, key, weight = links[0]
    listed = apart.copy()
    np.fill_diagonal(listed, np.nan)
    assert whole[query, key] == pytest.approx(np.nanmax(listed[16:]), rel=1e-6)
    assert all(query >= 16 and key > 0 and query != key for query, key, _ in links)
    assert weight == pytest.approx(whole[query, key], rel=1e-6)


def test_the_row_of_a_locked_query_is_pooled(causal: Attention) -> None:
    view = HeadView(causal, 0, 1, tokens=[("key", 3), ("query", 900)])
    view.window = (0, 64, 0, 64)
    row = on_page(view, "row")
    whole = masked(causal, 0, 1)[900]
    assert (row["at"], row["step"]) == (900, 2)
    assert row["first"] == [pytest.approx(whole[0], rel=1e-6)]
    whole[0] = np.nan
    np.testing.assert_allclose(floats(row["values"])[0], blocks(whole[None, :], 2)[0], rtol=1e-6)
    keys, weights = zip(*row["links"][0], strict=True)
    np.testing.assert_allclose(weights, sorted(np.nan_to_num(whole))[::-1][:8], rtol=1e-6)
    np.testing.assert_allclose(weights, whole[list(keys)], rtol=1e-6)
    view.tokens = [("key", 3)]
    assert on_page(view, "row") is None


def test_no_message_grows_with_the_input(long: FormulaAttention) -> None:
    view = HeadView(long, 0, 1)
    assert not view.get_state()["_maps"]["complete"]
    opened = view.comm.sent[0]
    # Tokens cross once, when the view opens.
    assert len(opened[1]["state"]["_axes"]["key"]["text"]) == 8192
    assert text_of(opened[1]["state"] | {"_axes": {}}) < MOST_TEXT
    assert sum(map(len, opened[2])) < 2 * MOST_BYTES
    for state in (
        {"window": [7000, 7100, 1200, 1300]},
        {"mode": "lines"},
        {"tokens": [["query", 7100], ["key", 1234]]},
        {"selected": [[1, 3, "self"]], "layer": 1},
        {"_search": {"n": 1, "text": "needle", "side": "query", "step": 1}},
        {"window": None},
        {"scale": "sqrt"},
    ):
        before = len(updates(view))
        from_page(view, state)
        answers = updates(view)[before:]
        assert sum(text_of(answer) for answer, _ in answers) < MOST_TEXT, state
        assert sum(len(b) for _, buffers in answers for b in buffers) < 2 * MOST_BYTES, state
    # Panning brings a tile, and nothing else that is large.
    before = len(updates(view))
    from_page(view, {"window": [100, 200, 100, 200]})
    (answer, buffers) = updates(view)[before:][-1]
    assert "_tile" in answer and "_maps" not in answer and "_axes" not in answer
    assert sum(map(len, buffers)) <= MOST_BYTES
    # Nothing asked of the attention is more than a row or a tile.
    largest = [(-(-(q1 - q0) // s)) * (-(-(k1 - k0) // s)) for (q0, q1), (k0, k1), s in long.asked]
    assert max(largest) <= 256 * 256


def text_of(state: dict[str, Any]) -> int:
    """Characters of a state as JSON, but for code and styles."""
    own = {name: value for name, value in state.items() if name not in ("_esm", "_css")}
    return len(json.dumps(own, default=lambda view: ""))


def test_a_grid_sends_its_tokens_once(long: FormulaAttention) -> None:
    grid = HeadGrid(long)
    view = HeadView(long, 0, 1)
    with link_figures(grid, view):
        before = len(updates(grid))
        grid.selected = [(1, 2)]
        grid.hidden = ["first"]
        grid.scale = "linear"
        assert all("_axes" not in state for state, _ in updates(grid)[before:])
    assert (str(view.head), view.hidden, view.scale) == ("L1 H2", ["first"], "linear")


# What the page asks for


def test_a_token_is_found_and_brought_into_sight(long: FormulaAttention) -> None:
    view = HeadView(long, 0, 1)
    one, other = NEEDLES
    for n, (step, nth, at) in enumerate([(1, 1, one), (1, 2, other), (1, 1, one), (-1, 2, other)]):
        from_page(view, {"_search": {"n": n, "text": " Needle", "side": "key", "step": step}})
        assert on_page(view, "search_answer") == {"n": n, "count": 2, "at": at, "nth": nth}
        assert view.tokens == [("key", at)]
        q0, q1, k0, k1 = view.window
        assert (q1 - q0, k1 - k0) == (32, 32) and k0 <= at < k1
    # Of a query the strongest key but for the first is in sight.
    from_page(view, {"_search": {"n": 9, "text": "needle", "side": "query", "step": -1}})
    q0, q1, k0, k1 = view.window
    assert q0 <= NEEDLES[1] < q1 and k0 <= NEEDLES[0] < k1
    assert on_page(view, "row")["links"][0][0][0] == NEEDLES[0]
    before = view.window
    from_page(view, {"_search": {"n": 10, "text": "nothing", "side": "query", "step": 1}})
    assert on_page(view, "search_answer") == {"n": 10, "count": 0}
    assert view.window == before


def test_words_of_several_tokens_are_found() -> None:
    tokens = Tokens.plain(["un", "##believ", "##able", "un", "table"])
    assert places_of(tokens, "unbelievable") == [0]
    assert places_of(tokens, "un") == [0, 3]
    assert places_of(tokens, "able") == [2]
    assert places_of(tokens, "abl") == [2, 4]
    assert places_of(tokens, " ") == places_of(tokens, "x") == []
    assert [next_of([2, 5, 9], at, 1) for at in (-1, 2, 9)] == [2, 5, 2]
    assert [next_of([2, 5, 9], at, -1) for at in (-1, 2, 9)] == [9, 9, 5]


# What is computed by parts


class Whole:
    """A model of which the same input can be read by parts and whole."""

    def __init__(self, text: str, other: str) -> None:
        model = load_model()
        self.short = [model.attend(one, long=False) for one in (text, other)]
        self.long = [model.attend(one) for one in (text, other)]
        assert all(one.is_long for one in self.long)
        assert not any(one.is_long for one in self.short)


TEXT = "The otters that the cats saw swam over to the islands. " * 14
OTHER = "The otters that the dogs saw once swam over to the islands. " * 14


@pytest.fixture
def read(above_100: None) -> Whole:
    return Whole(TEXT, OTHER)


def values_of(view: HeadView) -> NDArray[np.float32]:
    """The maps that cross to the page of a view whose tile has every cell."""
    tile = on_page(view, "tile")
    long = on_page(view, "maps")
    assert (tile["step"], tile["queries"], tile["keys"]) == (
        1,
        (0, long["n_query"]),
        (0, long["n_key"]),
    )
    return floats(tile["values"])


def kept(attention: Attention, unit: str, hidden: set[str]) -> list[int]:
    axis = attention.stacks["self"].query
    shown = axis.to_words() if unit == "words" else axis
    return [i for i, kind in enumerate(shown.special) if kind not in hidden]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["tokens", "words"])
@pytest.mark.parametrize("hidden", [[], ["cls", "sep"]])
def test_hidden_tokens_and_words(read: Whole, unit: str, hidden: list[str]) -> None:
    view = HeadView(read.long[0], 2, 1, unit=unit, hidden=hidden)
    whole = in_unit(read.short[0], unit).weights(2, 1)
    shown = kept(read.short[0], unit, {*hidden})
    wanted = whole[np.ix_(shown, shown)]
    hides = whole[shown].sum() - wanted.sum()
    np.testing.assert_allclose(values_of(view)[0], wanted, atol=TOLERANCE)
    long = on_page(view, "maps")
    if hidden:
        assert long["shares"][0] == pytest.approx(hides / len(shown), abs=1e-5)
        assert long["first"] is None
    else:
        first = _pooled(wanted[:, 0], long["step"])
        np.testing.assert_allclose(floats(long["first"])[0], first, atol=TOLERANCE)
    links = long["links"][0]
    apart = wanted.copy()
    apart[:16] = 0
    apart[:, : int(not hidden)] = 0
    np.fill_diagonal(apart, 0)
    np.testing.assert_allclose(
        [w for _, _, w in links], np.sort(apart.ravel())[::-1][:20], rtol=1e-3
    )
    np.testing.assert_allclose(view.weights, whole, atol=TOLERANCE)


def _pooled(values: NDArray[np.float32], step: int) -> NDArray[np.float32]:
    return np.maximum.reduceat(values, range(0, len(values), step))


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_norms_are_computed_by_parts(read: Whole, unit: str) -> None:
    view = HeadView(read.long[0], 2, 1, quantity="norms", unit=unit, hidden=["cls"])
    shown = kept(read.short[0], unit, {"cls"})
    wanted = in_unit(read.short[0], unit).norms(2, 1)[np.ix_(shown, shown)]
    np.testing.assert_allclose(values_of(view)[0], wanted, atol=TOLERANCE * wanted.max())
    assert view.caption.quantity.startswith("norms")


@pytest.mark.slow
def test_a_linked_quantity_that_a_long_input_lacks_stays_where_it_is(read: Whole) -> None:
    model = load_model()
    short = HeadView(model.attend("The cat sat.", loss="masked"), 2, 1)
    long = HeadView(read.long[0], 2, 1)
    with link_figures(short, long):
        short.quantity = "norms"
        assert long.quantity == "norms"
        short.quantity = "gradients"
        assert (short.quantity, long.quantity) == ("gradients", "norms")


def test_two_inputs_are_compared_on_common_axes(read: Whole) -> None:
    view = HeadView(read.long[0], versus=read.long[1], layer=2, head=1, hidden=["cls"])
    short = HeadView(read.short[0], versus=read.short[1], layer=2, head=1)
    assert short.difference is not None and view.difference is not None
    np.testing.assert_allclose(view.difference, short.difference, atol=TOLERANCE)
    shown = [
        i for i, kind in enumerate(on_page(short, "axes")["query"]["special"]) if kind != "cls"
    ]
    both = floats(on_page(short, "maps")["values"])[:, shown][:, :, shown]
    tile = on_page(view, "tile")
    if tile["step"] == 1:
        np.testing.assert_allclose(floats(tile["values"])[:2], both, atol=TOLERANCE)
    view.window = (20, 60, 30, 70)
    (q0, q1), (k0, k1) = on_page(view, "tile")["queries"], on_page(view, "tile")["keys"]
    found = floats(on_page(view, "tile")["values"])
    np.testing.assert_allclose(found[:2], both[:, q0:q1, k0:k1], atol=TOLERANCE)
    np.testing.assert_allclose(
        found[2], (both[0] - both[1])[q0:q1, k0:k1], atol=TOLERANCE, equal_nan=True
    )
    assert on_page(view, "axes")["query"]["alone"] == on_page(short, "axes")["query"]["alone"]
    assert on_page(view, "compared") == on_page(short, "compared")


@pytest.mark.slow
def test_several_heads_have_a_tile_each(read: Whole) -> None:
    view = HeadView(
        read.long[0], 2, 1, arrangement="beside", shown_heads="layer", window=(0, 40, 0, 40)
    )
    tile = on_page(view, "tile")
    assert [head[1] for head in tile["heads"]] == [*range(12)]
    (q0, q1), (k0, k1) = tile["queries"], tile["keys"]
    assert (q1 - q0, k1 - k0) == (128, 128)
    for plane, head in zip(floats(tile["values"]), range(12), strict=True):
        whole = read.short[0].weights(2, head)
        np.testing.assert_allclose(plane, whole[q0:q1, k0:k1], atol=TOLERANCE)
    view.arrangement = "overlay"
    assert len(on_page(view, "maps")["heads"]) == 12
    view.arrangement = "one"
    assert on_page(view, "maps")["heads"] == [[2, 1, "self"]]


def test_maps_of_many_blocks_are_those_of_their_cells(causal: Attention) -> None:
    """Blocks follow from a remembered pass, alone of parts that begin and end with its blocks."""
    n = len(causal.tokens)
    shown = np.arange(1, n)
    parts = ShownParts(TokenCells(causal, Head(1, 2), "weights"), shown, shown, np.array([0]))
    whole = masked(causal, 1, 2)[1:, 1:]
    for queries, keys, step in [
        ((0, n - 1), (0, n - 1), 8),
        ((16, 528), (8, 264), 16),
        ((16, 530), (8, 264), 8),
        ((0, 100), (3, 103), 4),
    ]:
        drawn = blocks(whole[slice(*queries), slice(*keys)], step)
        np.testing.assert_allclose(parts.blocks(queries, keys, step), drawn, rtol=1e-6)
    for diagonal in (True, False):
        listed = whole.copy()
        if not diagonal:
            np.fill_diagonal(listed, np.nan)
        within = (5, n - 1, 3, n - 2)
        found = parts.links(within, 40, diagonal=diagonal)
        cut = listed[5 : n - 1, 3 : n - 2]
        wanted = np.sort(np.nan_to_num(cut).ravel())[::-1][:40]
        np.testing.assert_allclose([w for _, _, w in found], wanted, rtol=1e-6)
        assert all(listed[q, k] == pytest.approx(w, rel=1e-6) for q, k, w in found)


# What is not there


def test_what_no_part_can_be_computed_of_is_refused_with_the_reason(causal: Attention) -> None:
    quantity = "gradients"
    parts = (repr(quantity), "1,100 tokens", NOT_BY_PARTS[quantity])
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        HeadView(causal, 0, 1, quantity=quantity)
    view = HeadView(causal, 0, 1)
    with pytest.raises(traitlets.TraitError, match=naming("'quantity'", "'gradients'", "Shorten")):
        view.quantity = quantity
    assert view.quantity == "weights"


def test_another_input_is_long_or_short(above_100: None) -> None:
    model = load_model()
    short, long = (model.attend("The cat sat on the mat. " * n) for n in (2, 30))
    view = HeadView(short, 2, 1, unit="words", arrangement="overlay", hidden=["cls"])
    assert on_page(view, "maps")["complete"] and on_page(view, "tile")["exact"]
    view.window = (0, 3, 0, 3)
    view.attention = long
    assert (view.unit, view.arrangement, view.hidden) == ("words", "overlay", ["cls"])
    assert view.window is None
    assert not on_page(view, "maps")["complete"] and on_page(view, "maps")["unit"] == "words"
    view.attention = short
    assert on_page(view, "maps")["complete"] and on_page(view, "row") is None
    tile = on_page(view, "tile")
    n_query, n_key = (len(axis) for axis in axes_in(short.stacks["self"], "words"))
    assert (tile["step"], tile["queries"], tile["keys"]) == (1, (0, n_query), (0, n_key))


@pytest.mark.slow
def test_an_explorer_reads_long_and_short_texts(above_100: None) -> None:
    explorer = explore(text="The cat sat on the mat. " * 20, treebank=False)
    from_page(explorer, {"_painted": True})
    assert explorer.wait(60)
    assert explorer.scale == explorer.view.scale == "absolute"
    # A long input has no maps between words.
    assert explorer.unit == explorer.view.unit == explorer.grid.unit == "tokens"
    assert list(on_page(explorer, "problems")) == ["head_scatter"] and explorer.head_scatter is None
    assert "need whole maps" in on_page(explorer, "problems")["head_scatter"]
    explorer.hidden = ["cls"]
    assert (explorer.grid.hidden, explorer.view.hidden) == (["cls"], ["cls"])
    explorer.selected = [(2, 4)]
    assert on_page(explorer.view, "maps")["heads"] == [[2, 4, "self"]]
    with pytest.raises(
        ValueError, match=naming("every head at once", "HeadView(attention, versus=other)")
    ):
        explorer.versus_text = "The dog sat on the mat. " * 20
    explorer.versus_text = None
    explorer.text = "The cat sat."
    assert explorer.scale == explorer.view.scale == "absolute"
    assert explorer.unit == explorer.view.unit == explorer.grid.unit == "words"
    assert on_page(explorer.view, "maps") is None and on_page(explorer, "problems") == {}
    assert explorer.wait(60) and explorer.head_scatter is not None
    explorer.text = "The dog ran. " * 40
    assert explorer.scale == explorer.view.scale == "absolute"
    assert explorer.unit == explorer.view.unit == explorer.grid.unit == "tokens"
    assert len(on_page(explorer.view, "axes")["query"]["text"]) > 100
    assert "long input" in explorer.view.caption.text()
    explorer.close()


# What files hold


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["matrix", "lines"])
def test_pictures_and_pages_hold_what_is_in_sight(
    long: FormulaAttention, tmp_path: Path, mode: str
) -> None:
    view = HeadView(long, 0, 1, mode=mode, window=(7084, 7116, 1218, 1250))
    for suffix in ("svg", "pdf", "png"):
        assert view.save(tmp_path / f"view.{suffix}").stat().st_size < 400_000
    table = view.figure().table
    assert list(table.iloc[0]) == ["needle (7100)", "needle (1234)", "0.456"]
    svg = (tmp_path / "view.svg").read_text("utf-8")
    assert svg.count("needle") >= 4

    path = view.save(tmp_path / "view.html")
    assert path.stat().st_size < 1_000_000
    html = path.read_text("utf-8")
    assert "long input: holds an overview of L0 H1, and queries 6972–7227 and keys 1106" in html


def test_a_page_that_would_hold_whole_maps_is_refused(
    long: FormulaAttention, tmp_path: Path
) -> None:
    for save in (HeadGrid(long).save, partial(save_page, long)):
        with pytest.raises(ValueError, match=naming("8,192 tokens", "HeadView")):
            save(tmp_path / "page.html")
