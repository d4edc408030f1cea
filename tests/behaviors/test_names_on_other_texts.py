"""Stored names of the bundled model on other texts, their page, and the script behind both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import measure_names
from attnwidget import AttentionModel, atlas
from attnwidget.demo import demo_atlas, demo_documents, demo_prose, demo_treebank
from attnwidget.results import Atlas

FOLDER = Path(measure_names.__file__).parent
NAMES = json.loads((FOLDER / "names_on_other_texts.json").read_text("utf-8"))
RULES = json.loads((FOLDER / "rules_of_names.json").read_text("utf-8"))
PAGE = FOLDER.parent / "pages" / "analyses" / "names-on-other-texts.md"


def test_the_page_has_the_stored_tables() -> None:
    page = PAGE.read_text("utf-8")
    assert "\n".join(measure_names.names_table(NAMES)) in page
    for model, measured in RULES.items():
        assert "\n".join(measure_names.rules_table(measured)) in page, model
        heading = f"| {measured['n_texts']} |"
        assert any(model in line and heading in line for line in page.splitlines()), model


def test_the_stored_names_are_of_the_bundled_atlas() -> None:
    assert list(NAMES) == ["package", "EWT", "GUM"]
    names = np.array(NAMES["package"]["names"])
    assert np.array_equal(names, demo_atlas().names)
    rules = RULES["small BERT"]
    assert rules["n_heads"] == 72
    stored = {row["head"]: row["name"] for row in rules["heads"]}
    named = {f"L{layer} H{head}": names[layer, head] for layer, head in np.argwhere(names != "")}
    assert stored == named


@pytest.mark.parametrize(
    ("names", "runners_up", "said"),
    [
        (["next token", "next token", "next token"], ["", "", ""], "stands"),
        (["next token", "broad", "next token"], ["", "next token", ""], "stands"),
        (["next token", "", "next token"], ["", "", ""], "falls in part"),
        (["next token", "", "broad"], ["", "", ""], "falls"),
        (["pronoun to its person", measure_names.WITHOUT, ""], ["", "", ""], "falls"),
        (["rests on [CLS]", "induction", "rests on [CLS]"], ["", "", ""], "added"),
        (["", "", "induction"], ["", "", ""], "added"),
        (["rests on [CLS]", "", ""], ["", "", ""], "falls"),
        (["", "rests on [CLS]", ""], ["", "", ""], "no name"),
    ],
)
def test_a_name_stands_where_it_names_the_head_again(
    names: list[str], runners_up: list[str], said: str
) -> None:
    assert measure_names.verdict(names, runners_up) == said


def test_rules_that_recover_nothing_are_printed() -> None:
    effect: dict[str, Any] = {"work": "recovers nothing", "recovered": [0.1, -0.2, 0.3]}
    assert measure_names.recovered(effect) == ("**recovers nothing**: 10 % (−20 % to 30 %)")
    part = {"work": "part of its work", "recovered": [0.5, 0.2, None]}
    assert measure_names.recovered(part) == "50 % (20 % to ∞)"
    for work, said in (("head not needed", "not needed"), ("not shown", "not shown")):
        assert measure_names.recovered({"work": work}) == said
    assert measure_names.recovered(None) == measure_names.recovered({"work": ""}) == "–"


def test_the_script_measures_names_and_rules(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sentences, documents = demo_treebank()[:24], demo_documents()[:12]

    def small_atlas(model: AttentionModel, *texts: Any, **options: Any) -> Atlas:
        """An atlas of few behaviors and texts."""
        names = ["previous token", "rests on [CLS]", "pronoun to its person"]
        options |= {"behaviors": names, "n_random_models": 0, "progress": False}
        options["treebank"] = ()
        options.setdefault("documents", documents)
        return atlas(model, *texts, **options)

    monkeypatch.setattr(measure_names, "atlas", small_atlas)
    monkeypatch.setattr(measure_names, "load_treebank", lambda path: sentences)
    monkeypatch.setattr(measure_names, "load_coreference", lambda path: documents)
    out = tmp_path / "rules.json"
    files = ["--ewt", "ewt", "--gum", "gum", "--out", str(out)]
    measure_names.main(["rules", *files, "--texts", "4", "--sentences", "6", "--title", "bert"])
    found = json.loads(out.read_text("utf-8"))["bert"]
    assert (found["n_heads"], found["n_texts"], found["n_sentences"]) == (72, 4, 6)
    row = next(row for row in found["heads"] if row["head"] == "L0 H2")
    assert row["name"] == "previous token" and row["coverage"] > 0.9 and row["applied"] > 0.9
    assert sum(row["shares"]) == pytest.approx(1, abs=1e-3)
    assert [effect["group"] for effect in row["effects"]] == ["the word itself", "the other words"]
    assert not any(word in out.read_text("utf-8") for word in sentences[0].words if len(word) > 5)
    names = tmp_path / "names.json"
    monkeypatch.setattr(measure_names, "paragraphs", lambda sentences: _paragraphs())
    monkeypatch.setattr(measure_names, "SEGMENTS", 16)
    files[-1] = str(names)
    measure_names.main(["names", *files])
    stored = json.loads(names.read_text("utf-8"))
    assert list(stored) == ["package", "EWT", "GUM"]
    assert stored["EWT"]["names"][0][2] == "previous token"
    assert stored["EWT"]["texts"] == "16 segments, 24 sentences, 0 documents"


def _paragraphs() -> list[list[str]]:
    passages = demo_prose().read_text("utf-8").split("\n\n")
    return [passage.splitlines() for passage in passages]
