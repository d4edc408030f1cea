"""The explorer with a recording comm: linked figures, measuring beside them, state as JSON."""

from __future__ import annotations

import gc
import json
import re
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
import pytest
import traitlets

from attnwidget import Attention, AttentionModel, Head, load_model, measure
from attnwidget.corpus.segmenting import make_segments
from attnwidget.text.demonstrations import demo_treebank
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.widgets.explorer.explore import explore
from attnwidget.widgets.explorer.measures import probe_in_parts, text_distances, text_metrics
from attnwidget.widgets.explorer.panels import PANELS
from attnwidget.widgets.explorer.widget import Explorer
from attnwidget.widgets.prediction_view import widget as prediction_widget
from attnwidget.widgets.shared.background import Background
from attnwidget.words.relations import RelationAccuracies, probe_relations
from fixtures.recording import from_page, on_page, updates
from fixtures.shown_code import choices, shown_by
from fixtures.svg_picture import elements, offset, texts
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the ship."
MAT = Sentence.from_lists(
    ["The", "old", "cat", "sat", "on", "my", "mat"],
    [3, 3, 4, 0, 7, 7, 4],
    ["det", "amod", "nsubj", "root", "case", "nmod:poss", "obl"],
)
#: The state of an explorer with options of all kinds.
#: The panels of an explorer without an atlas.
WITHOUT_ATLAS = tuple(name for name in PANELS if name != "card")
FISH = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])


@pytest.fixture(scope="module")
def found(model: AttentionModel) -> RelationAccuracies:
    return probe_relations(model, [MAT, FISH], progress=False)


def measured(model: AttentionModel, **options: object) -> Explorer:
    explorer = explore(model, TEXT, treebank=[MAT, FISH], **options)
    assert explorer.wait(60)
    return explorer


def working() -> set[threading.Thread]:
    """Threads of explorers; those of a closed one live to the end of their step."""
    return {thread for thread in threading.enumerate() if thread.name == "attnwidget"}


# Figures


@pytest.mark.slow
def test_the_page_gets_grid_and_view_at_once_and_the_rest_later(model: AttentionModel) -> None:
    explorer = explore(model, TEXT, treebank=[MAT, FISH], atlas=False)
    opened = explorer.get_state()
    assert opened["grid"] == f"anywidget:{explorer.grid.model_id}"
    assert opened["view"] == f"anywidget:{explorer.view.model_id}"
    assert [opened[name] for name in WITHOUT_ATLAS[2:]] == [None] * (len(WITHOUT_ATLAS) - 2)
    assert set(explorer.progress) == set(WITHOUT_ATLAS[2:])
    explorer.comm.sent.clear()
    from_page(explorer, {"_painted": True})
    assert explorer.wait(60)
    sent = [state for state, _ in updates(explorer)]
    assert {name for state in sent for name in state} >= {*WITHOUT_ATLAS[2:], "progress", "_notes"}
    assert explorer.progress == {} and on_page(explorer, "problems") == {}
    assert on_page(explorer, "notes") == {"head_scatter": "of this text alone"}


def test_nothing_is_measured_before_the_page_has_drawn(model: AttentionModel) -> None:
    before = working()
    explorer = explore(model, TEXT)
    assert not working() - before
    assert list(explorer.children) == ["grid", "view"]


def test_all_figures_follow_each_other(model: AttentionModel) -> None:
    explorer = measured(model, selected=[(1, 3)], atlas=False)
    assert list(explorer.children) == list(WITHOUT_ATLAS)
    assert (
        {on_page(one, "circle") for one in explorer.children.values()}
        == {on_page(explorer, "circle")}
        != {""}
    )
    from_page(explorer.grid, {"selected": [[3, 5, "self"]], "layer": 3})
    assert [one.selected for one in explorer.children.values()] == [[Head(3, 5)]] * len(
        WITHOUT_ATLAS
    )
    from_page(explorer.head_scatter, {"selected": [[1, 1, "self"], [2, 4, "self"]], "layer": 2})
    assert explorer.selected == explorer.grid.selected == [Head(1, 1), Head(2, 4)]
    explorer.layer = 4
    # The strongest head of layer 4 for the locked word.
    assert explorer.view.head == explorer.head_scatter.head == explorer.arcs.head == Head(4, 10)
    explorer.hidden = ["cls"]
    explorer.unit = "words"
    assert (explorer.grid.hidden, explorer.view.unit) == (["cls"], "words")


