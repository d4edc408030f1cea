"""Heads painted on the pictures and sounds that tokens come from."""

from __future__ import annotations

import io
import json
import re
import wave
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets
from numpy.typing import NDArray
from PIL import Image

from attnwidget import Attention, Head, HeadView
from attnwidget.results import Box, Sound, Span
from attnwidget.text.places import Media
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.explorer.opening import opening_of
from attnwidget.widgets.shared.places import first_query, media_to_wire, places_to_wire
from attnwidget.words.speech import aligning_head
from fixtures.pictures import PICTURE, picture_attention, sound_attention
from fixtures.recording import from_page, on_page, updates
from references.formula_attention import FormulaAttention
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")


def floats(wire: dict[str, Any]) -> NDArray[np.float32]:
    return np.frombuffer(bytes(wire["view"]), "<f4").reshape(wire["shape"])


def test_a_view_opens_on_the_picture_and_sends_it_once() -> None:
    view = HeadView(picture_attention())
    assert view.mode == "places"
    places = on_page(view, "places")
    assert (places["stack"], places["unit"], places["start"]) == ("self", "tokens", 0)
    assert floats(places["key"]).shape == (17, 5)
    assert np.isnan(floats(places["key"])[0]).all()
    assert floats(places["query"])[6].tolist() == [0, 20, 10, 40, 20]
    (picture,) = on_page(view, "media")["pictures"]
    file = Image.open(io.BytesIO(bytes(picture["file"]["view"])))
    assert (file.format, file.size) == ("PNG", (80, 40))
    assert (np.asarray(file.convert("RGB")) == PICTURE).all()
    before = len(updates(view))
    view.selected = [(1, 2)]
    view.tokens = [("query", 3)]
    sent = [name for state, _ in updates(view)[before:] for name in state]
    assert "_tile" in sent
    assert not {"_media", "_places"} & set(sent)


def test_other_modes_get_no_picture() -> None:
    view = HeadView(picture_attention(), mode="matrix")
    assert view.mode == "matrix"
    assert on_page(view, "has_places")
    assert on_page(view, "media") is None
    assert on_page(view, "places") is None
    from_page(view, {"mode": "places"})
    assert on_page(view, "media")["pictures"][0]["width"] == 80


def test_texts_are_refused_with_the_next_step() -> None:
    text = Attention.from_weights(np.full((1, 1, 2, 2), 0.5), ["a", "b"])
    with pytest.raises(
        traitlets.TraitError, match=naming("'mode'", "'places'", "Attention.from_weights")
    ):
        HeadView(text, mode="places")
    view = HeadView(text)
    assert (view.mode, on_page(view, "has_places")) == ("lines", False)
    view.attention = picture_attention()
    assert view.mode == "places"
    view.attention = text
    assert view.mode == "lines"


def test_a_chosen_mode_stays_with_another_picture() -> None:
    view = HeadView(picture_attention(), mode="lines")
    view.attention = picture_attention(1)
    assert view.mode == "lines"


def test_the_first_row_is_that_of_cls_or_of_the_last_word() -> None:
    patch = Box(0, 0, 0, 8, 8)

    def axis(special: list[str], places: list[Box | None]) -> Tokens:
        names = tuple(map(str, range(len(special))))
        return Tokens(
            names,
            names,
            (),
            tuple(special),
            (0,) * len(names),
            tuple(range(len(names))),
            places=tuple(places),
        )

    words = axis(["first", "", "", "other"], [None, patch, None, None])
    patches = axis(["", ""], [patch, patch])
    assert first_query(axis(["register", "cls"], [None, None]), words, None) == 1
    assert first_query(words, words, 2) == 1
    assert first_query(words, words, None) == 2
    assert first_query(patches, patches, None) is None
    assert first_query(Tokens.plain(["a", "b"]), patches, None) is None


