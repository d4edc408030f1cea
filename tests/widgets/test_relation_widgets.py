"""RelationTable and DependencyArcs with a recording comm: what crosses, links and is refused."""

from __future__ import annotations

import dataclasses
import gc
import threading
import weakref

import ipywidgets
import numpy as np
import pytest
import traitlets

from attnwidget import AttentionModel, Head, HeadGrid, HeadView, link_figures
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.widgets.relation_table import COLUMNS, RelationTable
from attnwidget.widgets.shared.relation_words import words_of_relation
from attnwidget.words.relations import (
    DIRECTIONS,
    RelationAccuracies,
    predict_governors,
    probe_relations,
)
from fixtures.recording import from_page, on_page, updates
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

SENTENCES = [
    Sentence.from_lists(
        ["The", "old", "cat", "sat", "on", "my", "mat"],
        [3, 3, 4, 0, 7, 7, 4],
        ["det", "amod", "nsubj", "root", "case", "nmod:poss", "obl"],
        name="mat",
    ),
    Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"]),
    Sentence.from_lists(
        ["The", "end", "of", "the", "day"],
        [2, 0, 5, 5, 2],
        ["det", "root", "case", "det", "nmod"],
    ),
]


@pytest.fixture(scope="module")
def found(model: AttentionModel) -> RelationAccuracies:
    return probe_relations(model, SENTENCES, progress=False)


def array(wire: dict) -> np.ndarray:
    return np.frombuffer(wire["view"], wire["dtype"]).reshape(wire["shape"])


# The table


def test_the_table_opens_with_all_counts_as_bytes(found: RelationAccuracies) -> None:
    table = RelationTable(found)
    assert [kind for kind, _, _ in table.comm.sent].count("comm_open") == 1
    sent = table.get_state()["_numbers"]
    names = [name for name in found.relations if name != "root"]
    assert sent["relations"] == names and sent["stack"] == "self"
    rows = [found.relations.index(name) for name in names]
    np.testing.assert_array_equal(array(sent["correct"]), found.correct[..., rows])
    np.testing.assert_array_equal(array(sent["counts"]), found.counts[rows])
    np.testing.assert_allclose(array(sent["p_values"]), found.p_values[..., rows], rtol=1e-6)
    best = found.best(1, skip=("root",))
    np.testing.assert_array_equal(array(sent["best"])[:, :2], best[["layer", "head"]])
    assert [DIRECTIONS[d] for d in array(sent["best"])[:, 2]] == list(best["direction"])
    source = table.get_state()["_source"]
    assert source == {
        "model": found.model_name,
        "note": "15 words in 3 sentences",
        "layers_without_attention": [],
    }


def test_a_row_that_the_page_chooses_is_the_kernels(found: RelationAccuracies) -> None:
    table = RelationTable(found)
    page = {"relation": "det", "direction": DIRECTIONS[1], "selected": [[3, 8, "self"]]}
    from_page(table, {**page, "layer": 3})
    assert (table.relation, table.direction) == ("det", DIRECTIONS[1])
    assert (table.selected, table.layer) == ([Head(3, 8)], 3)


def test_choosing_in_python_takes_the_best_head(found: RelationAccuracies) -> None:
    table = RelationTable(found)
    table.comm.sent.clear()
    table.choose("det")
    best = found.best(1).set_index("relation").loc["det"]
    assert table.selected == [Head(best["layer"], best["head"])]
    assert table.direction == best["direction"]
    assert len(updates(table)) == 1
    with pytest.raises(traitlets.TraitError, match=naming("'relation'", "'deet'")):
        table.choose("deet")


@pytest.mark.parametrize("column", COLUMNS)
def test_the_frame_has_the_rows_shown_in_their_order(
    found: RelationAccuracies, column: str
) -> None:
    table = RelationTable(found, min_count=2, sort=column, descending=False)
    frame = table.to_frame()
    assert set(frame["relation"]) == {"all", "det", "nsubj", "case", "nmod (all)"}
    keys = frame[["layer", "head"]].apply(tuple, axis=1) if column == "head" else frame[column]
    assert list(keys) == sorted(keys)
    table.min_count = 2000
    assert table.to_frame().empty


