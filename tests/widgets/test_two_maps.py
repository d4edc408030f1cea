"""Two attentions in one figure: which tokens belong together, what differs, what the page gets."""

from __future__ import annotations

import json
import re
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
import torch
import traitlets
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnwidget import (
    Attention,
    AttentionModel,
    HeadGrid,
    HeadView,
    explore,
    link_figures,
    load_model,
)
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.kernels.divergence import js_divergences
from attnwidget.kernels.pooling import farthest_pool, quantize_signed
from attnwidget.text.alignment import SharedAxis, common_subsequence
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.explorer.opening import opening_of_change
from attnwidget.widgets.pages.encoding import as_json_value
from attnwidget.widgets.wire.values import in_unit
from fixtures import zoo
from fixtures.recording import from_page, on_page
from fixtures.shown_code import shown_by
from fixtures.svg_picture import texts
from fixtures.vocabularies import word_tokenizer
from refusals import naming

ONE = "The cat sits on the mat."
OTHER = "The cats sit on the mat, today."


@pytest.fixture(scope="module")
def tuned() -> AttentionModel:
    return load_model("attnwidget/genre")


@pytest.fixture
def pair(model: AttentionModel) -> tuple[Attention, Attention]:
    return model.attend(ONE), model.attend(OTHER)


def floats(wire: dict) -> NDArray[np.float32]:
    return np.frombuffer(bytes(wire["view"]), "<f4").reshape(wire["shape"])


def longest(a: str, b: str) -> int:
    """By trying all subsequences."""
    for count in range(min(len(a), len(b)), 0, -1):
        if {*combinations(a, count)} & {*combinations(b, count)}:
            return count
    return 0


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_what_two_texts_have_in_common_is_as_long_as_can_be(a: str, b: str) -> None:
    pairs = common_subsequence(a, b)
    assert len(pairs) == longest(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(pairs))


@given(st.lists(st.sampled_from("abc"), min_size=1), st.lists(st.sampled_from("abc"), min_size=1))
def test_every_token_of_both_is_on_the_common_axis_once(a: list[str], b: list[str]) -> None:
    axis = SharedAxis(Tokens.plain(a), Tokens.plain(b))
    for own, places in zip((a, b), axis.places, strict=True):
        assert places == sorted(set(places)) and [axis.tokens.text[i] for i in places] == own
    first, second = axis.places
    assert {*first} | {*second} == {*range(len(axis.tokens))}
    assert len({*first} & {*second}) == len(axis.pairs)
    assert axis.alone == (sorted({*first} - {*second}), sorted({*second} - {*first}))


def test_special_tokens_of_two_vocabularies_belong_together() -> None:
    first, second = (Tokens.plain(text.split()) for text in ("[CLS] hi [SEP]", "<s> hi </s>"))
    axis = SharedAxis(first, second)
    assert axis.is_same and axis.tokens.text == ("[CLS]", "hi", "[SEP]")


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_the_page_gets_both_maps_on_common_axes(
    pair: tuple[Attention, Attention], unit: str
) -> None:
    view = HeadView(pair[0], versus=pair[1], layer=2, head=3, unit=unit)
    view.open()
    axes = on_page(view, "axes")
    maps = floats(on_page(view, "maps")["values"])
    text = axes["query"]["text"]
    assert text == ["[CLS]", "the", "cat", "sits", "cats", "sit", *text[6:]]
    assert axes["query"]["alone"] == axes["key"]["alone"] == ([2, 3], [4, 5, 9, 10])
    for side, attention in enumerate(pair):
        at = [i for i in range(len(text)) if i not in axes["query"]["alone"][1 - side]]
        own = in_unit(attention, unit).map("weights", 2, 3)
        assert np.array_equal(maps[side][np.ix_(at, at)], own)
        assert np.isnan(maps[side]).sum() == maps[side].size - own.size
    difference = view.difference
    assert difference is not None
    assert np.array_equal(difference, maps[0] - maps[1], equal_nan=True)
    assert on_page(view, "tile") is None and on_page(view, "compared") == [
        ONE,
        OTHER,
    ]
    view.close()


@pytest.mark.slow
def test_two_attentions_of_one_text_share_its_axes(
    model: AttentionModel, tuned: AttentionModel
) -> None:
    attention = model.attend(ONE)
    other = tuned.attend(ONE)
    view = HeadView(attention, versus=other, layer=5, head=4)
    view.open()
    assert on_page(view, "axes")["query"]["text"] == attention.tokens
    assert on_page(view, "axes")["query"]["alone"] == ([], [])
    assert np.array_equal(view.difference, attention.weights(5, 4) - other.weights(5, 4))
    assert on_page(view, "compared") == [attention.model_name, other.model_name]
    assert 'versus=load_model("attnwidget/genre").attend("The cat sits on the mat.")' in view.code()
    exec(view.code())
    view.versus = None
    assert (
        on_page(view, "compared") == []
        and on_page(view, "maps") is None
        and on_page(view, "tile")["heads"][0].head == 4
    )
    view.close()


