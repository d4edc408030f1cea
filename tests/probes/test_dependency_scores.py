"""Scores of dependency probes side by side, and the stored scores of the bundled model."""

from __future__ import annotations

import json
import runpy
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from attnwidget import load_model, load_treebank
from attnwidget.demo import demo_dependency_scores, demo_probe, demo_treebank
from attnwidget.probes import compare_dependency_probes, train_dependency_probe
from attnwidget.probes.dependency.dependency_scores import (
    PAPER_UAS,
    scores_from_json,
    scores_to_json,
)
from attnwidget.results import DependencyProbe, WordVectors
from refusals import naming

SCRIPT = Path(__file__).parents[2] / "docs" / "models" / "measure_dependency_probes.py"


def vectors() -> WordVectors:
    words = sorted({word.lower() for sentence in demo_treebank() for word in sentence.words})
    return WordVectors(words, np.random.default_rng(0).normal(size=(len(words), 4)))


@pytest.fixture(scope="module")
def probes() -> list[DependencyProbe]:
    sentences = demo_treebank()
    return [
        train_dependency_probe(
            load_model(),
            sentences[:12],
            sentences[100:],
            kind,
            vectors=vectors() if kind == "attention+words" else None,
            untrained=kind == "attention+words",
            seeds=2,
            progress=False,
        )
        for kind in ("attention", "attention+words")
    ]


def test_rows_are_in_the_papers_order(probes: list[DependencyProbe]) -> None:
    found = compare_dependency_probes(probes[::-1])
    frame = found.to_frame().set_index("predictor")
    assert frame.index.tolist() == list(PAPER_UAS)
    attention, with_words = probes
    assert frame.loc["attention", "uas"] == attention.uas
    assert frame.loc["attention+words", "uas"] == with_words.uas
    assert frame.loc["random weights", "uas"] == with_words.baselines["untrained"].uas
    assert frame["in the paper"].tolist() == [0.26, 0.58, 0.30, 0.61, 0.77]
    assert np.isnan(frame.loc["right-branching", "spread"])
    assert found.data == "trained on 12 sentences"
    best = frame["uas"].idxmax()
    assert found.finding.startswith(f"{best} finds {100 * frame['uas'].max():.0f} % of")
    (rows,) = found.chart().to_dict()["datasets"].values()
    assert [row["tick"] for row in rows] == frame["in the paper"].tolist()


def test_probes_that_cannot_be_compared_are_refused(probes: list[DependencyProbe]) -> None:
    with pytest.raises(ValueError, match=naming("train_dependency_probe")):
        compare_dependency_probes([])
    with pytest.raises(ValueError, match=naming("different kinds", "attention, attention")):
        compare_dependency_probes([probes[0], probes[0]])
    with pytest.raises(ValueError, match=naming("one model", "another")):
        compare_dependency_probes([probes[0], replace(probes[1], model_name="another")])
    sentences = demo_treebank()
    shorter = train_dependency_probe(
        load_model(), sentences[:5], sentences[90:94], seeds=1, progress=False
    )
    with pytest.raises(ValueError, match=naming("same sentences")):
        compare_dependency_probes([shorter, probes[1]])


def test_the_stored_scores_are_of_the_bundled_model() -> None:
    found = demo_dependency_scores()
    assert found.model_name == demo_probe().model_name
    shares = {score.predictor: score.uas for score in found.scores}
    assert list(shares) == list(PAPER_UAS)
    assert shares["random weights"] < shares["right-branching"] < shares["attention"]
    assert shares["attention"] < shares["distances+words"] < shares["attention+words"]
    assert all(score.low < score.uas < score.high for score in found.scores)
    text = files("attnwidget").joinpath("demo/dependency_scores.json").read_text("utf-8")
    assert scores_to_json(scores_from_json(json.loads(text))) == json.loads(text)


@pytest.mark.data
def test_the_stored_right_branching_score_is_counted_again(data: Path) -> None:
    right = words = 0
    for sentence in load_treebank(data / "ewt" / "en_ewt-ud-dev.conllu.gz"):
        for place, (governor, relation) in enumerate(
            zip(sentence.governors, sentence.relations, strict=True), 1
        ):
            if relation.partition(":")[0] != "punct":
                words += 1
                right += governor == min(place + 1, len(sentence))
    assert demo_dependency_scores().scores[0].uas == pytest.approx(right / words, abs=1e-5)


def test_the_script_writes_scores_and_no_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--help"])
    script = runpy.run_path(str(SCRIPT))
    sentences = demo_treebank()
    parts = {"train": sentences[:8], "dev": sentences[100:104]}
    names = script["main"].__globals__
    monkeypatch.setitem(names, "load_treebank", lambda path: parts[path.name])
    monkeypatch.setitem(names, "load_vectors", lambda path: vectors())
    out = tmp_path / "scores.json"
    arguments = {"train": "train", "dev": "dev", "vectors": "vectors"}
    arguments |= {"cache": str(tmp_path / "maps"), "out": str(out)}
    script["main"]([part for name, value in arguments.items() for part in (f"--{name}", value)])
    found = scores_from_json(json.loads(out.read_text("utf-8")))
    assert [score.predictor for score in found.scores] == list(PAPER_UAS)
    assert found.data == "trained on 8 and scored on 4 sentences of UD English EWT"
