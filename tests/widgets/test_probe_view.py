"""What a trained probe answers for a sentence: what the page gets, and which heads are selected."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import traitlets
from numpy.typing import NDArray

from attnwidget import HeadGrid, ProbeView, explore, link_figures, load_model
from attnwidget.demo import demo_treebank
from attnwidget.probes import train_dependency_probe, train_structural_probe
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.structural.structural_result import StructuralProbe
from fixtures.recording import from_page, on_page
from fixtures.shown_code import shown_by
from refusals import naming

SENTENCES = demo_treebank()[:46]
SHOWN = SENTENCES[36:]


@pytest.fixture(scope="module")
def probe() -> DependencyProbe:
    return train_dependency_probe(
        load_model(), SENTENCES[:36], SHOWN, seeds=1, epochs=8, progress=False
    )


@pytest.fixture(scope="module")
def structural() -> StructuralProbe:
    return train_structural_probe(
        load_model(), SENTENCES[:36], SHOWN, layers=[1, 2], rank=[2, 8], epochs=2, progress=False
    )


def array(wire: dict) -> NDArray:
    return np.frombuffer(bytes(wire["view"]), wire["dtype"]).reshape(wire["shape"])


@pytest.mark.slow
def test_the_page_gets_what_the_probe_answers(probe: DependencyProbe) -> None:
    view = ProbeView(probe, SHOWN, sentence=3)
    view.open()
    found = probe.predictions(SHOWN[3])
    sent = on_page(view, "drawn")["predicted"]
    assert (array(sent["governors"]) == found.governors).all()
    assert np.allclose(array(sent["map"]), found.probabilities[:, 1:])
    assert np.allclose(array(sent["root"]), found.probabilities[:, 0])
    votes = sent["votes"]
    places, values, sums = (array(votes[name]) for name in ("places", "values", "sums"))
    for word, governor in enumerate(found.governors):
        own = found.votes[..., word, governor]
        assert np.allclose(own.ravel()[places[word]], values[word])
        assert np.isclose(np.abs(own).max(), abs(values[word, 0]))
        assert np.isclose(sums[word], found.scores[word, governor], atol=1e-5)
    assert on_page(view, "drawn")["head"] is None
    answerer = {"kind": "dependency probe", "name": "probe of attention"}
    assert on_page(view, "source")["answerer"] == answerer
    view.close()


@pytest.mark.slow
def test_a_word_selects_the_heads_that_spoke_for_its_governor(probe: DependencyProbe) -> None:
    view = ProbeView(probe, SHOWN, sentence=3)
    grid = HeadGrid(load_model().attend(SHOWN[3].text))
    view.open()
    with link_figures(view, grid):
        from_page(view, {"word": 2})
        votes = view.votes.sum(-1)
        chosen = [votes[head[:2]] for head in view.selected]
        assert chosen == sorted(votes.ravel())[-3:] and grid.selected == view.selected
        (title,) = view.vote_metric
        words = SHOWN[3].words
        governor = view.answers.governors[2]
        assert title == f"vote for “{words[2]} → {words[governor - 1] if governor else 'root'}”"
        grid.metrics = view.vote_metric
        grid.metric = title
        drawn = on_page(view, "drawn")
        grid.selected = [(0, 0)]
        assert view.head[:2] == (0, 0) and on_page(view, "drawn") is drawn
    view.sentence = 4
    assert view.word is None and view.votes is None and view.vote_metric == {}
    with pytest.raises(traitlets.TraitError, match=naming("'word'", "0 to 14", "got 500")):
        view.word = 500
    view.close()


@pytest.mark.slow
def test_the_next_sentence_with_a_wrong_answer(probe: DependencyProbe) -> None:
    view = ProbeView(probe, SHOWN, relation="nsubj")
    view.open()
    found = view.jump("wrong")
    assert found is not None and view.sentence == found
    own = probe.predictions(SHOWN[found])
    wrong = own.governors != np.array(SHOWN[found].governors)
    assert any(wrong[i] for i, relation in enumerate(SHOWN[found].relations) if relation == "nsubj")
    view.close()


def test_captions_pages_and_code_speak_of_the_probe(probe: DependencyProbe, tmp_path: Path) -> None:
    view = ProbeView(probe, SHOWN, sentence=2, word=1)
    caption = str(view.caption)
    table = view.figure().table
    assert ("probe of attention" in caption and "score +" in caption) or "score −" in caption
    assert list(table.columns)[-2:] == ["probability", "right or wrong"]
    assert len(table) == len(SHOWN[2])  # the root's word too
    governors = probe.predictions(SHOWN[2]).governors
    assert [cell == "root" for cell in table["predicted"]] == (governors == 0).tolist()
    assert "most by L" in view.figure().svg
    assert "bars: how likely each is its governor" in view.figure().svg
    page = view.save(tmp_path / "probe.html").read_text("utf-8")
    data = json.loads(re.search(r'id="attnw-data">(.*?)</script>', page, re.S)[1])
    (held,) = data["figures"]
    assert held["state"]["_drawn"]["words"] == list(SHOWN[2].words)
    assert held["state"]["_source"]["count"] == 1
    assert held["state"]["sentence"] == held["state"]["_drawn"]["sentence"] == 0
    assert view.code().endswith("word=1)") and "ProbeView(probe, sentences" in view.code()
    view.close()


@pytest.mark.slow
def test_the_explorer_has_a_probe_for_its_arcs(probe: DependencyProbe) -> None:
    explorer = explore(load_model(), "The cat sat.", treebank=list(SHOWN), probe=probe)
    try:
        assert explorer.wait()
        assert isinstance(explorer.arcs, ProbeView)
        explorer.arcs.word = 1
        assert explorer.selected == explorer.grid.selected == explorer.arcs.selected
        explorer.choose("det")
        words = [SHOWN[explorer.arcs.sentence].relations, explorer.arcs.answers.governors]
        assert any(relation == "det" for relation in words[0])
        assert "probe=probe" in explorer.code()
        again = shown_by(explorer.code(), treebank=list(SHOWN), probe=probe)
        assert again.arcs.sentence == explorer.arcs.sentence
        again.close()
    finally:
        explorer.close()
    with pytest.raises(
        ValueError,
        match=naming("small BERT (in the package)", "small BERT for genres", "train a probe"),
    ):
        explore(load_model("attnwidget/genre"), probe=probe)


@pytest.mark.slow
def test_the_page_gets_the_tree_of_the_layer(structural: StructuralProbe) -> None:
    view = ProbeView(structural, SHOWN, sentence=3, layer=1)
    assert ProbeView(structural, SHOWN).layer == structural.best_layer
    view.open()
    for layer in (1, 2):
        view.layer = layer
        found = structural.predictions(SHOWN[3], layer=layer)
        sent = on_page(view, "drawn")["structure"]
        assert (view.answers.layer, view.answers.rank, sent["layer"]) == (layer, 8, layer)
        links = array(sent["links"]).tolist()
        assert [tuple(link[:2]) for link in links] == list(found.edges)
        assert [bool(right) for *_, right in links] == [
            edge in found.gold_edges for edge in found.edges
        ]
        assert (array(sent["gold"]) == found.gold_distances).all()
        assert np.allclose(array(sent["distances"]), found.distances, rtol=1e-6)
        assert (array(sent["found"]) == found.found).all() and sent["root"] == found.root
        value = 100 * structural.scores[-1, 0, 0, layer - 1]
        assert on_page(view, "source")["note"].startswith(f"UUAS {value:.1f}\xa0%")
    drawn = on_page(view, "drawn")
    view.word = 4
    assert on_page(view, "drawn") is drawn and view.votes is None and view.vote_metric == {}
    view.layer = 5
    assert (
        "layer must be 1 or 2, got 5" in on_page(view, "drawn")["problem"]
        and on_page(view, "source")["note"] == ""
    )
    view.close()


@pytest.mark.slow
def test_found_words_are_words_with_a_right_edge(structural: StructuralProbe) -> None:
    for sentence in SHOWN:
        tree = structural.predictions(sentence)
        gold = {*tree.gold_edges}
        found = tree.found
        # No word here hangs on punctuation: every edge is that of a word.
        assert (found >= 0).sum() == len(gold) + 1
        edges = (found == 1).sum() - (tree.root == tree.gold_root)
        assert edges == len({*tree.edges} & gold)
        assert all((found[i] < 0) == (tag in ",.:") for i, tag in enumerate(sentence.xpos))


@pytest.mark.slow
def test_the_next_sentence_where_a_structural_probe_is_right(structural: StructuralProbe) -> None:
    view = ProbeView(structural, SHOWN, relation="nsubj")
    view.open()
    for outcome in ("right", "wrong"):
        index = view.jump(outcome)
        assert index is not None
        found = structural.predictions(SHOWN[index]).found
        own = [found[i] for i, one in enumerate(SHOWN[index].relations) if one == "nsubj"]
        assert (outcome == "right") in own
    view.close()


@pytest.mark.slow
def test_a_structural_probe_is_saved_with_all_its_layers(
    structural: StructuralProbe, tmp_path: Path
) -> None:
    view = ProbeView(structural, SHOWN, sentence=2, word=1, layer=2)
    caption = str(view.caption)
    table = view.figure().table
    assert "structural probe, layer 2" in caption and "minimum spanning tree" in caption
    assert list(table.columns)[-3:] == ["linked to", "right or wrong", "predicted depth"]
    outcomes = {"right": 1, "wrong": 0, "not counted": -1}
    assert [outcomes[one] for one in table["right or wrong"]] == view.answers.found.tolist()
    svg = view.figure().svg
    assert "annotated distances" in svg and "predicted (annotated) distances:" in svg
    page = view.save(tmp_path / "probe.html").read_text("utf-8")
    data = json.loads(re.search(r'id="attnw-data">(.*?)</script>', page, re.S)[1])
    (held,) = data["figures"]
    drawn = held["own"]["probe"]
    assert drawn["1"]["structure"]["layer"] == 1 and drawn["2"]["structure"]["layer"] == 2
    assert "layer must be 1 or 2" in drawn["0"]["problem"] and drawn["2"]["sentence"] == 0
    notes = held["own"]["notes"]
    assert notes["0"] == "" and notes["2"] == held["state"]["_source"]["note"] != notes["1"]
    for suffix in ("svg", "pdf", "png"):
        assert view.save(tmp_path / f"probe.{suffix}").stat().st_size > 1000
    view.close()


@pytest.mark.slow
def test_the_explorer_has_the_tree_of_the_stepped_layer(structural: StructuralProbe) -> None:
    explorer = explore(load_model(), "The cat sat.", treebank=list(SHOWN), probe=structural)
    try:
        assert explorer.wait()
        for layer in (1, 2):
            explorer.layer = layer
            assert explorer.arcs.answers.layer == layer
        again = shown_by(explorer.code(), treebank=list(SHOWN), probe=structural)
        assert again.wait()
        assert again.arcs.answers.layer == 2
        again.close()
    finally:
        explorer.close()


@pytest.mark.slow
def test_what_is_no_probe_is_refused(probe: DependencyProbe) -> None:
    with pytest.raises(TypeError, match=naming("ProbeView", "AttentionModel")):
        ProbeView(probe.model, SHOWN)
    with pytest.raises(ValueError, match=naming("no model", "load_probe")):
        ProbeView(replace(probe, model=None), SHOWN)
    with pytest.raises(TypeError, match=naming("probe", "leave direction out")):
        ProbeView(probe, SHOWN, direction="governor to dependent")
    assert not ProbeView(probe, SHOWN).has_trait("direction")
    with probe.model.disabled([(1, 2)]):
        view = ProbeView(probe, SHOWN)
        view.open()
        assert (
            "other weights" in on_page(view, "drawn")["problem"]
            and on_page(view, "drawn")["predicted"] is None
        )
        view.close()