@pytest.mark.slow
def test_choosing_a_relation_selects_its_best_head_and_a_sentence_with_it(
    model: AttentionModel,
) -> None:
    explorer = measured(model)
    explorer.choose("obj")
    assert explorer.arcs.relation == explorer.relation == "obj"
    assert explorer.grid.selected == explorer.table.selected == explorer.arcs.selected
    assert explorer.arcs.sentence == 1
    explorer.relation = "det"
    assert explorer.arcs.sentence == 0 and explorer.table.relation == "det"
    with pytest.raises(traitlets.TraitError, match=naming("'relation'", "'verb'")):
        explorer.relation = "verb"


@pytest.mark.slow
def test_metrics_and_distances_are_those_of_the_text(model: AttentionModel) -> None:
    explorer = measured(model)
    segments = make_segments([TEXT], model)
    names = ["entropy", "position", "confidence", "classes", "distances"]
    whole = measure(model, segments, names, progress=False)
    expected = whole.heads()
    for title in ("entropy", "mean distance", "confidence", "to [CLS]", "to [SEP]"):
        got = explorer.grid.metrics["self"][title]
        np.testing.assert_allclose(got, expected[title], atol=1e-6, err_msg=title)
    np.testing.assert_allclose(
        text_distances(explorer.attention).distances, whole["distances"].distances, atol=1e-4
    )


@pytest.mark.slow
def test_given_metrics_are_shown_and_kept(model: AttentionModel) -> None:
    whole = measure(model, make_segments([TEXT, "It is."], model), ["distances"], progress=False)
    explorer = explore(model, TEXT, metrics=whole, treebank=False, atlas=False)
    assert set(explorer.progress) == {"head_scatter", "predictions", "why"}
    explorer.wait(60)
    assert on_page(explorer, "notes") == {} and (explorer.table, explorer.arcs) == (None, None)
    np.testing.assert_array_equal(
        explorer.head_scatter.positions, whole["distances"].embed().positions
    )
    kept = explorer.grid.metrics["self"]
    explorer.text = "Another text."
    assert set(explorer.progress) == {"predictions"} and explorer.wait(60)
    for title, values in explorer.grid.metrics["self"].items():
        np.testing.assert_array_equal(values, kept[title])


def test_accuracies_are_shown_at_once(model: AttentionModel, found: RelationAccuracies) -> None:
    both = explore(model, TEXT, treebank=(found, [MAT, FISH]), relation="det")
    assert both.table.accuracies is found and both.arcs.relation == "det"
    alone = explore(model, TEXT, treebank=found)
    assert alone.table is not None and alone.arcs is None
    with pytest.raises(RuntimeError, match=naming("treebank=", "explore()")):
        explore(model, TEXT, treebank=False).choose("det")
    with pytest.raises(RuntimeError, match=naming("relations", "wait()")):
        explore(model, TEXT, treebank=[MAT]).choose("det")


@pytest.mark.slow
def test_a_probe_in_parts_is_the_probe(model: AttentionModel) -> None:
    sentences = [MAT, FISH] * 40
    steps = list(probe_in_parts(model, sentences))
    assert [share for share, _ in steps] == [0, 0.4, 0.8, 1]
    whole = probe_relations(model, sentences, progress=False)
    got = steps[-1][1]
    assert got is not None and (got.relations, got.complete) == (whole.relations, True)
    np.testing.assert_array_equal(got.correct, whole.correct)
    np.testing.assert_array_equal(got.baseline_correct, whole.baseline_correct)


