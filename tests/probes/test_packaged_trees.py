"""The packaged structural probe: scores on further sentences, edge lengths, and kept maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attnwidget import ProbeView, load_model, load_probe
from attnwidget.demo import demo_probe, demo_treebank
from attnwidget.probes import train_structural_probe
from attnwidget.probes.structural.structural_result import StructuralProbe
from refusals import naming

TREES = demo_treebank()
SOME = TREES[90:]


@pytest.fixture(scope="module")
def probe() -> StructuralProbe:
    return demo_probe("trees")


@pytest.fixture(scope="module")
def weak() -> StructuralProbe:
    """A probe of six sentences, which is worse than the chain."""
    options = {"layers": [2], "rank": 4, "epochs": 1, "progress": False}
    return train_structural_probe(load_model(), TREES[:6], TREES[6:14], **options)


def test_it_has_the_scores_of_all_layers_and_the_maps_of_one(probe: StructuralProbe) -> None:
    assert probe.uuas.shape == (8, 6) and probe.complete and probe.untrained is not None
    assert (probe.map_layers, probe.map_ranks, probe.best_map_layer) == ((2,), (32,), 2)
    # The numbers of its model card.
    assert probe.uuas[5, 2] == pytest.approx(0.672, abs=5e-4)
    assert probe.chain[0, 0] == pytest.approx(0.431, abs=5e-4)
    assert probe.finding == "L2 has 68 % of the edges of the trees, the chain has 43 %"
    by_layer = str(probe.chart("layer").to_dict())
    assert "chain 0.43" in by_layer and "untrained" in by_layer and probe.finding in by_layer
    by_rank = str(probe.chart("rank", layer=2, width=320).to_dict())
    assert "'type': 'log'" in by_rank and "[1, 2, 4, 8, 16, 32, 64, 240]" in by_rank
    with pytest.raises(ValueError, match=naming("kind", "'tree'", "'trees'")):
        demo_probe("tree")  # type: ignore[call-overload]


def test_scores_on_further_sentences_are_those_of_single_predictions(
    probe: StructuralProbe,
) -> None:
    score = probe.score(SOME, progress=False)
    shared = edges = roots = 0
    for sentence in SOME:
        tree = probe.predictions(sentence)
        shared += len({*tree.edges} & {*tree.gold_edges})
        edges += len(tree.gold_edges)
        roots += tree.root == tree.gold_root
    assert score.uuas == shared / edges and score.root_accuracy == roots / len(SOME)
    assert score.n_sentences == len(SOME) and score.uuas > score.chain[0, 0] > 0.3
    assert 0 < score.nspr < 1 and 0 < score.dspr < 1
    assert len(score.to_frame()) == 8 and "more than the chain" in score.finding
    assert "root accuracy" in str(score.chart(width=320).to_dict())
    assert f"{score.uuas:.1%}" in repr(score)


def test_edge_lengths_are_the_predicted_distances_of_edges(probe: StructuralProbe) -> None:
    found = probe.edge_lengths(SOME, progress=False)
    own: dict[str, list[float]] = {}
    for sentence in SOME:
        tree = probe.predictions(sentence)
        marks = {i for i, tag in enumerate(sentence.xpos) if tag in ("''", ",", ".", ":", "``")}
        for word, governor in enumerate(sentence.governors):
            if governor and not {word, governor - 1} & marks:
                length = tree.distances[word, governor - 1]
                own.setdefault(sentence.relations[word], []).append(length)
    frame = found.to_frame().set_index("relation")
    assert {*frame.index} == {*own}
    for relation, lengths in own.items():
        assert frame.loc[relation, "n"] == len(lengths)
        assert frame.loc[relation, "length"] == pytest.approx(np.mean(lengths), rel=1e-4)
    assert frame["length"].is_monotonic_increasing
    drawn = str(found.chart(min_count=15, width=320).to_dict())
    assert "det (" in drawn and "strokeDash" in drawn
    with pytest.raises(ValueError, match=naming("999", "min_count")):
        found.chart(min_count=999)


def test_a_prediction_reads_the_sentence_once(probe: StructuralProbe) -> None:
    calls = []
    assert probe.model is not None
    # The first reading of a model compares its maps with another pass.
    probe.predictions(TREES[51])
    first_layer = probe.model.hf_model.bert.encoder.layer[0]
    handle = first_layer.register_forward_hook(lambda *_: calls.append(1))
    try:
        probe.predictions(TREES[50])
    finally:
        handle.remove()
    assert len(calls) == 1


def test_kept_maps_predict_the_same_after_a_file(
    probe: StructuralProbe, weak: StructuralProbe, tmp_path: Path
) -> None:
    one = weak.keep_maps(layer=2, rank=4)
    again = load_probe(one.save(tmp_path / "one.npz"), load_model())
    assert isinstance(again, StructuralProbe) and again.map_layers == (2,)
    before, after = (each.predictions(TREES[50]) for each in (weak, again))
    assert (before.distances == after.distances).all()
    with pytest.raises(ValueError, match=naming("layer", "2", "got 3")):
        probe.predictions(TREES[50], layer=3)
    with pytest.raises(ValueError, match=naming("rank", "32", "got 8")):
        probe.score(SOME, rank=8)
    with pytest.raises(ValueError, match=naming("layer", "2", "got 0")):
        probe.keep_maps(layer=0)


def test_titles_say_that_a_result_is_below_the_chain(
    probe: StructuralProbe, weak: StructuralProbe
) -> None:
    assert weak.uuas[0, 0] < weak.chain[0, 0]
    assert weak.finding.startswith("No layer has more edges of the trees than the chain (")
    assert "more edges of the trees than the chain" in str(weak.chart().to_dict()["title"])
    assert "below the chain" in str(ProbeView(weak, SOME).caption)
    view = ProbeView(probe, SOME)
    assert view.layer == 2 and "below the chain" not in str(view.caption)


def test_a_treebank_without_tags_of_the_training_is_scored_too(probe: StructuralProbe) -> None:
    from dataclasses import replace

    bare = [replace(sentence, xpos=(), tags=()) for sentence in SOME[:8]]
    score = probe.score(bare, progress=False)
    assert score.punctuation == "relation" and 0 < score.uuas <= 1
    assert 0 < probe.predictions(bare[0]).uuas <= 1
