"""The explorer with an atlas: the card of the shown head, the sentence and the labels."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import constants
from transformers import BertForMaskedLM

from attnwidget import AttentionModel, Head, load_model
from attnwidget.demo import demo_atlas, demo_treebank
from attnwidget.results import Atlas
from attnwidget.widgets.explorer import head_names
from attnwidget.widgets.explorer.explore import explore
from attnwidget.widgets.explorer.widget import Explorer
from attnwidget.words import explained_attention
from fixtures.recording import from_page, on_page
from fixtures.shown_code import shown_by
from fixtures.svg_picture import texts
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the ship."


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return demo_atlas()


def measured(model: AttentionModel, atlas: Atlas, **options: object) -> Explorer:
    explorer = explore(model, TEXT, treebank=False, atlas=atlas, **options)
    assert explorer.wait(60)
    return explorer


def test_the_card_follows_the_shown_head(model: AttentionModel, atlas: Atlas) -> None:
    explorer = measured(model, atlas, selected=[(2, 8)], tab="card")
    assert on_page(explorer.card, "card")["head"] == [2, 8, "self"]
    assert not explorer.card.table
    from_page(explorer.grid, {"selected": [[0, 2, "self"]], "layer": 0})
    assert on_page(explorer.card, "card")["name"] == "previous token"
    written = texts(explorer.figure())
    assert any(text.startswith("L0 H2 · previous token") for text in written)
    assert not any("of 72 heads" in text for text in written)
    from_page(explorer.card, {"example": 0})
    opened = explorer.card.example_link
    assert explorer.attention.stacks["self"].query.ids == opened.tokens.ids
    groups = explorer.attention.stacks["self"].query.word_groups()
    ends = [
        next(place for place, group in enumerate(groups) if end in group)
        for end in (opened.query, opened.key)
    ]
    assert explorer.view.tokens == [("query", ends[0]), ("key", ends[1])]
    explorer.close()


def test_the_card_has_the_links_of_the_present_text(model: AttentionModel, atlas: Atlas) -> None:
    explorer = measured(model, atlas, selected=[(1, 3)], tab="card")

    def links() -> tuple[int, list[str]]:
        """Number of predictions, and the keys of the right links."""
        in_text = on_page(explorer.card, "card")["in_text"]
        kinds = {kind: examples for kind, _, examples in in_text["kinds"]}
        keys = [example["pieces"][example["key"]].strip() for example in kinds.get("right", [])]
        return in_text["predictions"], keys

    assert links() == (2, ["captain", "captain"])
    assert any("2 predictions: 2 likely right" in text for text in texts(explorer.figure()))
    explorer.text = "The nurse said that she was late."
    assert links() == (1, ["nurse"])
    from_page(explorer.grid, {"selected": [[0, 2, "self"]], "layer": 0})
    assert links()[0] == 9
    explorer.disabled = [(0, 2)]
    assert on_page(explorer.card, "card")["in_text"] is None
    explorer.disabled = []
    assert links()[0] == 9
    explorer.selected = [(1, 3)]
    explorer.text = "The ship sank."
    assert links() == (0, [])
    assert any("the name predicts no link" in text for text in texts(explorer.figure()))
    explorer.close()


def test_the_card_of_a_closed_tab_shows_the_present_text_when_it_opens(
    model: AttentionModel, atlas: Atlas
) -> None:
    explorer = measured(model, atlas, selected=[(0, 2)], tab="predictions")
    explorer.text = "The nurse said that she was late."
    explorer.tab = "card"
    assert on_page(explorer.card, "card")["in_text"]["predictions"] == 9
    explorer.close()


def test_the_line_says_what_the_head_does(model: AttentionModel, atlas: Atlas) -> None:
    explorer = measured(model, atlas, selected=[(0, 2)])
    assert explorer.caption.notes[0].startswith("In L0 H2 (previous token), “")
    named = {tuple(of["head"]): of for of in on_page(explorer, "tested")}
    assert named[0, 2, "self"] == {
        "head": [0, 2, "self"],
        "label": "previous token",
        "family": "neighbor",
    }
    assert explorer.grid._families[0] == [[0, 2, "self"], "neighbor"]
    explorer.labels[(0, 2)] = "one back"
    assert explorer.caption.notes[0].startswith("In L0 H2 (“one back”), “")
    explorer.disabled = [(0, 2)]
    assert explorer.caption.notes[0].startswith("L0 H2 is off: it looks nowhere")
    explorer.close()


def test_names_are_labels_where_the_user_gave_none(model: AttentionModel, atlas: Atlas) -> None:
    explorer = measured(model, atlas, labels={(2, 8): "determiners"})
    assert explorer.grid.labels[(2, 8)] == "determiners"
    assert explorer.grid.labels[(0, 2)] == explorer.view.labels[(0, 2)] == "previous token"
    assert (0, 0) not in explorer.labels and not atlas.names[0, 0]
    assert explorer.labels[(1, 3)] == "pronoun to its person"
    code = explorer.code()
    assert 'labels={(2, 8): "determiners"}' in code and "atlas=atlas" in code
    del explorer.labels[(0, 2)]
    explorer.card.notes[(1, 3)] = "a note"
    again = shown_by(explorer.code(), atlas=atlas)
    assert again.wait(60) and again.labels[(2, 8)] == "determiners"
    assert again.card.notes[(1, 3)] == "a note"
    again.close()
    explorer.close()
    atlas.notes.clear()


def test_an_atlas_of_other_heads_is_refused(model: AttentionModel, atlas: Atlas) -> None:
    with pytest.raises(ValueError, match=naming("6×12 heads", "2×4", "atlas")):
        explore(load_model("attnwidget/induction"), "a b a", atlas=atlas)
    weights = BertForMaskedLM(model.hf_model.config)
    untrained = load_model(weights, model.tokenizer, name="untrained")
    with pytest.raises(ValueError, match=naming("atlas(model)", "untrained", "labels=")):
        explore(untrained, TEXT, atlas=atlas)
    for other in ({}, True):
        with pytest.raises(TypeError, match=naming("atlas=", "Atlas", "load_atlas")):
            explore(model, TEXT, atlas=other)


def test_an_embedded_model_brings_its_atlas(model: AttentionModel, atlas: Atlas) -> None:
    explorer = explore(model, TEXT, treebank=False)
    assert explorer.wait(60) and on_page(explorer.card, "card")["name"] == "pronoun to its person"
    assert explorer.labels[(0, 2)] == "previous token"
    assert "atlas" not in explorer.code()
    explorer.card.notes[(0, 0)] = "a note"
    explorer.close()
    again = explore(model, TEXT, treebank=False)
    assert again.wait(60) and again.card is not None and not again.card.notes
    again.close()


def test_an_explorer_can_have_no_atlas(model: AttentionModel) -> None:
    explorer = explore(model, TEXT, treebank=False, atlas=False)
    assert explorer.wait(60) and explorer.card is None and len(explorer.labels) == 0
    # Nobody asked for names: the page does not say that the heads have none.
    assert on_page(explorer, "tested") is None
    assert "atlas=False" in explorer.code()
    explorer.close()
    foreign = explore(load_model("attnwidget/induction"), "a b a", treebank=False)
    assert foreign.wait(60) and foreign.card is None and "atlas" not in foreign.code()
    assert on_page(foreign, "tested") == []
    foreign.close()


def test_no_head_has_no_card(model: AttentionModel, atlas: Atlas) -> None:
    explorer = measured(model, atlas, selected=[Head(2, 8)])
    explorer.selected = []
    assert on_page(explorer.card, "card") is None
    explorer.close()


@pytest.mark.slow
def test_a_saved_page_has_the_cards_of_all_heads(
    model: AttentionModel, atlas: Atlas, tmp_path: Path
) -> None:
    explorer = measured(model, atlas, panels=["grid", "view", "card"])
    path = explorer.save(tmp_path / "explorer.html")
    explorer.close()
    data = re.search(r'id="attnw-data">(.*?)</script>', path.read_text("utf-8"), re.S)
    assert data
    figures = {figure["name"]: figure for figure in json.loads(data[1])["figures"]}
    assert len(figures["atlas_view"]["own"]["cards"]) == 72
    assert figures["atlas_view"]["state"]["table"] is False


# Names on demand


@pytest.fixture
def unnamed(model: AttentionModel) -> AttentionModel:
    """A model without an atlas: the weights are those of the package, and its origin is not."""
    return load_model(model.hf_model, model.tokenizer)


def finding(atlas: Atlas, began: threading.Event, go_on: threading.Event) -> Callable[..., Atlas]:
    """What names heads as `atlas`, and reads text after text until it may end."""

    def find(
        model: AttentionModel,
        *,
        effects: bool,
        batch_size: int,
        progress: Callable[[int, int | None], None],
    ) -> Atlas:
        assert not effects and batch_size == 1
        progress(0, 24)
        began.set()
        for n_read in itertools.count():
            progress(n_read % 24, 24)
            if go_on.wait(0.01):
                return atlas
        raise AssertionError

    return find


def test_heads_are_named_when_asked_for(
    unnamed: AttentionModel, atlas: Atlas, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(head_names, "make_atlas", finding(atlas, began, go_on))
    explorer = explore(unnamed, TEXT, labels={(2, 8): "determiners"})
    assert on_page(explorer, "offers")["card"].startswith("name the heads")
    assert explorer.atlas is None and on_page(explorer, "tested") == []
    locked = explorer.tokens
    from_page(explorer, {"_accepted": "card"})
    assert began.wait(60) and "card" not in on_page(explorer, "offers")
    # Other work goes on meanwhile.
    explorer.text = "The cat sat on the mat."
    assert len(explorer.view.attention.tokens) == 9 and explorer.atlas is None
    explorer.text = TEXT
    assert not explorer.wait(0.01) and "card" in explorer.progress
    go_on.set()
    assert explorer.wait(60) and explorer.atlas is atlas and explorer.progress == {}
    assert explorer.labels[(0, 2)] == explorer.grid.labels[(0, 2)] == "previous token"
    assert explorer.labels[(2, 8)] == "determiners"
    assert [[0, 2, "self"], "neighbor"] in explorer.grid._families
    assert on_page(explorer, "tested")[0]["label"] == "previous token"
    assert explorer.card.atlas is atlas and explorer.tokens == locked
    with pytest.raises(RuntimeError, match=naming("have names", "being named")):
        explorer.name_heads()
    explorer.close()


def test_names_that_a_reader_keeps_are_there_the_next_time(
    unnamed: AttentionModel, atlas: Atlas, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(constants, "HF_HOME", str(tmp_path))
    go_on = threading.Event()
    go_on.set()
    monkeypatch.setattr(head_names, "make_atlas", finding(atlas, threading.Event(), go_on))
    explorer = explore(unnamed, TEXT)
    with pytest.raises(ValueError, match=naming("no names", "name_heads()")):
        explorer.keep_names()
    explorer.name_heads()
    assert explorer.wait(60) and not list(tmp_path.iterdir())
    assert on_page(explorer, "offers")["card"].startswith("keep these names")
    from_page(explorer, {"_accepted": "card"})
    (file,) = tmp_path.rglob("*.json")
    assert on_page(explorer, "notes")["card"] == f"kept in {file}"
    assert "card" not in on_page(explorer, "offers") and explorer.keep_names() == file
    again = explore(load_model(unnamed.hf_model, unnamed.tokenizer), TEXT)
    assert again.atlas is not None and again.labels[(0, 2)] == "previous token"
    assert "atlas" not in again.code() and "card" not in on_page(again, "offers")
    assert explore(unnamed, TEXT, atlas=False).atlas is None
    file.write_text("{}")
    assert "card" in on_page(explore(unnamed, TEXT), "offers")


def test_a_closed_explorer_names_no_heads(
    unnamed: AttentionModel, atlas: Atlas, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = threading.Event()
    monkeypatch.setattr(head_names, "make_atlas", finding(atlas, began, threading.Event()))
    explorer = explore(unnamed, TEXT)
    explorer.name_heads()
    assert began.wait(60)
    threads = [thread for thread in threading.enumerate() if thread.name == "attnwidget"]
    explorer.close()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert explorer.atlas is None


def test_what_keeps_heads_from_names_is_said_in_their_tab(
    unnamed: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Atlas:
        raise ValueError("there are no texts")

    monkeypatch.setattr(head_names, "make_atlas", refuse)
    explorer = explore(unnamed, TEXT)
    explorer.name_heads()
    with pytest.raises(ValueError, match=naming("there", "texts")):
        explorer.wait(60)
    assert on_page(explorer, "problems")["card"] == "there are no texts"
    explorer.close()


def test_only_heads_without_names_are_offered_names(model: AttentionModel) -> None:
    for made in (explore(model, TEXT), explore(model, TEXT, atlas=False)):
        assert "card" not in on_page(made, "offers")
        with pytest.raises(RuntimeError, match=naming("have names", "being named")):
            made.name_heads()
        made.close()


@pytest.mark.slow
def test_the_heads_of_a_causal_model_get_names_from_the_texts_of_the_package() -> None:
    explorer = explore(load_model("attnwidget/induction"), "The cat sat. The cat")
    explorer.name_heads()
    assert explorer.wait() and explorer.atlas is not None
    assert explorer.atlas.find("induction") and "induction" in explorer.labels.values()
    explorer.close()


def test_shares_of_an_atlas_are_metrics_of_the_grid(model: AttentionModel, atlas: Atlas) -> None:
    shares = explained_attention(model, demo_treebank()[:6], progress=False)
    explorer = measured(model, atlas.with_measured(explained=shares, texts="6 sentences"))
    metrics = explorer.grid.metrics["self"]
    for number, factor in enumerate(("position", "grammar", "same word", "rest")):
        np.testing.assert_array_equal(metrics[f"decided by {factor}"], shares.shares[number])
    explorer.grid.metric = "decided by grammar"
    notes = explorer.grid.caption.notes
    assert "decided by grammar: share of explained deviance in 6 sentences, not in this text" in (
        notes
    )
    assert not any("of this text alone" in note for note in notes)
    explorer.grid.metric = "entropy"
    assert "metrics of this text alone" in explorer.grid.caption.notes
    explorer.close()