def test_a_model_with_three_stacks_has_metrics_for_each() -> None:
    maps = np.full((2, 3, 4, 4), 0.25, "f4")
    square = text_metrics(Attention.from_weights(maps, ["[CLS]", "a", "b", "[SEP]"]))["self"]
    np.testing.assert_allclose(square["entropy"], np.log(4), atol=1e-5)
    np.testing.assert_allclose(square["to [SEP]"], 0.25)
    np.testing.assert_allclose(square["mean distance"], 1.25)
    cross = Attention.from_weights(
        np.full((2, 3, 2, 4), 0.25, "f4"), list("xy"), key_tokens=list("abcd"), stack="cross"
    )
    assert list(text_metrics(cross)["cross"]) == ["confidence", "to first token"]


# The text


@pytest.mark.slow
def test_another_text_is_shown_in_the_same_figures(model: AttentionModel) -> None:
    explorer = measured(model, selected=[(2, 4)])
    before = {name: one.model_id for name, one in explorer.children.items()}
    count = len(ipywidgets.widgets.widget._instances)
    threads = working()
    for i in range(20):
        from_page(explorer, {"text": f"Run {i} of this.", "pair": None})
        if i % 5 == 0:
            explorer.wait(60)
    explorer.wait(60)
    assert {name: one.model_id for name, one in explorer.children.items()} == before
    assert len(ipywidgets.widgets.widget._instances) == count
    assert working() <= threads
    assert explorer.view.attention is explorer.grid.attention is explorer.attention
    assert "##9" in explorer.attention.tokens and explorer.selected == [Head(2, 4)]
    assert len(explorer._measures._known) <= 16
    n = len(explorer.attention.words.tokens)
    assert on_page(explorer.view, "tile")["values"]["shape"] == [1, n, n]
    expected = text_metrics(explorer.attention)["self"]["entropy"]
    np.testing.assert_array_equal(explorer.grid.metrics["self"]["entropy"], expected)


def test_text_and_pair_are_read_together(model: AttentionModel) -> None:
    explorer = explore(model, "Where is it?", treebank=False)
    explorer.comm.sent.clear()
    from_page(explorer, {"text": "Who?", "pair": "The cat."})
    shown = {"text": "Who?", "pair": "The cat.", "target": None, "versus_text": None}
    assert on_page(explorer, "shown") == shown
    assert set(explorer.attention.stacks["self"].query.segments) == {0, 1}


def test_a_text_that_cannot_be_read_leaves_the_picture(model: AttentionModel) -> None:
    explorer = explore(model, TEXT, treebank=False)
    shown = explorer.attention
    with pytest.raises(ValueError, match=naming("602 tokens", "512")):
        explorer.text = "word " * 600
    assert explorer.attention is shown and on_page(explorer, "shown")["text"] == TEXT
    said = "too long: 602 tokens; this model reads 512 at most"
    assert explorer.get_state()["_error"] == said
    explorer.text = TEXT
    assert explorer.get_state()["_error"] == "" and explorer.attention is shown
    explorer.text = "The cat."
    assert on_page(explorer, "shown")["text"] == "The cat."


@pytest.mark.slow
def test_an_attention_of_ones_own_can_be_shown(model: AttentionModel) -> None:
    explorer = measured(model, tokens=[("query", 2)])
    explorer.attention = model.attend("Short.")
    assert explorer.tokens == [] and len(explorer.view.attention.tokens) == 4
    assert explorer.wait(60) and explorer.progress == {}
    # It is of no text: none is said to be shown, and the old one can be read again.
    assert explorer.text == "" and "captain" not in str(explorer.caption)
    explorer.text = TEXT
    assert len(explorer.view.attention.tokens) > 10 and explorer.text == TEXT


