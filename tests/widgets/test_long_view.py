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

import attnwidget.capture.maps.collect_long as capture
from attnwidget import Attention, HeadGrid, HeadView, explore, link, load_model, save_page
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.head_view.long_input import next_of, places_of
from fixtures import zoo
from fixtures.recording import from_page, on_page, updates
from references.formula_attention import NEEDLES, FormulaAttention

pytestmark = pytest.mark.usefixtures("recording")

#: The most that a page gets at once: a tile of floats, its first column and its tokens, and links.
MOST_BYTES = 4 * (256 * 256 + 256)
MOST_TEXT = 64_000


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
    assert (view.mode, view.scale) == ("matrix", "log")
    whole = masked(causal, 1, 2)
    n = len(causal.tokens)
    apart = whole.copy()
    apart[:, 0] = np.nan
    tile = on_page(view, "tile")
    head = on_page(view, "long")
    (q0, q1), (k0, k1) = tile["queries"], tile["keys"]
    wanted = window or (0, n, 0, n)
    assert q0 <= wanted[0] and wanted[1] <= q1 and k0 <= wanted[2] and wanted[3] <= k1
    assert (q0 % step, k0 % step, tile["step"]) == (0, 0, step)
    # As much beside it as there is room for.
    assert max(floats(tile["values"]).shape) == min(256, -(-n // step))

    drawn = apart if step > 1 else whole
    np.testing.assert_allclose(
        floats(tile["values"]), blocks(drawn[q0:q1, k0:k1], step), rtol=1e-6, strict=True
    )
    np.testing.assert_allclose(
        floats(tile["first"]), blocks(whole[q0:q1, :1], step)[:, 0], rtol=1e-6
    )
    np.testing.assert_allclose(floats(head["values"]), blocks(apart, head["step"]), rtol=1e-6)
    assert head["maximum"] == pytest.approx(np.nanmax(apart), rel=1e-6)
    if step == 1:
        assert tile["axes"]["query"]["text"] == causal.tokens[q0:q1]
        assert tile["axes"]["key"]["text"] == causal.tokens[k0:k1]
    else:
        assert tile["axes"] is None
    query, key, weight, *texts = head["links"][0]
    listed = apart.copy()
    np.fill_diagonal(listed, np.nan)
    assert whole[query, key] == pytest.approx(np.nanmax(listed[16:]), rel=1e-6)
    assert all(query >= 16 and key > 0 and query != key for query, key, *_ in head["links"])
    assert weight == pytest.approx(whole[query, key], rel=1e-6)
    assert texts == [causal.tokens[query], causal.tokens[key]]


def test_the_row_of_a_locked_query_is_pooled(causal: Attention) -> None:
    view = HeadView(causal, 0, 1, tokens=[("key", 3), ("query", 900)])
    view.window = (0, 64, 0, 64)
    row = on_page(view, "row")
    whole = masked(causal, 0, 1)[900]
    assert (row["query"], row["step"]) == (900, 2)
    assert row["first"] == pytest.approx(whole[0], rel=1e-6)
    whole[0] = np.nan
    np.testing.assert_allclose(floats(row["values"]), blocks(whole[None, :], 2)[0], rtol=1e-6)
    keys, weights, _ = zip(*row["links"], strict=True)
    np.testing.assert_allclose(weights, sorted(np.nan_to_num(whole))[::-1][:8], rtol=1e-6)
    np.testing.assert_allclose(weights, whole[list(keys)], rtol=1e-6)
    view.tokens = [("key", 3)]
    assert on_page(view, "row") is None


def test_no_message_grows_with_the_input(long: FormulaAttention) -> None:
    view = HeadView(long, 0, 1)
    assert not any(part in ("_map", "_maps") and view.get_state()[part] for part in view.keys)
    opened = view.comm.sent[0]
    assert text_of(opened[1]["state"]) < MOST_TEXT
    assert sum(map(len, opened[2])) < 2 * MOST_BYTES
    for state in (
        {"window": [7000, 7100, 1200, 1300]},
        {"mode": "lines"},
        {"tokens": [["query", 7100], ["key", 1234]]},
        {"selected": [[1, 3, "self"]], "layer": 1},
        {"_jump": {"n": 1, "text": "needle", "side": "query", "step": 1}},
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
    assert "_tile" in answer and "_long" not in answer and "_axes" not in answer
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
    with link(grid, view):
        before = len(updates(grid))
        grid.selected = [(1, 2)]
        grid.hidden = ["first"]
        grid.scale = "linear"
        assert all("_axes" not in state for state, _ in updates(grid)[before:])
    assert (str(view.head), view.hidden, view.scale) == ("L1 H2", [], "linear")


# What the page asks for


def test_a_token_is_found_and_brought_into_sight(long: FormulaAttention) -> None:
    view = HeadView(long, 0, 1)
    one, other = NEEDLES
    for n, (step, nth, at) in enumerate([(1, 1, one), (1, 2, other), (1, 1, one), (-1, 2, other)]):
        from_page(view, {"_jump": {"n": n, "text": " Needle", "side": "key", "step": step}})
        assert on_page(view, "jumped") == {"n": n, "count": 2, "at": at, "nth": nth}
        assert view.tokens == [("key", at)]
        q0, q1, k0, k1 = view.window
        assert (q1 - q0, k1 - k0) == (32, 32) and k0 <= at < k1
    # Of a query the strongest key but for the first is in sight.
    from_page(view, {"_jump": {"n": 9, "text": "needle", "side": "query", "step": -1}})
    q0, q1, k0, k1 = view.window
    assert q0 <= NEEDLES[1] < q1 and k0 <= NEEDLES[0] < k1
    assert on_page(view, "row")["links"][0][::2] == [NEEDLES[0], "needle"]
    before = view.window
    from_page(view, {"_jump": {"n": 10, "text": "nothing", "side": "query", "step": 1}})
    assert on_page(view, "jumped") == {"n": 10, "count": 0}
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


# What is not there


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unit", "words"),
        ("quantity", "norms"),
        ("hidden", ["first"]),
        ("arrangement", "beside"),
        ("versus", "intact"),
        ("highlight", ["cat"]),
        ("top_mass", 0.5),
    ],
)
def test_what_needs_whole_maps_is_refused(long: FormulaAttention, name: str, value: Any) -> None:
    with pytest.raises(traitlets.TraitError, match=f"'{name}' needs the whole map.*8,192 tokens"):
        HeadView(long, 0, 1, **{name: value})
    view = HeadView(long, 0, 1)
    before = getattr(view, name)
    with pytest.raises(traitlets.TraitError, match="Shorten the text"):
        setattr(view, name, value)
    assert getattr(view, name) == before


def test_another_input_is_long_or_short(above_100: None) -> None:
    model = load_model()
    short, long = (model.attend("The cat sat on the mat. " * n) for n in (2, 30))
    view = HeadView(short, 2, 1, unit="words", arrangement="overlay", hidden=["cls"])
    assert on_page(view, "long") is None and on_page(view, "maps") is not None
    view.window = (0, 3, 0, 3)
    view.attention = long
    assert (view.unit, view.arrangement, view.hidden, view.window) == ("tokens", "one", [], None)
    assert (
        on_page(view, "map") is on_page(view, "maps") is None and on_page(view, "tile")["step"] == 1
    )
    view.attention = short
    assert (
        on_page(view, "long") is on_page(view, "tile") is None and on_page(view, "map") is not None
    )
    view.unit = "words"


def test_an_explorer_reads_long_and_short_texts(above_100: None) -> None:
    explorer = explore(text="The cat sat on the mat. " * 20, treebank=False)
    from_page(explorer, {"_painted": True})
    assert explorer.wait(60)
    assert explorer.scale == explorer.view.scale == "log"
    assert list(on_page(explorer, "problems")) == ["head_map"] and explorer.head_map is None
    assert "need whole maps" in on_page(explorer, "problems")["head_map"]
    explorer.hidden = ["cls"]
    assert (explorer.grid.hidden, explorer.view.hidden) == (["cls"], [])
    explorer.selected = [(2, 4)]
    assert on_page(explorer.view, "long")["layer"] == 2
    with pytest.raises(ValueError, match="a comparison needs whole maps"):
        explorer.versus_text = "The dog sat on the mat. " * 20
    explorer.versus_text = None
    explorer.text = "The cat sat."
    assert explorer.scale == explorer.view.scale == "sqrt"
    assert on_page(explorer.view, "long") is None and on_page(explorer, "problems") == {}
    assert explorer.wait(60) and explorer.head_map is not None
    explorer.text = "The dog ran. " * 40
    assert explorer.scale == explorer.view.scale == "log"
    assert len(on_page(explorer.view, "tile")["axes"]["query"]["text"]) > 100
    assert "long input" in explorer.view.caption.text()
    explorer.close()


# What files hold


@pytest.mark.parametrize("mode", ["matrix", "lines"])
def test_pictures_and_pages_hold_what_is_in_sight(
    long: FormulaAttention, tmp_path: Path, mode: str
) -> None:
    view = HeadView(long, 0, 1, mode=mode, window=(7084, 7116, 1218, 1250))
    for suffix in ("svg", "pdf", "png"):
        assert view.save(tmp_path / f"view.{suffix}").stat().st_size < 400_000
    caption = view.caption
    table = view.figure().table
    assert "long input, 8,192 tokens" in caption.quantity
    assert "logarithmic colour scale, ≤0.0005 to 0.456" in caption.scale
    notes = " · ".join(caption.notes)
    assert "zoomed: queries 7084–7115 and keys 1218–1249 in sight" in notes
    if mode == "lines":
        assert "the strongest 1 link in sight; weaker links are not shown" in notes
    else:
        assert "<s> (0) in a column of its own, at most 0.7" in notes
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
        with pytest.raises(ValueError, match="8,192 tokens does not have: save a HeadView alone"):
            save(tmp_path / "page.html")