def test_other_accuracies_can_be_shown(found: RelationAccuracies, model: AttentionModel) -> None:
    table = RelationTable(found, relation="det", selected=[(3, 8)])
    table.comm.sent.clear()
    table.accuracies = probe_relations(model, SENTENCES[1:2], progress=False)
    assert (table.relation, table.selected) == ("all", [Head(3, 8)])
    states = [state for state, _ in updates(table)]
    assert len(states) == 1
    assert states[0]["_numbers"]["relations"] == ["all", "nsubj", "obj"]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"relation": "root"}, ("'relation'", "'root'", "no head")),
        ({"relation": "nsub"}, ("'relation'", "'nsub'")),
        ({"direction": "up"}, ("'direction'", "'dependent to governor'", "'up'")),
        ({"sort": "size"}, ("'sort'", "'size'")),
        ({"min_count": 0}, ("'min_count'", "0")),
        ({"selected": [(9, 0)]}, ("'selected'", "layer 9")),
    ],
)
def test_bad_values_are_refused(
    found: RelationAccuracies, options: dict[str, object], parts: tuple[str, ...]
) -> None:
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        RelationTable(found, **options)


def test_what_is_no_accuracies_is_refused_with_a_remedy(found: RelationAccuracies) -> None:
    with pytest.raises(TypeError, match=naming("RelationTable", "ndarray", "probe_relations")):
        RelationTable(found.accuracy)
    with pytest.raises(TypeError, match=naming("'min_counts'", "'min_count'")):
        RelationTable(found, min_counts=3)


# The arcs


def test_a_sentence_crosses_with_its_tree_and_one_heads_map(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 4)])
    drawn = arcs.get_state()["_drawn"]
    assert drawn["words"] == list(SENTENCES[0].words) and drawn["name"] == "mat"
    assert array(drawn["governors"]).tolist() == list(SENTENCES[0].governors)
    expected = predict_governors(model, SENTENCES[0])
    np.testing.assert_array_equal(array(drawn["predicted"]["governors"]), expected.governors[2, 4])
    np.testing.assert_allclose(array(drawn["predicted"]["map"]), expected.map(2, 4), rtol=1e-6)
    np.testing.assert_array_equal(arcs.predictions.governors, expected.governors)


def test_a_metric_change_sends_one_message_and_a_filter_sends_none(
    model: AttentionModel, found: RelationAccuracies
) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(2, 4)])
    arcs.comm.sent.clear()
    from_page(arcs, {"selected": [[1, 7, "self"]], "layer": 1})
    states = [state for state, _ in updates(arcs)]
    assert sum("_drawn" in state for state in states) == 1
    assert tuple(states[-1]["_drawn"]["head"]) == (1, 7, "self")
    assert states[-1]["_drawn"]["predicted"]["map"]["shape"] == [7, 7]
    arcs.comm.sent.clear()
    from_page(arcs, {"relation": "det"})
    assert all("_drawn" not in state for state, _ in updates(arcs))


def test_the_first_head_is_the_best_of_the_relation(
    model: AttentionModel, found: RelationAccuracies
) -> None:
    best = found.best(1).set_index("relation").loc["det"]
    arcs = DependencyArcs(model, SENTENCES, found, relation="det")
    assert arcs.selected == [Head(best["layer"], best["head"])]
    assert arcs.direction == best["direction"]
    measured = arcs.get_state()["_measured"]
    assert measured["correct"] == round(best["accuracy"] * best["n"]) and measured["n"] == 3
    assert measured["offset"] == best["offset"]
    one_way = DependencyArcs(model, SENTENCES, found, relation="det", direction=DIRECTIONS[0])
    r = found.relations.index("det")
    assert found.accuracy[(*one_way.head[:2], 0, r)] == found.accuracy[:, :, 0, r].max()
    assert DependencyArcs(model, SENTENCES).selected == []


@pytest.mark.slow
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("outcome", ["right", "wrong"])
def test_jumps_go_to_the_next_such_sentence(
    model: AttentionModel, direction: str, outcome: str
) -> None:
    way = DIRECTIONS.index(direction)

    def fits(sentence: Sentence, head: tuple[int, int]) -> bool:
        predicted = predict_governors(model, sentence).governors[(*head, way)]
        return any(
            label == "det" and (predicted[i] == sentence.governors[i]) == (outcome == "right")
            for i, label in enumerate(sentence.relations)
        )

    for head in [(0, 0), (3, 8), (2, 1)]:
        options = {"relation": "det", "direction": direction}
        arcs = DependencyArcs(model, SENTENCES, selected=[head], **options)
        wanted = [i for i in (1, 2) if fits(SENTENCES[i], head)]
        assert arcs.jump(outcome) == (wanted[0] if wanted else None)
        assert arcs.sentence == (wanted[0] if wanted else 0)