def test_a_large_picture_is_a_jpeg_of_at_most_1024_pixels() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (1500, 3000, 3), dtype=np.uint8)
    (wire,) = media_to_wire(Media(pictures=(noise,)))["pictures"]
    file = Image.open(io.BytesIO(bytes(wire["file"]["view"])))
    assert (file.format, file.size) == ("JPEG", (1024, 512))
    assert (wire["width"], wire["height"], wire["across"]) == (3000, 1500, 1024)


def test_a_sound_has_a_waveform_and_a_file_of_at_most_60_seconds() -> None:
    rate = 48_000
    samples = np.sin(np.arange(70 * rate, dtype=np.float32) / 50)
    (wire,) = media_to_wire(Media(sounds=(Sound(samples, rate),)))["sounds"]
    waveform = floats(wire["waveform"])
    assert waveform.shape == (2048, 2)
    assert waveform[:, 0].min() > 0.9
    assert waveform[:, 1].max() < -0.9
    with wave.open(io.BytesIO(bytes(wire["file"]["view"]))) as file:
        assert (file.getsampwidth(), file.getframerate()) == (2, 24_000)
        assert file.getnframes() == 60 * 24_000
    assert (wire["seconds"], wire["played"]) == (70, 60)


def test_spans_are_numbered_after_the_pictures() -> None:
    wire = places_to_wire([Box(1, 0, 0, 8, 8), Span(0, 0.5, 1.0), Span(1, 0, 1, 100, 200), None], 2)
    assert wire is not None
    rows = floats(wire)
    assert rows[:, 0].tolist()[:3] == [1, 2, 3]
    assert rows[1, [1, 3]].tolist() == [0.5, 1.0]
    assert np.isnan(rows[1, [2, 4]]).all()
    assert rows[2, 1:].tolist() == [0, 100, 1, 200]
    assert places_to_wire([None, None], 0) is None


def test_a_picture_of_the_figure_has_the_shares_and_a_table_of_places(tmp_path: Path) -> None:
    view = HeadView(picture_attention(registers=2), layer=1, tokens=[("query", 5)])
    figure = view.figure()
    row = view.weights[5]
    table = figure.table
    assert list(table.columns) == ["token", "kind", "left", "top", "right", "bottom", "weight"]
    assert len(table) == 19
    best = int(np.argmax(row))
    assert table["token"][0] == view.attention.tokens[best]
    assert {*table["kind"]} == {"cls", "register", "patch"}
    patch = table[table["token"] == "r1c2"].iloc[0]
    assert [patch[edge] for edge in ("left", "top", "right", "bottom")] == [40, 10, 60, 20]
    svg = view.save(tmp_path / "figure.svg").read_text("utf-8")
    texts = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    share = f"{100 * row[3:].sum():.0f}\u00a0% in the picture"
    assert share in texts.replace("&#160;", "\u00a0")
    assert "registers" in texts
    assert svg.count("data:image/png;base64,") >= 2
    for suffix in ("png", "pdf"):
        assert view.save(tmp_path / f"figure.{suffix}").stat().st_size > 1000


def test_the_table_of_a_column_begins_with_the_largest_weight() -> None:
    view = HeadView(picture_attention(), tokens=[("key", 6)])
    column = view.weights[:, 6]
    table = view.figure().table
    assert table["token"][0] == view.attention.tokens[int(np.argmax(column))]


def test_hidden_tokens_stand_beside_the_picture() -> None:
    view = HeadView(picture_attention(), hidden=["cls"])
    assert "[CLS]" in [*view.figure().table["token"]]


def test_a_page_holds_the_picture_once_and_says_so(tmp_path: Path) -> None:
    view = HeadView(picture_attention())
    text = view.save(tmp_path / "page.html").read_text("utf-8")
    found = re.search(r'id="attnw-data">(.*?)</script>', text)
    assert found
    (figure,) = json.loads(found[1])["figures"]
    assert len(figure["state"]["_media"]["pictures"]) == 1
    assert [of["unit"] for of in figure["own"]["places"]] == ["tokens", "words"]
    assert "contains 1 picture of the input" in text
    view.mode = "matrix"
    without = view.save(tmp_path / "matrix.html").read_text("utf-8")
    assert "contains 1 picture" not in without
    assert '"_media": null' in without


