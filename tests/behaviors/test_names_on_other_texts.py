"""Stored names of the bundled model on other texts, their page, and the script behind both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import measure_names
from attnwidget import AttentionModel, Head, atlas, load_atlas, load_model
from attnwidget.demo import demo_atlas, demo_documents, demo_prose, demo_treebank
from attnwidget.results import Atlas

FOLDER = Path(measure_names.__file__).parent
NAMES = json.loads((FOLDER / "names_on_other_texts.json").read_text("utf-8"))
RULES = json.loads((FOLDER / "rules_of_names.json").read_text("utf-8"))
PAGE = FOLDER.parent / "pages" / "analyses" / "names-on-other-texts.md"


def test_the_page_has_the_stored_tables() -> None:
    page = PAGE.read_text("utf-8")
    assert "\n".join(measure_names.names_table(NAMES)) in page
    bundled = {"small BERT": measure_names.rounded(measure_names.rows_of(demo_atlas()))}
    measured = bundled | RULES
    assert "\n".join(measure_names.models_table(measured)) in page
    for title, rows in measured.items():
        start = page.lower().index(f"### {title.lower()}")
        assert "\n".join(measure_names.rules_table(rows)) in page[start:], title


def test_the_stored_names_are_of_the_bundled_atlas() -> None:
    assert list(NAMES) == ["package", "EWT", "GUM"]
    names = np.array(NAMES["package"]["names"])
    assert np.array_equal(names, demo_atlas().names)
    rules = measure_names.rows_of(demo_atlas())
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
    few = ["--texts", "4", "--passages", "3", "--sentences", "6"]
    measure_names.main(["rules", *files, *few, "--title", "bert"])
    found = json.loads(out.read_text("utf-8"))["bert"]
    assert found["n_heads"] == 72
    assert found["texts"] == ["4 sentences of UD English EWT", "3 passages of GUM"]
    assert found["shares_texts"] == "6 sentences of UD English EWT"
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


def test_rules_of_an_atlas_go_into_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure_names, "load_treebank", lambda path: demo_treebank()[:8])
    monkeypatch.setattr(measure_names, "load_coreference", lambda path: demo_documents()[:2])
    file = tmp_path / "atlas.json"
    demo_atlas().save(file)
    files = ["--ewt", "ewt", "--gum", "gum"]
    few = ["--texts", "3", "--passages", "0", "--sentences", "0"]
    measure_names.main(["rules", *files, "--atlas", str(file), *few])
    found = load_atlas(file)
    previous, pronoun = found.card("L0 H2").rule, found.card("L1 H3").rule
    assert previous is not None and previous.texts == "3 sentences of UD English EWT"
    assert pronoun is not None and pronoun.texts == "300 passages of GUM"
    assert found.explained_texts == demo_atlas().explained_texts
    with pytest.raises(SystemExit):
        measure_names.main(["rules", *files])
    assert "pass --out" in capsys.readouterr().err


def test_a_model_without_words_has_coverage_and_no_effects() -> None:
    model = load_model("attnwidget/genre", device="cpu")
    treebank, documents = demo_treebank()[:8], demo_documents()[:2]
    passages, rule = measure_names.pronoun_passages(model, documents)
    rules = {Head(0, 2): "previous token", Head(2, 8): "determiner to its noun"}
    found = measure_names.measured_rules(model, treebank, rules, None)
    assert [rule.rule for rule in found.rules] == list(rules.values())
    assert not any(rule.effects for rule in found.rules)
    assert found.rules[0].coverage.coverage > 0.9
    of_pronouns = measure_names.measured_rules(model, passages, {Head(1, 3): rule}, None)
    assert of_pronouns.n_texts == len(passages) and 0 < of_pronouns.rules[0].coverage.applied < 0.2


def _paragraphs() -> list[list[str]]:
    passages = demo_prose().read_text("utf-8").split("\n\n")
    return [passage.splitlines() for passage in passages]