def test_a_jump_needs_a_head_and_goes_round(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[])
    assert arcs.jump("right") is None and arcs.jump("wrong") is None
    arcs.selected = [(3, 8)]
    seen = {arcs.jump("wrong", -1) or arcs.sentence for _ in range(4)}
    assert seen <= {0, 1, 2}
    with pytest.raises(ValueError, match=naming("jump", "'left'", "'right'")):
        arcs.jump("left")


def test_the_page_asks_for_a_jump_and_is_answered(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(0, 0)])
    arcs.comm.sent.clear()
    from_page(arcs, {"_jump": {"n": 4, "outcome": "wrong", "step": 1}})
    states = [state for state, _ in updates(arcs) if "_jumped" in state]
    assert [state["_jumped"] for state in states] == [{"n": 4, "found": True, "left": 1}]
    assert states[0]["sentence"] == arcs.sentence == states[0]["_drawn"]["sentence"] == 1


def test_a_long_search_reports_the_remaining_sentences(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnwidget.widgets.dependency_arcs.sentence_arcs._PATIENCE", -1.0)
    arcs = DependencyArcs(model, SENTENCES, selected=[(0, 0)])
    from_page(arcs, {"_jump": {"n": 1, "outcome": "wrong", "step": 1}})
    assert on_page(arcs, "jumped") == {"n": 1, "found": False, "left": 2}
    assert arcs.sentence == 0


def test_a_sentence_that_cannot_be_read_is_said_in_its_place(model: AttentionModel) -> None:
    n = 10_000
    endless = Sentence.from_lists(["a"] * n, [0, *range(1, n)], ["root", *["dep"] * (n - 1)])
    long = Sentence.from_lists(["a"] * 900, [0, *range(1, 900)], ["root", *["dep"] * 899])
    arcs = DependencyArcs(model, [*SENTENCES, endless, long], selected=[(2, 1)])
    arcs.sentence = 3
    drawn = arcs.get_state()["_drawn"]
    assert "10,000 words; up to 1,000" in drawn["problem"] and drawn["words"] == []
    arcs.sentence = 4
    problem = arcs.get_state()["_drawn"]["problem"]
    assert problem.endswith(
        "too long: 900 words have 900 tokens; this model reads 510 at most beside the special ones"
    )
    assert on_page(arcs, "error") == ""
    assert arcs.jump("right") in (0, 1, 2)
    assert arcs.get_state()["_drawn"]["problem"] == ""


def test_other_sentences_can_be_shown(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, sentence=2, relation="case", selected=[(2, 1)])
    arcs.sentences = SENTENCES[1:2]
    assert (arcs.sentence, arcs.relation) == (0, "all")
    assert arcs.get_state()["_drawn"]["words"] == ["Cats", "eat", "fish"]
    assert arcs.get_state()["_source"]["count"] == 1


def test_pooled_relations_have_the_words_of_their_subtypes() -> None:
    sentence = Sentence.from_lists(["my", "old", "cat"], [3, 3, 0], ["nmod:poss", "nmod", "root"])
    assert words_of_relation(sentence, "nmod (all)") == [0, 1]
    assert words_of_relation(sentence, "nmod") == [1]
    assert words_of_relation(sentence, "all") == [0, 1]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"sentence": 3}, ("'sentence'", "0 to 2", "got 3")),
        ({"relation": "verb"}, ("'relation'", "'verb'")),
    ],
)
def test_bad_values_of_arcs_are_refused(
    model: AttentionModel, options: dict[str, object], parts: tuple[str, ...]
) -> None:
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        DependencyArcs(model, SENTENCES, **options)


def test_wrong_arguments_are_refused_with_a_remedy(
    model: AttentionModel, found: RelationAccuracies
) -> None:
    with pytest.raises(TypeError, match=naming("DependencyArcs", "str", "load_model")):
        DependencyArcs("embedded", SENTENCES)
    with pytest.raises(TypeError, match=naming("'sentences'", "str", "load_treebank")):
        DependencyArcs(model, "a sentence")
    with pytest.raises(ValueError, match=naming("no sentences")):
        DependencyArcs(model, [])
    other = dataclasses.replace(found, correct=found.correct[:2], both_correct=found.both_correct)
    with pytest.raises(ValueError, match=naming("'accuracies'", "2×12 heads", "6×12")):
        DependencyArcs(model, SENTENCES, other)