@pytest.mark.slow
def test_an_assigned_attention_is_measured_itself(model: AttentionModel) -> None:
    explorer = measured(model)
    before = explorer.grid.metrics["self"]["entropy"]
    attention = model.attend("Short.")
    explorer.attention = attention
    assert explorer.wait(60)
    expected = text_metrics(attention)["self"]["entropy"]
    np.testing.assert_array_equal(explorer.grid.metrics["self"]["entropy"], expected)
    # The measurements of the text before are kept under its name.
    explorer.text = TEXT
    assert explorer.wait(60)
    np.testing.assert_array_equal(explorer.grid.metrics["self"]["entropy"], before)


def test_a_text_that_is_asked_for_while_another_is_read_comes_next(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = explore(model, TEXT, treebank=False)
    attend = AttentionModel.attend
    later = []

    def slow(self: AttentionModel, text: str, *more: str | None) -> Attention:
        if text == "One." and not later:
            later.append(threading.Thread(target=setattr, args=(explorer, "text", "One and two.")))
            later[0].start()
            while explorer.text != "One and two.":
                time.sleep(0.01)
        return attend(self, text, *more)

    monkeypatch.setattr(AttentionModel, "attend", slow)
    explorer.text = "One."
    later[0].join(60)
    assert len(explorer.view.attention.tokens) == len(attend(model, "One and two.").tokens)
    assert on_page(explorer, "shown")["text"] == explorer.text == "One and two."


# Failing and closing


def test_what_goes_wrong_is_said_in_the_panel_and_by_wait(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = explore(model, TEXT, treebank=[MAT])

    def refuse(*_: object) -> None:
        raise ValueError("no fast tokenizer")

    monkeypatch.setattr("attnwidget.widgets.explorer.relations.probe_in_parts", refuse)
    with pytest.raises(ValueError, match="no fast tokenizer"):
        explorer.wait(60)
    assert on_page(explorer, "problems") == dict.fromkeys(("table", "arcs"), "no fast tokenizer")
    assert explorer.progress == {} and explorer.head_scatter is not None


@pytest.mark.slow
def test_closing_stops_the_probe_and_frees_everything(model: AttentionModel) -> None:
    before = len(ipywidgets.widgets.widget._instances)
    explorer = explore(model, TEXT, treebank=[MAT, FISH] * 2000)
    explorer._background.start()
    assert not explorer.wait(0.01)
    thread = explorer._background._thread
    freed = [weakref.ref(explorer), weakref.ref(explorer.grid)]
    explorer.close()
    thread.join(30)
    assert not thread.is_alive()
    del explorer, thread
    gc.collect()
    assert [ref() for ref in freed] == [None, None]
    assert len(ipywidgets.widgets.widget._instances) == before


def test_a_refused_option_leaves_no_widget(model: AttentionModel) -> None:
    before = len(ipywidgets.widgets.widget._instances)
    with pytest.raises(TypeError, match=naming("'panel'", "'panels'")):
        explore(model, TEXT, panel=["grid"])
    with pytest.raises(traitlets.TraitError, match=naming("'panels'", "['heads']")):
        explore(model, TEXT, panels=["heads"])
    with pytest.raises(TypeError, match=naming("treebank", "CoNLL-U", "demo_treebank()")):
        explore(model, TEXT, treebank=3)
    with pytest.raises(ValueError, match=naming("text", "empty", "at least one word")):
        explore(model, "")
    assert len(ipywidgets.widgets.widget._instances) == before


def test_what_a_replaced_job_raises_is_nobodys_news() -> None:
    said: list[str] = []
    background = Background(["text"], failed=lambda name, error: said.append(str(error)))

    def failing() -> Iterator[None]:
        yield
        background.add("text", fine())
        raise ValueError("old")

    def fine() -> Iterator[None]:
        yield

    background.add("text", failing())
    assert background.wait(60) and said == []
    with pytest.raises(ValueError, match=naming("'other'", "job")):
        background.add("other", fine())
    background.close()


def test_a_failure_that_cannot_be_said_ends_no_thread() -> None:
    def unspeakable(name: str, error: Exception) -> None:
        raise RuntimeError("no panel")

    def failing() -> Iterator[None]:
        yield
        raise ValueError("first")

    background = Background(["text"], failed=unspeakable)
    background.add("text", failing())
    with pytest.raises(RuntimeError, match="no panel"):
        background.wait(60)
    background.close()


def test_more_urgent_work_goes_between_the_steps_of_another() -> None:
    done: list[str] = []

    def slow() -> Iterator[None]:
        for i in range(3):
            done.append(f"slow {i}")
            if i == 0:
                background.add("text", quick())
            yield

    def quick() -> Iterator[None]:
        done.append("quick")
        yield

    background = Background(["text", "treebank"], failed=lambda name, error: None)
    background.add("treebank", slow())
    assert background.wait(60)
    background.close()
    assert done == ["slow 0", "quick", "slow 1", "slow 2"]


# Code


@pytest.mark.slow
def test_the_code_restores_the_view_exactly(model: AttentionModel) -> None:
    explorer = explore(model, TEXT, pair="It sank.", selected=[(1, 1), (2, 4)], scale="log")
    explorer.wait(60)
    explorer.choose("det")
    explorer.tokens = [("query", 3)]
    explorer.hidden = ["sep"]
    explorer.tab = "arcs"
    explorer.grid.metric = "entropy"
    explorer.grid.filter = (0.5, 2.5)
    explorer.grid.sort = "rows"
    explorer.view.mode = "matrix"
    explorer.view.highlight = ["captain"]
    explorer.table.sort = "gain"
    explorer.arcs.sentence = 7
    again = shown_by(explorer.code())
    assert again.wait(60) and choices(again) == choices(explorer)
    assert again.grid.passing == explorer.grid.passing
    np.testing.assert_array_equal(again.view.weights, explorer.view.weights)
    np.testing.assert_array_equal(again.head_scatter.positions, explorer.head_scatter.positions)
    drawn = [
        bytes(one.get_state()["_drawn"]["predicted"]["map"]["view"])
        for one in (again.arcs, explorer.arcs)
    ]
    assert drawn[0] == drawn[1]


@pytest.mark.slow
def test_what_was_measured_before_is_not_measured_again(
    model: AttentionModel, found: RelationAccuracies
) -> None:
    explorer = explore(model, TEXT, treebank=(found, demo_treebank()))
    assert explorer.wait(60) and explorer.table is not None
    assert explorer.table.accuracies is found


@pytest.mark.slow
def test_a_refused_text_changes_no_option(model: AttentionModel) -> None:
    explorer = measured(model)
    explorer.head_scatter.behaviors = np.arange(72).reshape(6, 12) % 3
    explorer.view.highlight = ["captain"]
    with pytest.raises(ValueError, match=naming("602 tokens", "512", "truncate=True")):
        explorer.text = "word " * 600
    assert explorer.wait(60) and f'"{TEXT}"' in explorer.code()
    assert explorer.head_scatter.behaviors[0, 4] == 1
    assert explorer.view.highlight == ["captain"]
    explorer.text = "Another one."
    assert explorer.view.highlight == []
    explorer.selected = [(1, 2)]
    assert explorer.head_scatter.selected == explorer.selected


def test_numbers_of_another_model_are_refused(found: RelationAccuracies) -> None:
    genre = load_model("attnwidget/genre")
    with pytest.raises(
        ValueError,
        match=naming("'small BERT (in the package)'", "'small BERT for genres (in the package)'"),
    ):
        explore(genre, TEXT, treebank=(found, [MAT, FISH]))
    with pytest.raises(ValueError, match=naming("'accuracies'", "probe this model")):
        DependencyArcs(genre, [MAT, FISH], found)


@pytest.mark.parametrize("wrong", [{"layer": 99}, {"metrics": np.ones((6, 12))}, {"quantity": "x"}])
def test_a_refused_explorer_leaves_no_warning(
    model: AttentionModel, wrong: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", complaints.append)
    before = working()
    with pytest.raises((traitlets.TraitError, ValueError, TypeError)):
        explore(model, TEXT, treebank=False, **wrong)
    gc.collect()
    assert complaints == [] and working() <= before


def test_a_long_text_is_cut_in_the_picture(model: AttentionModel) -> None:
    explorer = explore(model, "cats and dogs " * 90, treebank=False, atlas=False, panels=["grid"])
    picture = explorer.figure(width=900)
    above = [text for text in elements(picture, "text") if offset(text)[1] < 80]
    lines = [text.text or "" for text in above if "cats and" in (text.text or "")]
    assert len(lines) <= 3 and texts(picture)[len(lines)].endswith("… (272 tokens)")


def test_the_code_names_the_file_of_a_treebank(model: AttentionModel, tmp_path: Path) -> None:
    path = tmp_path / "two.conllu"
    path.write_text("1\tCats\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    assert f"treebank={json.dumps(str(path))}" in explore(model, TEXT, treebank=path).code()


def test_the_code_keeps_the_lens_of_the_predictions(model: AttentionModel) -> None:
    explorer = measured(model)
    explorer.predictions.lens = True
    assert "explorer.predictions.lens = True" in explorer.code()


# Pictures


@pytest.mark.slow
def test_the_figure_has_the_panels_in_sight(model: AttentionModel) -> None:
    explorer = measured(model, tab="head_scatter")
    for width, theme in ((1000, "light"), (480, "dark")):
        picture = explorer.figure(width=width, theme=theme)
        written = " ".join(texts(picture))
        assert "captain" in written and "best head" not in written
        assert written.count("small BERT") == 1
        # Grid and view stand side by side where there is room, the open detail below them.
        grid, view, detail = picture.drawing.figures
        assert (view[0] > grid[0] + grid[2]) == (width == 1000)
        assert detail[0] == grid[0] and detail[1] >= grid[1] + grid[3]
    assert "panels: all heads, one head, map of heads" in explorer.caption.text()
    assert explorer.figure().table["value"].iloc[0] == TEXT and len(explorer.figure().table) <= 20
    explorer.tab = "table"
    assert "best head" in texts(explorer.figure(width=1200))
    explorer.panels = []
    assert "There are no panels: name some in `panels`." in texts(explorer.figure())


def test_repr_is_short_and_every_trait_has_help(model: AttentionModel) -> None:
    explorer = explore(model, TEXT)
    assert len(repr(explorer)) < 140 and "\n" not in repr(explorer)
    own = set(explorer.trait_names()) - set(ipywidgets.DOMWidget.class_trait_names())
    public = [name for name in own if not name.startswith("_") and name != "comm"]
    assert all(explorer.traits()[name].help for name in public)


@pytest.mark.slow
def test_effects_of_many_heads_wait_until_they_are_seen(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnwidget.widgets.prediction_view.widget._MANY_HEADS", 71)
    explorer = explore(model, "The woman washed [MASK] hands.", treebank=False)
    assert explorer.wait()
    view = explorer.predictions
    assert view is not None and view.effects is None and view.offer == ""
    assert "entropy" in explorer.grid.metrics["self"] and explorer.head_scatter is not None
    explorer.tab = "predictions"
    assert explorer.wait() and view.is_estimate is False
    # The grid shows the effects of the next text too, although the tab is closed.
    explorer.grid.metric = "effect on “her” (uniform)"
    explorer.tab = "head_scatter"
    explorer.text = "The king lost [MASK] crown."
    assert explorer.wait() and view.is_estimate is False
    explorer.grid.metric = "entropy"
    explorer.text = "The queen lost [MASK] crown."
    assert explorer.wait() and view.effects is None
    monkeypatch.undo()
    explorer.text = "The woman lost [MASK] crown."
    assert explorer.wait() and view.is_estimate is False


def test_effects_that_take_long_begin_with_a_button(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnwidget.widgets.prediction_view.widget.MOST_SECONDS", 0)
    computed: list[str] = []

    def counted(effects: Any) -> Any:
        def compute(*args: Any, **options: Any) -> Any:
            computed.append(threading.current_thread().name)
            return effects(*args, **options)

        return compute

    for name in ("effects_of", "effects_on_answers"):
        effects = getattr(prediction_widget, name)
        monkeypatch.setattr(prediction_widget, name, counted(effects))
    explorer = explore(model, "The woman washed [MASK] hands.", treebank=False)
    assert explorer.wait()
    view = explorer.predictions
    assert computed == [] and view.effects is None and "predictions" not in explorer._offers
    explorer.tab = "predictions"
    assert explorer.wait() and computed == []
    offer = "measure the effects of heads: less than a minute"
    assert explorer._offers["predictions"] == view.offer == offer
    assert "measure_effects()" in on_page(view, "problem")
    from_page(explorer, {"_accepted": "predictions"})
    assert explorer.wait() and len(computed) == 2 and view.is_estimate is False
    assert explorer.wait() and "predictions" not in explorer._offers
    assert on_page(view, "problem") == ""
    # Another question is another request.
    explorer.text = "The king lost [MASK] crown."
    assert explorer.wait() and view.effects is None and len(computed) == 2
    assert view.wait() and view.is_estimate is False
    explorer.close()


@pytest.mark.slow
def test_effects_on_the_answer_are_a_metric_of_the_grid(model: AttentionModel) -> None:
    explorer = explore(model, "The woman washed [MASK] hands.", treebank=False)
    assert explorer.predictions is None
    assert explorer.wait()
    view = explorer.predictions
    assert view is not None and view.is_estimate is False
    title = "effect on “her” (uniform)"
    np.testing.assert_array_equal(explorer.grid.metrics["self"][title], view.effects)
    assert "entropy" in explorer.grid.metrics["self"]
    explorer.grid.metric = title
    assert "effect on" not in explorer.code()
    before = view.effects
    explorer.disabled = [Head(1, 8)]
    assert view.disabled == [Head(1, 8)] and view.effects is None
    assert explorer.wait()
    now = explorer.grid.metrics["self"][title]
    assert explorer.grid.metric == title and now[1, 8] == 0 and not np.allclose(now, before)
    explorer.text = "The captain told his men."
    # The predicted word is the locked one, until it is unlocked.
    explorer.tokens = []
    assert explorer.wait() and title not in explorer.grid.metrics["self"]
    assert "no mask token" in on_page(view, "message") and explorer.grid.metric is None
    explorer.tokens = [("query", 4)]
    assert view.predictions is not None and view.predictions.positions == (4,)
    given = Attention.from_weights(explorer.attention.weights(), explorer.attention.tokens)
    explorer.disabled = []
    explorer.attention = given
    assert "another text" in on_page(explorer, "problems")["predictions"]


@pytest.mark.slow
def test_predictions_out_of_sight_follow_the_other_figures(model: AttentionModel) -> None:
    explorer = explore(model, "The woman washed [MASK] hands.", treebank=False)
    explorer.wait()
    view = explorer.predictions
    effect = "effect on “her” (uniform)"
    assert effect in explorer.grid.metrics["self"]
    before = view.attention
    view.answer = "their"
    # While this thread holds the lock, the thread of measurements changes no figure.
    with explorer._lock:
        explorer.text = "He lost [MASK] keys."
        assert view.answer is None
        assert explorer.view.attention is explorer.grid.attention is explorer.attention
        assert view.attention is before and "predictions" in explorer.progress
    explorer.view.selected, explorer.view.tokens = [(2, 3)], [("query", 1)]
    explorer.disabled = [(1, 1)]
    explorer.wait()
    assert view is explorer.predictions and view.attention is explorer.attention.intact
    assert (view.tokens, view.selected) == (explorer.tokens, explorer.selected)
    assert view.disabled == explorer.disabled and view.predictions.positions == (1,)
    assert effect not in explorer.grid.metrics["self"]
    explorer.tab = "predictions"
    explorer.text = "She lost [MASK] keys."
    assert view.attention is explorer.attention.intact
    explorer.close()


def test_closed_tabs_follow_another_text_after_the_open_tab(model: AttentionModel) -> None:
    explorer = explore(model, TEXT, treebank=False)
    explorer.wait()
    explorer.tab = "why"

    def answered(name: str, trait: str) -> bool:
        """Whether the page got an answer since the last look."""
        figure = getattr(explorer, name)
        sent = any(trait in state for state, _ in updates(figure))
        figure.comm.sent.clear()
        return sent

    answered("why", "_link"), answered("card", "_card")
    # While this thread holds the lock, no other thread lets the closed tabs answer.
    with explorer._lock:
        before = explorer.head
        explorer.text = "cats and cats and cats ."
        assert explorer.head != before
        assert answered("why", "_link") and not answered("card", "_card")
        explorer.tab = "card"
        assert answered("card", "_card")
        explorer.text = TEXT
        assert answered("card", "_card") and not answered("why", "_link")
    assert explorer.wait() and answered("why", "_link")
    assert explorer.card.head == explorer.head
    explorer.close()


def test_a_model_without_a_prediction_head_has_no_predictions() -> None:
    bare = load_model(load_model().hf_model.bert, load_model().tokenizer)
    explorer = explore(bare, TEXT, treebank=False)
    assert "predictions" not in explorer.progress
    assert explorer.wait() and explorer.predictions is None


@pytest.mark.slow
def test_the_tab_why_follows_the_head_and_the_locked_pair(model: AttentionModel) -> None:
    explorer = explore(model, TEXT, treebank=False, selected=[(1, 3)])
    assert explorer.why is None and explorer.wait(60)
    explorer.tokens = []
    assert explorer.why.explanation is None, "no pair is locked"
    explorer.tokens = [("query", 2), ("key", 1)]
    assert explorer.wait(60) and explorer.why.explanation.key == 1
    explorer.view.selected = [(2, 8)]
    assert explorer.wait(60) and str(explorer.why.sources.head) == "L2 H8"
    explorer.text = "Another text is read."
    assert explorer.wait(60) and explorer.why.attention is explorer.attention
    explorer.why.tokens = [("query", 3)]
    assert explorer.view.tokens == [("query", 3)]


def test_a_page_without_grid_and_view_opens_a_detail_and_holds_no_other_figure(
    model: AttentionModel, tmp_path: Path
) -> None:
    pages = {}
    for name, panels in (("none", []), ("why", ["why", "predictions"])):
        explorer = explore(model, TEXT, treebank=False, atlas=False, panels=panels)
        assert explorer.wait()
        assert explorer.tab == ("predictions" if panels else None)
        explorer.save(tmp_path / f"{name}.html")
        pages[name] = (tmp_path / f"{name}.html").read_text("utf-8")
        explorer.close()
    assert all(f'<p class="attnw-page-text">{TEXT}</p>' in page for page in pages.values())
    held = {
        name: [
            figure["name"]
            for figure in json.loads(re.findall(r'id="attnw-data">(.*?)</script>', page)[0])[
                "figures"
            ]
        ]
        for name, page in pages.items()
    }
    assert held == {"none": ["explorer"], "why": ["explorer", "prediction_view", "link_view"]}
