"""Thumbnails of all heads that paint the row of one token on a picture."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets
from numpy.typing import NDArray

from attnwidget import Attention, HeadGrid, HeadView, link_figures
from attnwidget.results import Box
from attnwidget.text.places import Media
from attnwidget.widgets.shared.painted_rows import painted_token, painted_values, rounded_rows
from fixtures.pictures import picture_attention, sound_attention
from fixtures.recording import from_page, on_page, updates
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")


def array(wire: dict[str, Any]) -> NDArray[Any]:
    return np.frombuffer(bytes(wire["view"]), wire["dtype"]).reshape(wire["shape"])


def decoded(row: dict[str, Any]) -> NDArray[np.float32]:
    """The values that bytes of painted rows stand for, NaN where masked."""
    levels = array(row["values"]).astype(np.float32)
    roots = np.where(levels > 0, (levels - 1) / 254, np.nan)
    return array(row["largest"])[..., None] * roots**2


def assert_close(row: dict[str, Any], values: NDArray[np.float32]) -> None:
    """The bytes are the values, to half a step of the root of a share."""
    largest = array(row["largest"])[..., None]
    np.testing.assert_allclose(
        np.sqrt(decoded(row) / largest), np.sqrt(values / largest), atol=0.51 / 254
    )


def payload(state: Any) -> int:
    """Bytes of arrays and texts in traits."""
    if isinstance(state, dict):
        return sum(payload(value) for value in state.values())
    if isinstance(state, (bytes, memoryview)):
        return memoryview(state).nbytes
    return len(json.dumps(state, default=str))


def vit_sized() -> Attention:
    """12 x 12 heads over [CLS] and 14 x 14 patches."""
    boxes = [Box(0, 16 * c, 16 * r, 16 * c + 16, 16 * r + 16) for r in range(14) for c in range(14)]
    weights = np.random.default_rng(0).random((12, 12, 197, 197), dtype=np.float32)
    weights /= weights.sum(axis=-1, keepdims=True)
    names = ["[CLS]", *map(str, range(196))]
    picture = np.zeros((224, 224, 3), np.uint8)
    return Attention.from_weights(weights, names, places=[None, *boxes], images=[picture])


def test_all_heads_of_a_vit_cost_a_row_each_and_the_picture_once() -> None:
    attention = vit_sized()
    grid = HeadGrid(attention)
    thumbnails = on_page(grid, "thumbnails")
    assert array(thumbnails["row"]["values"]).shape == (12, 12, 197)
    assert payload(thumbnails) < 33_000
    assert payload(on_page(grid, "media")) < 28_000
    assert on_page(grid, "rows") is None
    maps = HeadGrid(attention, thumbnail="maps")
    assert payload(on_page(maps, "thumbnails")) > 580_000
    assert on_page(maps, "media") is None
    before = len(updates(grid))
    grid.tokens = [("query", 100)]
    sent = {name: value for state, _ in updates(grid)[before:] for name, value in state.items()}
    assert "_thumbnails" in sent
    assert not {"_media", "_places", "_rows"} & {name for name, value in sent.items() if value}


def test_the_row_is_that_of_cls_then_of_the_locked_token() -> None:
    attention = picture_attention(registers=2)
    grid = HeadGrid(attention)
    weights = attention.weights()
    row = on_page(grid, "thumbnails")["row"]
    assert (row["side"], row["of"]) == ("query", 0)
    assert_close(row, weights[:, :, 0])
    grid.tokens = [("query", 7)]
    thumbnails = on_page(grid, "thumbnails")
    assert_close(thumbnails["row"], weights[:, :, 7])
    strongest = array(thumbnails["strongest"])
    assert (strongest[..., 0] == 7).all()
    axis = attention.stacks["self"].key
    shown = weights[:, :, 7] * [place is not None for place in axis.places]
    assert (strongest[..., 1] == shown.argmax(-1)).all()
    np.testing.assert_allclose(array(thumbnails["maxima"]), shown.max(-1))
    grid.tokens = [("key", 5)]
    row = on_page(grid, "thumbnails")["row"]
    assert (row["side"], row["of"]) == ("key", 5)
    assert_close(row, weights[:, :, :, 5])


@pytest.mark.parametrize("times_keys", [False, True])
def test_a_page_holds_the_strongest_link_of_every_token(tmp_path: Path, times_keys: bool) -> None:
    """The page paints the row of a locked token from its maps, with these numbers."""
    grid = HeadGrid(picture_attention(registers=2), times_keys=times_keys)
    page = grid.save(tmp_path / "page.html").read_text("utf-8")
    data = re.search(r'id="attnw-data">(.*?)</script>', page, re.DOTALL)
    assert data
    first, *_ = [one for one in json.loads(data[1])["held"]["thumbnails"] if one["painted"]]
    assert first["thumbnails"]["row"]["of"] == 0 and first["placed_on"] == "pictures"
    for side, other in (("query", 1), ("key", 0)):
        answers = {name: stored(value) for name, value in first["painted"][side].items()}
        for at in range(len(answers["maxima"])):
            grid.tokens = [(side, at)]
            drawn = on_page(grid, "thumbnails")
            np.testing.assert_allclose(answers["maxima"][at], array(drawn["maxima"]), rtol=1e-6)
            strongest = array(drawn["strongest"])[..., other]
            np.testing.assert_array_equal(answers["others"][at], strongest)
            # The page has the rows as parts of maps, whose largest value is no smaller.
            assert (answers["largest"][at] >= array(drawn["row"]["largest"]) - 1e-6).all()


def stored(array: dict[str, Any]) -> NDArray[Any]:
    """An array of a page."""
    return np.frombuffer(b64decode(array["view"]), array["dtype"]).reshape(array["shape"])


def test_a_pair_of_locks_keeps_the_exact_numbers_of_all_heads() -> None:
    attention = picture_attention()
    grid = HeadGrid(attention, tokens=[("query", 3)])
    assert on_page(grid, "rows") is None
    grid.tokens = [("query", 3), ("key", 5)]
    rows = on_page(grid, "rows")
    np.testing.assert_array_equal(array(rows["values"]), attention.weights()[:, :, 3])
    assert on_page(grid, "thumbnails")["row"]["of"] == 3


def test_without_a_first_query_the_row_is_the_mean_of_all() -> None:
    attention = picture_attention()
    axis = attention.stacks["self"].query
    patches = replace(axis, special=("",) * len(axis))
    other = Attention.from_weights(attention.weights(), patches, images=attention.images)
    # All tokens are patches but the first, which is a word.
    values = painted_values(other, "self", "tokens", "weights", ("query", None))
    np.testing.assert_allclose(values, other.weights().mean(axis=2), rtol=1e-6)
    assert painted_token(other, "self", "tokens", []) == ("query", 0)
    placed = Attention.from_weights(
        np.full((1, 1, 2, 2), 0.5),
        ["a", "b"],
        places=[Box(0, 0, 0, 40, 40), Box(0, 40, 0, 80, 40)],
        images=attention.images,
    )
    assert painted_token(placed, "self", "tokens", []) == ("query", None)
    row = on_page(HeadGrid(placed), "thumbnails")["row"]
    assert row["of"] is None
    assert_close(row, np.full((1, 1, 2), 0.5, np.float32))


def test_texts_keep_their_maps_and_refuse_places() -> None:
    text = Attention.from_weights(np.full((1, 1, 2, 2), 0.5), ["a", "b"])
    with pytest.raises(
        traitlets.TraitError, match=naming("'thumbnail'", "'places'", "Attention.from_weights")
    ):
        HeadGrid(text, thumbnail="places")
    grid = HeadGrid(text)
    assert on_page(grid, "thumbnails")["row"] is None
    assert on_page(grid, "placed_on") == ""
    grid.attention = picture_attention()
    assert on_page(grid, "thumbnails")["row"] is not None
    grid.thumbnail = "places"
    grid.attention = text
    assert grid.thumbnail is None
    assert on_page(grid, "thumbnails")["row"] is None


def test_sounds_show_maps_until_a_reader_wants_the_time_line() -> None:
    grid = HeadGrid(sound_attention())
    assert on_page(grid, "placed_on") == "sounds"
    assert on_page(grid, "thumbnails")["row"] is None
    from_page(grid, {"thumbnail": "places", "tokens": [("query", 1)]})
    assert_close(on_page(grid, "thumbnails")["row"], sound_attention().weights()[:, :, 1])
    assert on_page(grid, "media")["sounds"] == [{"seconds": 1.0}]


def test_differences_between_pictures_of_one_layout_are_signed() -> None:
    first, second = picture_attention(), picture_attention(1)
    grid = HeadGrid(first, versus=second, tokens=[("query", 4)])
    thumbnails = on_page(grid, "thumbnails")
    difference = (first.weights() - second.weights())[:, :, 4]
    levels = array(thumbnails["row"]["values"]).astype(np.float32) - 128
    assert (np.sign(levels) * np.sign(difference) >= 0).all()
    largest = np.abs(difference).max(axis=-1)
    np.testing.assert_allclose(array(thumbnails["row"]["largest"]), largest, rtol=1e-6)
    other = picture_attention(registers=1)
    grid = HeadGrid(first, versus=other)
    assert on_page(grid, "thumbnails")["row"] is None


def test_a_linked_view_locks_the_token_of_all_heads() -> None:
    attention = picture_attention()
    grid, view = HeadGrid(attention), HeadView(attention)
    link_figures(grid, view)
    view.tokens = [("query", 9)]
    assert on_page(grid, "thumbnails")["row"]["of"] == 9


def test_a_long_input_paints_the_exact_row() -> None:
    side = 40
    places = [None, *(Box(0, c, r, c + 1, r + 1) for r, c in product(range(side), repeat=2))]
    n = len(places)
    queries, keys = np.random.default_rng(0).normal(size=(2, 1, 2, n, 4)).astype(np.float32)
    names = ["[CLS]", *map(str, range(n - 1))]
    long = Attention.from_queries_keys(queries, keys, scale=0.5, tokens=names)
    stack = long.stacks["self"]
    axis = replace(stack.key, is_line=False, places=tuple(places))
    long.head_maps.stacks["self"] = replace(stack, query=axis, key=axis)
    long.media = Media(pictures=(np.zeros((side, side, 3), np.uint8),))
    assert long.is_long
    grid = HeadGrid(long, tokens=[("query", 700)])
    exact = long.rows(0, 1, 700)
    row = on_page(grid, "thumbnails")["row"]
    np.testing.assert_allclose(array(row["largest"])[0, 1], exact.max(), rtol=1e-5)
    np.testing.assert_allclose(decoded(row)[0, 1], exact, atol=exact.max() / 200)


def test_bytes_of_rows_are_masked_or_the_root_of_a_share() -> None:
    levels, largest = rounded_rows(np.array([[[np.nan, -0.5, 0.0, 0.125]]], "f4"), signed=True)
    assert levels.tolist() == [[[0, 1, 128, 192]]]
    assert largest.tolist() == [[0.5]]


def test_pictures_and_pages_of_the_grid_contain_no_picture_of_the_input(tmp_path: Path) -> None:
    grid = HeadGrid(picture_attention(registers=1), tokens=[("query", 4)])
    caption = grid.caption.text()
    assert "cells: where “r0c2” looks, laid out as the picture" in caption
    assert "contains the picture" not in caption
    svg = grid.save(tmp_path / "grid.svg").read_text("utf-8")
    assert svg.count("<image") == 2
    table = grid.figure().table
    assert table["from → to"].str.startswith("r0c2 →").all()
    page = grid.save(tmp_path / "grid.html").read_text("utf-8")
    assert "contains 1 picture" not in page