def test_two_attentions_over_one_picture_are_compared_on_it() -> None:
    view = HeadView(picture_attention(0), versus=picture_attention(1))
    assert view.mode == "places"
    assert floats(on_page(view, "places")["key"]).shape == (17, 5)
    assert list(view.figure().table.columns)[-3:] != ["weight"] * 3


def long_picture(side: int = 70) -> FormulaAttention:
    """Causal attention of <s>, side x side patches, and ten words."""
    long = FormulaAttention(1 + side * side + 10)
    stack = long.stacks["self"]
    boxes = [Box(0, c, r, c + 1, r + 1) for r, c in product(range(side), repeat=2)]
    axis = replace(stack.key, is_line=False, places=(None, *boxes, *[None] * 10))
    long.stacks["self"] = replace(stack, query=axis, key=axis)
    long.media = Media(pictures=(np.zeros((side, side, 3), np.uint8),))
    return long


def test_a_locked_row_of_a_long_input_is_exact() -> None:
    long = long_picture()
    n = len(long.tokens)
    assert n > 4900
    view = HeadView(long, 1, 2)
    assert view.mode == "places"
    assert on_page(view, "tile") is None
    exact = on_page(view, "row")
    assert (exact["side"], exact["at"]) == ("query", n - 1)
    view.tokens = [("query", 3000)]
    exact = on_page(view, "row")
    expected = long.value(1, 2, 3000, np.arange(n))
    assert exact["at"] == 3000
    assert np.array_equal(floats(exact["values"])[0], expected, equal_nan=True)
    view.tokens = [("key", 1234)]
    exact = on_page(view, "row")
    assert (exact["side"], exact["at"]) == ("key", 1234)
    column = long.value(1, 2, np.arange(n), 1234)
    assert np.array_equal(floats(exact["values"])[0], column, equal_nan=True)
    table = view.figure().table
    assert len(table) == n
    assert table["token"][0].startswith("needle") or "(" in table["token"][0]


def test_the_mean_row_of_a_long_input_is_exact() -> None:
    long = long_picture(side=40)
    stack = long.stacks["self"]
    patches = replace(stack.key, places=(*stack.key.places[:-10], *[Box(0, 0, 0, 1, 1)] * 10))
    long.stacks["self"] = replace(stack, query=patches, key=patches)
    view = HeadView(long, 0, 1)
    exact = on_page(view, "row")
    assert exact["at"] is None
    places = np.arange(len(long.tokens))
    whole = np.nan_to_num(long.value(0, 1, places[:, None], places[None]))
    np.testing.assert_allclose(floats(exact["values"])[0], whole.mean(axis=0), rtol=1e-5)


def test_several_heads_of_a_long_input_have_a_row_each() -> None:
    long = long_picture(side=40)
    heads = [(0, 1), (1, 3)]
    view = HeadView(long, selected=heads, arrangement="beside", tokens=[("query", 99)])
    values = floats(on_page(view, "row")["values"])
    places = np.arange(len(long.tokens))
    for row, (layer, head) in zip(values, heads, strict=True):
        assert np.array_equal(row, long.value(layer, head, 99, places), equal_nan=True)


def test_a_long_page_says_that_it_holds_one_row_and_the_picture(tmp_path: Path) -> None:
    text = HeadView(long_picture(side=40)).save(tmp_path / "long.html").read_text("utf-8")
    assert "one row or column of it" in text
    assert "contains 1 picture of the input" in text


def test_lines_of_a_long_picture_have_their_tile_as_before() -> None:
    view = HeadView(long_picture(side=40), mode="matrix", hidden=["first"])
    assert on_page(view, "tile") is not None
    assert on_page(view, "row") is None
    assert on_page(view, "maps")["hidden"] == ["first"]
    view.mode = "places"
    assert on_page(view, "tile") is None
    assert on_page(view, "maps")["hidden"] == []