def test_a_mask_stays_a_mask() -> None:
    llama = load_model(zoo.build("llama"), word_tokenizer(template=False))
    view = HeadView(llama.attend("w1 w2 w3"), 0, 0, versus=llama.attend("w1 w4 w3"))
    masked = np.isnan(view.difference)
    # w1, w2 (first alone), w4 (second alone), w3
    assert masked.tolist() == [[0, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]]


def test_thumbnails_differ_between_the_tokens_that_both_have(
    pair: tuple[Attention, Attention],
) -> None:
    grid = HeadGrid(pair[0], versus=pair[1], hidden=["cls"])
    grid.open()
    rows = [[1, 4, 5, 6, 7, 8], [1, 4, 5, 6, 9, 10]]  # the on the mat . [SEP]
    maps = [
        torch.from_numpy(one.weights())[..., at, :][..., at]
        for one, at in zip(pair, rows, strict=True)
    ]
    expected, maxima = quantize_signed(farthest_pool(maps[0] - maps[1]))
    sent = on_page(grid, "thumbnails")
    assert bytes(sent["values"]["view"]) == expected.numpy().tobytes()
    assert np.array_equal(floats(sent["maxima"]), maxima.numpy())
    assert sent["common"] == [6, 6] and sent["signed"] and sent["versus"] == "other"
    layer = 3
    head = 7
    at = (maps[0][layer, head] - maps[1][layer, head]).abs().argmax().item()
    strongest = np.frombuffer(bytes(sent["strongest"]["view"]), "<i4").reshape(6, 12, 2)
    assert strongest[layer, head].tolist() == [rows[0][at // 6], rows[0][at % 6]]
    for comparison_part, shown in (("first", pair[0]), ("second", pair[1])):
        from_page(grid, {"comparison_part": comparison_part})
        assert (
            bytes(on_page(grid, "thumbnails")["values"]["view"])
            == draw_thumbnails(shown, hidden=["cls"]).values.tobytes()
        )
        assert on_page(grid, "axes")["query"]["text"] == shown.tokens
    grid.close()


def test_change_is_a_metric_while_there_is_something_to_compare(
    pair: tuple[Attention, Attention], tuned: AttentionModel
) -> None:
    grid = HeadGrid(pair[0], versus=pair[1])
    grid.open()
    both = [np.zeros((6, 12, 7, 13), np.float32) for _ in pair]
    at = ([0, 1, 2, 3, 6, 7, 8, 11, 12], [0, 1, *range(4, 13)])
    rows = ([0, 1, 4, 5, 6, 7, 8], [0, 1, 4, 5, 6, 9, 10])
    for values, attention, columns, own in zip(both, pair, at, rows, strict=True):
        values[..., columns] = attention.weights()[:, :, own]
    first, second = (torch.from_numpy(values[4, 2]) for values in both)
    expected = js_divergences(torch.stack([first, second]))[0, 1] / 7
    assert np.isclose(grid._changes("self")[4, 2], expected, atol=1e-7)
    assert grid.metric == "change" and grid.similar((4, 2), 3)
    grid.sort = "all"
    grid.filter = (0.1, 1.0)
    changes = grid._changes("self")
    assert len(grid.passing) == int((changes >= np.float32(0.1)).sum())
    # Another text of the same model is compared with the same one.
    grid.attention = tuned.attend(OTHER)
    assert not np.allclose(grid._changes("self"), changes)
    grid.versus = None
    assert (
        grid.metric is None and on_page(grid, "metrics") is None and on_page(grid, "compared") == []
    )
    grid.close()


def test_heads_switched_off_are_compared_with_the_intact_ones(model: AttentionModel) -> None:
    view = HeadView(model.attend(ONE), 3, 5, disabled=[(1, 2)], versus="intact")
    view.open()
    assert on_page(view, "compared") == ["without L1 H2 (uniform)", "intact"]
    intact = view.attention.intact
    assert np.array_equal(view.difference, view.attention.weights(3, 5) - intact.weights(3, 5))
    view.disabled = []
    assert on_page(view, "compared") == [] and on_page(view, "tile") is not None
    view.close()


def test_it_opens_on_the_head_that_changed_most(pair: tuple[Attention, Attention]) -> None:
    changes = pair[0].changes(pair[1])
    (most,) = np.argwhere(changes == changes.max()).tolist()
    assert HeadView(pair[0], versus=pair[1]).selected == [(*most, "self")]
    assert HeadView(pair[0], versus=pair[1], layer=4).selected == [(4, 0, "self")]
    assert HeadView(pair[0], versus=pair[1], selected=[]).selected == []
    # Without a difference there is no such head.
    assert HeadView(pair[0], versus=pair[0]).selected == [(0, 0, "self")]


def test_tokens_are_linked_only_where_axes_are_the_same(
    pair: tuple[Attention, Attention], tuned: AttentionModel
) -> None:
    single = HeadGrid(pair[0])
    same = HeadView(pair[0], versus=tuned.attend(ONE))
    differs = HeadView(pair[0], versus=pair[1])
    with link_figures(single, same), link_figures(single, differs):
        single.tokens = [("query", 3)]
        assert same.tokens == [("query", 3)] and differs.tokens == []
        differs.tokens = [("query", 5)]
        assert single.tokens == [("query", 3)]
        differs.selected = [(4, 4)]
        assert single.head == same.head == differs.head


def test_what_cannot_be_compared_is_refused(
    model: AttentionModel, pair: tuple[Attention, Attention]
) -> None:
    small = load_model(zoo.build("bert"), word_tokenizer())
    with pytest.raises(traitlets.TraitError, match=naming("'versus'", "self 6 × 12", "self 3 × 4")):
        HeadView(pair[0], versus=small.attend("w1 w2"))
    with pytest.raises(traitlets.TraitError, match=naming("'versus'", "common")):
        HeadGrid(pair[0], versus=model.attend("xyz"))
    with pytest.raises(traitlets.TraitError, match=naming("'versus'", "'genre'", '"intact"')):
        HeadGrid(pair[0], versus="genre")
    with pytest.raises(
        traitlets.TraitError, match=naming("'versus'", "'The cats sit.'", '"intact"')
    ):
        HeadView(pair[0], versus="The cats sit.")
    grid = HeadGrid(*pair[:1], versus=pair[1])
    grid.open()
    from_page(grid, {"versus": "other"})
    assert grid.versus is pair[1]
    # What is shown next has nothing in common with it.
    grid.attention = small.attend("w1 w2")
    assert grid.versus is None and not on_page(grid, "thumbnails")["signed"]
    grid.close()


def test_pictures_and_tables_name_the_two(pair: tuple[Attention, Attention]) -> None:
    view = HeadView(pair[0], versus=pair[1], layer=2, head=3, mode="matrix", tokens=[("query", 1)])
    most = np.nanmax(np.abs(view.difference))
    points = f"{100 * most:.0f}\u00a0points"
    assert f"the difference −{points} to +{points}" in view.caption.scale
    table = view.figure().table
    assert list(table.columns) == ["from", "to", "A", "B", "A − B"]
    where = np.nanargmax(np.abs(view.difference[1]))
    assert table.iloc[0]["to"] == on_page(view, "axes")["key"]["text"][where]
    written = " ".join(texts(view.figure()))
    assert [written.count(name) for name in ("A: The cat", "B: The cats", "small BERT")] == [
        1,
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (
            ("The men said that he would not leave the old ship.", "The men left."),
            ("The men said that he would not leave the old…", "The men left."),
        ),
        (("Captain Léa left.", "Captain Léa slept."), ("Captain Léa left.", "Captain Léa slept.")),
        (
            ("They said that the captain of the long ship told his men.",) * 2,
            ("first", "second"),
        ),
        (
            (
                "They said that the captain of the long ship told his men.",
                "They said that the captain of the long ship told her men.",
            ),
            ("… ship told his men.", "… ship told her men."),
        ),
    ],
)
def test_long_texts_are_named_by_whole_words_with_their_difference(
    model: AttentionModel, texts: tuple[str, str], names: tuple[str, str]
) -> None:
    first, second = map(model.attend, texts)
    view = HeadView(first, 1, 3, versus=second)
    assert "A: {} · B: {}".format(*names) in view.caption.notes


def test_a_compared_grid_says_that_it_has_no_cells_of_a_locked_word(
    pair: tuple[Attention, Attention],
) -> None:
    first, second = pair
    note = "complete maps"
    assert note in HeadGrid(first, versus=second, tokens=[("query", 2)]).caption.text()
    assert note not in HeadGrid(first, versus=second).caption.text()
    assert note not in HeadGrid(first, tokens=[("query", 2)]).caption.text()


@pytest.mark.slow
def test_a_page_holds_both(pair: tuple[Attention, Attention], tmp_path) -> None:
    for widget in (HeadView(pair[0], 2, 3, versus=pair[1]), HeadGrid(pair[0], versus=pair[1])):
        page = widget.save(tmp_path / f"{widget.kind}.html").read_text("utf-8")
        script = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S)
        held = json.loads(script[1])["held"]
        if widget.kind == "head_view":
            first, second = held["two"]
            assert [of["axes"]["unit"] for of in first] == ["tokens", "words"]
            assert first[0]["shape"] == second[0]["shape"] == [6, 12, 13, 13]
        else:
            by_token = filter(in_tokens, held["thumbnails"])
            drawn = {one["thumbnails"]["comparison_part"]: one for one in by_token}
            assert drawn.keys() == {"difference", "first", "second"}
            for comparison_part, count in (("first", 9), ("second", 11)):
                shape = drawn[comparison_part]["thumbnails"]["values"]["shape"]
                assert shape == [6, 12, count, count]
                assert len(drawn[comparison_part]["axes"]["query"]["text"]) == count
    # Nor does a page of what switching off changed show one model under the other's name.
    grid = HeadGrid(pair[0], disabled=[(1, 2)], versus="intact")
    page = grid.save(tmp_path / "off.html").read_text("utf-8")
    script = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S)
    held = json.loads(script[1])["held"]["thumbnails"]
    first, second = (
        next(
            one
            for one in held
            if in_tokens(one) and one["thumbnails"]["comparison_part"] == comparison_part
        )
        for comparison_part in ("first", "second")
    )
    assert first["thumbnails"]["values"] != second["thumbnails"]["values"]
    grid.versus = None
    assert as_json_value(grid._thumbnails["values"]) == first["thumbnails"]["values"]


