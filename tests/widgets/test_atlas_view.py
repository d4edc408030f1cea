"""AtlasView with a recording comm: rows, cards, links, refusals, pictures and saved pages."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets

from attnwidget import (
    AtlasView,
    Attention,
    Head,
    HeadGrid,
    HeadScatter,
    HeadView,
    link_figures,
    load_atlas,
    load_model,
)
from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.demo import demo_atlas
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.atlas_view.card_wire import card_to_wire, example_to_wire
from attnwidget.widgets.atlas_view.head_rows import COLUMNS
from attnwidget.widgets.explorer.widget import Explorer
from fixtures.recording import from_page, on_page, updates
from fixtures.svg_picture import texts
from fixtures.tiers import only_first_is_fast
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return demo_atlas()


def test_it_opens_on_the_strongest_name_with_its_card(atlas: Atlas) -> None:
    view = AtlasView(atlas)
    strongest = atlas.to_frame().sort_values("strength", na_position="first").iloc[-1]
    assert view.selected == [Head(int(strongest["layer"]), int(strongest["head"]))]
    card = on_page(view, "card")
    assert card["name"] == strongest["name"]
    named = card["scores"][card["named_by"]]
    assert named["behavior"] == card["name"]
    assert named["score"] == pytest.approx(strongest["score"], rel=1e-5)
    assert len(on_page(view, "heads")["name"]) == 72
    json.dumps([card, on_page(view, "source")], allow_nan=False)


@pytest.mark.parametrize("column", only_first_is_fast(COLUMNS))
def test_python_and_the_page_agree_on_the_rows(atlas: Atlas, column: str) -> None:
    view = AtlasView(atlas, sort=column)
    for search, descending in (("", True), ("govern", False), ("l1 h", True), ("no such", True)):
        view.search = search
        view.descending = descending
        shown = view.to_frame()
        drawn = view.figure().table
        wanted = [f"L{row.layer} H{row.head}" for row in shown.itertuples()]
        assert drawn["head"].tolist() == wanted
        assert drawn["name"].tolist() == shown["name"].tolist()
        assert drawn["outcome"].tolist() == shown["outcome"].tolist()


def test_a_choice_on_the_page_sends_a_card_and_reaches_linked_figures(atlas: Atlas) -> None:
    positions = np.random.default_rng(0).normal(size=(6, 12, 2))
    view, heads = AtlasView(atlas), HeadScatter.from_positions(positions)
    link_figures(view, heads)
    assert heads.selected == view.selected
    before = len(updates(view))
    from_page(view, {"selected": [[2, 8, "self"]], "layer": 2})
    assert heads.selected == [Head(2, 8)]
    sent = [state for state, _ in updates(view)[before:]]
    assert [state["_card"]["head"] for state in sent if "_card" in state] == [[2, 8, "self"]]
    heads.selected = [(0, 2)]
    assert on_page(view, "card")["head"] == [0, 2, "self"]
    heads.selected = []
    assert on_page(view, "card") is None and "Select a head" in " ".join(texts(view.figure()))
    before = len(updates(view))
    from_page(view, {"search": "det"})
    assert all("_heads" not in state for state, _ in updates(view)[before:])


def test_the_words_of_an_example_are_near_its_ends() -> None:
    words = [f"w{i}" for i in range(90)]
    link_of = ExampleLink(Tokens.plain(words), 0, query=80, key=30, weight=0.25, strength=1.0)
    sent = example_to_wire(link_of)
    assert sent["pieces"][sent["query"]] == " w80" and sent["pieces"][sent["key"]] == " w30"
    assert sent["pieces"].count(" …") == 2 and sent["pieces"][0] == " …"
    assert len(sent["pieces"]) == 16 + 1 + 16 + 16 + 1 + 9 + 2
    own = example_to_wire(replace(link_of, key=80))
    assert own["query"] == own["key"]


@pytest.mark.slow
def test_cards_of_all_heads_are_json(atlas: Atlas) -> None:
    for layer, head in np.ndindex(*atlas.names.shape):
        card = card_to_wire(atlas.card(layer, head))
        assert json.loads(json.dumps(card, allow_nan=False))["name"] == atlas.names[layer, head]
        strengths = [score["score"] - score["control"] for score in card["scores"]]
        assert len(strengths) == len(atlas.card(layer, head).scores)


def test_your_own_text_stands_on_the_card_and_on_its_page(atlas: Atlas) -> None:
    view = AtlasView(atlas, selected="L0 H2")
    assert on_page(view, "card")["in_text"] is None
    view.attention = load_model().attend("The cat sat.")
    in_text = on_page(view, "card")["in_text"]
    assert in_text["predictions"] == 5 and in_text["likelihood"] == ""
    assert [(kind, count, len(links)) for kind, count, links in in_text["kinds"]] == [
        ("right", 5, 2),
        ("wrong", 0, 0),
        ("missed", 0, 0),
    ]
    cards = view.page_part().own["cards"]
    assert cards["L0H2"]["in_text"] == in_text and cards["L0H0"]["in_text"] is None
    json.dumps(cards, allow_nan=False)


def test_wrong_options_are_refused(atlas: Atlas) -> None:
    with pytest.raises(TypeError, match=naming("AtlasView", "dict", "load_atlas")):
        AtlasView({})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=naming("serach", "'search'")):
        AtlasView(atlas, serach="det")
    for options in ({"sort": "auc"}, {"examples": "best"}, {"n_examples": 0}, {"selected": (9, 0)}):
        with pytest.raises(traitlets.TraitError):
            AtlasView(atlas, **options)


def test_an_example_opens_in_linked_figures_with_its_link_locked(atlas: Atlas) -> None:
    attention = load_model().attend("The cat sat.")
    view = AtlasView(atlas, selected=[(2, 8)])
    grid, head_view = HeadGrid(attention), HeadView(attention, hidden=["sep"])
    link_figures(view, grid)
    link_figures(grid, head_view)
    from_page(view, {"example": 1})
    opened = view.example_link
    assert opened == atlas.examples[Head(2, 8)]["strongest"][1]
    assert head_view.attention is grid.attention
    assert head_view.attention.stacks["self"].query.ids == opened.tokens.ids
    assert head_view.tokens == [("query", opened.query), ("key", opened.key)]
    weight = head_view.attention.weights(2, 8)[opened.query, opened.key]
    assert weight == pytest.approx(opened.weight, abs=1e-5)
    shown = head_view.attention
    with_ends = next(
        (head, links)
        for head, kinds in atlas.examples.items()
        for links in [kinds["heaviest"]]
        if links[0].tokens.special[links[0].key] == "sep"
    )
    view.selected = [with_ends[0]]
    assert view.example is None and head_view.attention is shown
    head_view.unit = "words"
    view.examples = "heaviest"
    view.example = 0
    ends = with_ends[1][0]
    groups = ends.tokens.word_groups()
    locked = dict(head_view.tokens)
    assert ends.query in groups[locked["query"]] and ends.key in groups[locked["key"]]
    assert head_view.hidden == []


def test_an_example_that_no_linked_model_can_read_is_refused(atlas: Atlas) -> None:
    view = AtlasView(atlas, selected=[(2, 8)])
    with pytest.raises(
        traitlets.TraitError, match=naming("'example'", "L2 H8", "10 examples", "got 10")
    ):
        view.example = 10
    maps = HeadView(Attention.from_weights(np.full((6, 12, 2, 2), 0.5), ["a", "b"]))
    link_figures(view, maps)
    view.example = 0  # no linked figure has a model: the example is marked
    assert len(maps.attention.tokens) == 2
    other = HeadView(load_model("attnwidget/induction").attend("The cat sat."))
    before = other.attention
    link_figures(view, other, traits=["layer"])
    with pytest.raises(ValueError, match=naming("two-layer Llama", "link", "the atlas describes")):
        view.example = 1
    assert view.example is None and "another vocabulary" in view._refused
    assert other.attention is before


def test_an_explorer_reads_the_text_of_an_example(atlas: Atlas) -> None:
    explorer = Explorer(text="The cat sat.", treebank=False)
    view = AtlasView(atlas, selected=[(1, 8)])
    link_figures(view, explorer)
    for kind in ("strongest", "missed"):
        view.examples = kind
        view.example = 0
        opened = view.example_link
        assert opened is not None and explorer.head == Head(1, 8)
        assert explorer.attention.stacks["self"].query.ids == opened.tokens.ids
        assert explorer.view.attention is explorer.attention
        # The explorer reads between words; the tokens of an example can be pieces of one.
        groups = explorer.attention.stacks["self"].query.word_groups()
        word_of = {token: word for word, group in enumerate(groups) for token in group}
        link_of_words = [("query", word_of[opened.query]), ("key", word_of[opened.key])]
        assert explorer.tokens == explorer.view.tokens == link_of_words
        assert opened.spelt(opened.key) in f"{explorer.text} {explorer.pair}"
    explorer.close()


def test_notes_are_kept_by_the_atlas_and_its_files(atlas: Atlas, tmp_path: Path) -> None:
    atlas = replace(atlas, notes={})
    view = AtlasView(atlas, selected=[(1, 3)])
    view.notes[(1, 3)] = " links pronouns\nto people "
    from_page(view, {"notes": [*map(list, view.notes.pairs()), [[2, 8, "self"], "determiners"]]})
    assert atlas.notes == {Head(1, 3): "links pronouns\nto people", Head(2, 8): "determiners"}
    assert "note: determiners" in repr(atlas.card(2, 8))
    view.search = "determiners"
    assert len(view.to_frame()) == len(view.figure().table) == 1
    written = texts(view.figure())
    assert "Note: links pronouns" in written and "to people" in written
    atlas.save(tmp_path / "atlas.json")
    loaded = load_atlas(tmp_path / "atlas.json")
    assert loaded.notes == atlas.notes
    again = AtlasView(loaded)
    assert dict(again.notes) == atlas.notes
    assert again.code().splitlines()[-1] == "AtlasView(atlas)"
    del again.notes[(2, 8)]
    assert list(loaded.notes) == [Head(1, 3)]
    again.atlas = replace(loaded, notes={Head(0, 0): "another"})
    assert dict(again.notes) == {Head(0, 0): "another"} and list(loaded.notes) == [Head(1, 3)]
    with pytest.raises(traitlets.TraitError, match=naming("'notes'", "L1 H3", "1 to 2000")):
        view.notes[(1, 3)] = "x" * 2001
    assert AtlasView(atlas, notes={(0, 1): "own"}).atlas.notes == {Head(0, 1): "own"}


def test_another_atlas_keeps_what_it_has(atlas: Atlas) -> None:
    view = AtlasView(atlas, selected=[(5, 3)])
    view.open()
    view.atlas = replace(atlas, effects={}, reasons={"effects": "no vocabulary"}, complete=False)
    assert view.selected == [Head(5, 3)]
    assert on_page(view, "card")["effect"] is None
    assert on_page(view, "source")["no_effects"] == "no vocabulary"
    assert "interrupted" in str(view.caption)


def test_the_code_says_what_differs_from_the_default(atlas: Atlas) -> None:
    assert AtlasView(atlas).code().splitlines()[-1] == "AtlasView(atlas)"
    said = AtlasView(atlas, selected=[(2, 8)], search="det").code()
    assert said.splitlines()[-1] == 'AtlasView(atlas, selected=[(2, 8)], search="det")'
    assert "selected=[]" in AtlasView(atlas, selected=[]).code()
    assert repr(AtlasView(atlas, selected=[])).endswith("selected: none)")


def test_a_picture_has_the_table_and_the_evidence(atlas: Atlas) -> None:
    view = AtlasView(atlas, selected=[(2, 8)])
    written = texts(view.figure(width=1200))
    card = atlas.card(2, 8)
    assert "72 of 72 heads, the first 24 are drawn" in written
    assert "L2 H8 · determiner to its noun" in written
    assert "preposition to its noun" in " ".join(written) and "scores" in written
    assert card.effect is not None and card.effect.outcome == "secondary cause"
    assert (
        "losing it hurts: yes, but not clearly more than elsewhere, or than without another head"
        in written
    )
    assert "examples: strongest" in written
    assert view.caption.text().startswith("Atlas of attention heads · small BERT")


def data_of(path: Path) -> dict[str, Any]:
    found = re.search(r'id="attnw-data">(.*?)</script>', path.read_text("utf-8"), re.S)
    assert found
    (figure,) = json.loads(found[1])["figures"]
    return dict(figure)


@pytest.mark.slow
def test_a_saved_atlas_has_the_cards_of_all_heads(atlas: Atlas, tmp_path: Path) -> None:
    atlas.save(tmp_path / "atlas.html")
    assert (tmp_path / "atlas.html").stat().st_size < 5e6
    held = data_of(tmp_path / "atlas.html")
    assert (held["name"], held["shapes"]) == ("atlas_view", {"self": [6, 12]})
    cards = held["own"]["cards"]
    assert len(cards) == 72 and "_card" not in held["state"]
    assert cards["L2H8"]["name"] == atlas.names[2, 8]
    view = AtlasView(replace(atlas, notes={Head(2, 8): "a note"}), search="det", selected=[(2, 8)])
    state = data_of(view.save(tmp_path / "view.html"))["state"]
    assert (state["search"], state["selected"]) == ("det", [[2, 8, "self"]])
    assert state["notes"] == [[[2, 8, "self"], "a note"]]