def test_words_are_painted_on_the_sound_without_its_padding(tmp_path: Path) -> None:
    attention = sound_attention()
    view = HeadView(attention, stack="cross", tokens=[("query", 1)])
    assert view.mode == "places"
    assert on_page(view, "places")["query"] is None
    row = view.weights[1]
    table = view.figure().table
    assert list(table.columns) == ["token", "kind", "start", "end", "weight"]
    best = int(np.argmax(row))
    assert table["start"][0] == pytest.approx(best / 10)
    assert {*table["kind"]} == {"span", "padding"}
    svg = view.save(tmp_path / "sound.svg").read_text("utf-8")
    texts = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    share = f"{100 * row[10:].sum():.1f} % on padding"
    assert share in re.sub(r"\s+", " ", texts.replace("&#160;", " "))
    assert "1 s" in texts
    assert "the" in texts.split()


def test_a_query_of_another_axis_starts_with_the_mean() -> None:
    view = HeadView(sound_attention(), stack="cross")
    assert on_page(view, "places")["start"] is None
    mean = view.weights.mean(axis=0)
    assert view.figure().table["token"][0] == f"{np.argmax(mean) / 10:.1f}"


def test_rows_over_a_sound_are_labeled_by_what_they_write() -> None:
    view = HeadView(sound_attention(), tokens=[("query", 0)])
    assert on_page(view, "places")["writes"]
    view.unit = "words"
    assert not on_page(view, "places")["writes"]
    assert not on_page(HeadView(picture_attention()), "places")["writes"]


def speech(n_words: int = 3) -> Attention:
    """Two cross-attention heads, of which the second one follows the words of a sound."""
    words = [f"word{i}" for i in range(n_words)]
    spans = [Span(0, i / 50, (i + 1) / 50) for i in range(20 * n_words)]
    weights = np.full((2, n_words + 1, len(spans)), 0.01)
    for row in range(n_words):
        weights[1, row, 20 * row + 8 : 20 * row + 12] = 1
    return Attention.from_weights(
        (weights / weights.sum(-1, keepdims=True))[None],
        ["<s>", *words],
        key_tokens=[str(i) for i in range(len(spans))],
        stack="cross",
        places=spans,
        audio=[Sound(np.zeros(len(spans) * 320, np.float32), 16_000)],
    )


def test_a_transcript_is_a_staircase_of_words_over_time() -> None:
    attention = speech()
    view = HeadView(attention, 0, 1, stack="cross")
    stairs = view._staircase
    assert stairs["words"] == ["word0", "word1", "word2"] and stairs["rows"] == [0, 1, 2]
    assert (stairs["layer"], stairs["head"], stairs["step"]) == (0, 1, 0.08)
    values = floats(stairs["values"])
    assert values.shape == (3, 15)
    # Each word is looked at in the middle of its 0.4 s; weights within 80 ms are added.
    assert values.argmax(axis=1).tolist() == [2, 7, 12]
    np.testing.assert_allclose(values.sum(axis=1), attention.weights(0, 1)[:3].sum(-1), rtol=1e-5)
    assert aligning_head(attention) == Head(0, 1, "cross")
    assert opening_of(attention).head == Head(0, 1, "cross")
    assert opening_of(attention).tokens == ()


def test_only_weights_of_one_attention_to_a_sound_are_a_staircase() -> None:
    attention = speech()
    view = HeadView(attention, 0, 1, stack="cross")
    view.mode = "matrix"
    assert view._staircase is None
    assert HeadView(picture_attention())._staircase is None
    assert HeadView(speech(81), 0, 1, stack="cross")._staircase is None
    assert HeadView(attention, 0, 1, stack="cross", versus=speech())._staircase is None
    words = HeadView(attention, 0, 1, stack="cross", unit="words")
    assert words._staircase["rows"] == [0, 1, 2]