def in_tokens(drawn: dict[str, Any]) -> bool:
    return drawn["thumbnails"]["unit"] == "tokens"


def test_a_picture_has_the_maps_that_the_page_has(pair: tuple[Attention, Attention]) -> None:
    view = HeadView(pair[0], versus=pair[1], layer=2, head=1)
    a, b, difference = f"A: {ONE}", f"B: {OTHER}", "A − B"
    end = next(text for text in texts(view.figure()) if re.match(r"\+[\d.]+\u00a0points", text))
    over = f"{difference}, ±{end[1:]}"  # its range, which the colors of a difference state too
    expected = {
        "all": [a, b, over, difference],
        "difference": [over, difference],
        "first": [a],
        "second": [b],
    }
    for comparison_part, headings in expected.items():
        from_page(view, {"comparison_part": comparison_part})
        drawn = texts(view.figure())
        assert [text for text in drawn if text in {a, b, over, difference}] == headings
    with pytest.raises(traitlets.TraitError, match=naming("'comparison_part'", "'both'")):
        view.comparison_part = "both"


@pytest.mark.slow
def test_the_explorer_reads_both(model: AttentionModel, tuned: AttentionModel) -> None:
    explorer = explore(model, example="pronouns", versus=tuned, treebank=False)
    # It opens on the link that differs most.
    changes = explorer.attention.changes(explorer.view.versus)
    opening = opening_of_change(explorer.attention, explorer.view.versus, changes, "self")
    assert opening.stands_out and explorer.head == opening.head
    assert explorer.tokens == explorer.view.tokens == list(opening.tokens)
    explorer.close()
    explorer = explore(model, ONE, versus=tuned, treebank=False)
    try:
        assert explorer.wait()
        assert explorer.grid.metric == "change" and "entropy" in explorer.grid.metrics["self"]
        explorer.text = "She ran home."
        assert (
            explorer.view._other().tokens
            == explorer.grid._other().tokens
            == [
                "[CLS]",
                "she",
                "ran",
                "home",
                ".",
                "[SEP]",
            ]
        )
        assert 'versus=load_model("attnwidget/genre")' in explorer.code()
        again = shown_by(explorer.code())
        assert again.view._other().model_name == tuned.name
        again.close()
    finally:
        explorer.close()