@pytest.mark.slow
def test_callbacks_of_another_thread_wait_their_turn(model: AttentionModel) -> None:
    arcs = DependencyArcs(model, SENTENCES, selected=[(0, 0)])
    heads = [[layer, head, "self"] for layer in range(6) for head in range(12)]

    def select(start: int) -> None:
        for head in heads[start::2]:
            from_page(arcs, {"selected": [head], "layer": head[0], "sentence": head[1] % 3})

    threads = [threading.Thread(target=select, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    arcs.selected = [(5, 11)]
    drawn = arcs.get_state()["_drawn"]
    assert tuple(drawn["head"]) == (5, 11, "self") and drawn["sentence"] == arcs.sentence
    assert on_page(arcs, "error") == ""


# Links


def test_table_arcs_and_grid_follow_each_other(
    model: AttentionModel, found: RelationAccuracies
) -> None:
    table = RelationTable(found)
    arcs = DependencyArcs(model, SENTENCES)
    grid = HeadGrid(model.attend("Cats eat fish"))
    link_figures(table, arcs)
    link_figures(table, grid)
    table.choose("nsubj")
    assert arcs.relation == "nsubj" and arcs.direction == table.direction
    assert arcs.selected == grid.selected == table.selected
    arcs.relation = "det"
    arcs.direction = DIRECTIONS[1]
    grid.selected = [(1, 1)]
    assert (table.relation, table.direction) == ("det", DIRECTIONS[1])
    assert table.selected == arcs.selected == [Head(1, 1)]


def test_arcs_judge_possessors_as_the_probe_does(model: AttentionModel) -> None:
    sentence = Sentence.from_lists(
        ["Ann", "'s", "old", "hat", "fell", "off"],
        [4, 1, 4, 5, 0, 5],
        ["nmod:poss", "case", "amod", "nsubj", "root", "compound:prt"],
    )
    found = probe_relations(model, [sentence], progress=False)
    correct = found.correct[..., found.relations.index("nmod:poss")]
    plain = predict_governors(model, sentence).governors
    assert ((plain[..., 0] == 4) != correct).any()
    arcs = DependencyArcs(model, [sentence], selected=[(0, 0)])
    np.testing.assert_array_equal(arcs.predictions.governors[..., 0] == 4, correct)
    own = probe_relations(model, [sentence], possessive=None, progress=False)
    arcs = DependencyArcs(model, [sentence], own, selected=[(0, 0)])
    np.testing.assert_array_equal(arcs.predictions.governors, plain)


def test_a_relation_passes_through_figures_without_relations(
    model: AttentionModel, found: RelationAccuracies
) -> None:
    table = RelationTable(found)
    arcs = DependencyArcs(model, SENTENCES)
    attention = model.attend("Cats eat fish")
    grid = HeadGrid(attention)
    view = HeadView(attention)
    table.choose("nsubj")
    link_figures(grid, table), link_figures(view, grid)
    last = link_figures(view, arcs)
    assert arcs.relation == "nsubj" and arcs.direction == table.direction
    arcs.relation = "det"
    arcs.direction = DIRECTIONS[1]
    assert (table.relation, table.direction) == ("det", DIRECTIONS[1])
    last.unlink()
    table.relation = "obj"
    assert arcs.relation == "det"
    # A figure without words of the relation shows all words, and does not report that back.
    few = DependencyArcs(model, SENTENCES[1:2])
    link_figures(view, few)
    table.relation = "det"
    assert (table.relation, few.relation) == ("det", "all")
    link_figures(grid, arcs, traits=["selected"])
    table.relation = "obj"
    assert arcs.relation == "det"


def test_a_relation_missing_in_a_linked_figure_shows_all_words_there(
    model: AttentionModel, found: RelationAccuracies
) -> None:
    table = RelationTable(found)
    arcs = DependencyArcs(model, SENTENCES[1:2])
    link_figures(table, arcs)
    table.choose("det")
    assert (table.relation, arcs.relation) == ("det", "all")


@pytest.mark.slow
@pytest.mark.parametrize("widget", ["table", "arcs"])
def test_every_trait_has_help_repr_is_short_and_closing_frees(
    model: AttentionModel, found: RelationAccuracies, widget: str
) -> None:
    before = len(ipywidgets.widgets.widget._instances)
    made = RelationTable(found) if widget == "table" else DependencyArcs(model, SENTENCES)
    own = set(made.trait_names()) - set(ipywidgets.DOMWidget.class_trait_names())
    public = [name for name in own if not name.startswith("_") and name != "comm"]
    assert all(made.traits()[name].help for name in public)
    assert repr(made).startswith(f"{type(made).__name__}(") and len(repr(made)) < 110
    freed = weakref.ref(made)
    made.close()
    del made
    gc.collect()
    assert freed() is None
    assert len(ipywidgets.widgets.widget._instances) == before