@pytest.mark.slow
def test_the_explorer_compares_two_texts(model: AttentionModel) -> None:
    explorer = explore(model, ONE, versus_text=OTHER, treebank=False)
    try:
        assert on_page(explorer.view, "axes")["query"]["alone"] == ([2, 3], [4, 5, 9, 10])
        # The difference comes first, and all three are asked for.
        assert explorer.view.comparison_part == explorer.grid.comparison_part == "difference"
        assert "comparison_part" not in explorer.code()
        explorer.view.comparison_part = "all"
        assert 'explorer.view.comparison_part = "all"' in explorer.code()
        assert f'versus_text="{OTHER}"' in explorer.code()
        again = shown_by(explorer.code())
        assert (again.view.comparison_part, again.versus_text) == ("all", OTHER)
        again.close()
        with pytest.raises(ValueError, match=naming("common token", "[CLS] x ##y ##z [SEP]")):
            explorer.text = "xyz"
        assert on_page(explorer, "shown")["text"] == ONE
        explorer.text = ONE
        explorer.versus_text = None
        assert explorer.view.versus is None and not on_page(explorer.grid, "thumbnails")["signed"]
    finally:
        explorer.close()
    with pytest.raises(ValueError, match=naming("common token", "[CLS] x ##y ##z [SEP]")):
        explore(model, ONE, versus_text="xyz")
