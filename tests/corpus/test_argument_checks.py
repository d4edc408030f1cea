"""What studies say to input that is none of theirs, before anything is computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attnwidget import AttentionModel, load_model, measure
from attnwidget.corpus.segmenting import make_segments
from attnwidget.metrics import induction_scores
from attnwidget.text.coreference import Document
from attnwidget.text.treebank import Sentence
from attnwidget.words import probe_coreference, probe_features, probe_links, probe_relations
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build

CATS = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
ANN = Document.from_spans(["Ann", "saw", "her"], [(0, 0, "ann"), (2, 2, "ann")])


@pytest.mark.parametrize(
    ("study", "given", "said"),
    [
        (probe_relations, "dev.conllu", r"expected a list, got 'dev.conllu': .*load_treebank"),
        (probe_relations, Path("dev.conllu"), "load_treebank"),
        (probe_relations, None, "expected a list, got NoneType"),
        (probe_relations, CATS, "expected a list, got Sentence"),
        (probe_relations, [CATS, ANN], r"list of Sentence, got Document at 1: .*load_treebank"),
        (probe_features, [ANN], "list of Sentence, got Document at 0"),
        (probe_links, [CATS], r"list of LinkedSentence, got Sentence at 0: .*subject_verb_links"),
        (probe_coreference, [CATS], r"list of Document, got Sentence at 0: .*load_coreference"),
        (probe_coreference, "gum.conllu", "load_coreference"),
    ],
)
def test_what_is_no_list_of_its_kind(
    model: AttentionModel, study: Any, given: Any, said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        study(model, given, progress=False)


@pytest.mark.parametrize("given", ["a text", ["a text"], None])
def test_segments_are_no_texts(model: AttentionModel, given: Any) -> None:
    with pytest.raises(TypeError, match=r"expected a list.*make_segments"):
        measure(model, given, ["entropy"], progress=False)


@pytest.mark.parametrize("no_model", [None, "bert-base-uncased"])
def test_a_study_wants_a_model(model: AttentionModel, no_model: Any) -> None:
    segments = make_segments(["The cat sat."], model, max_tokens=16)
    for run in (
        lambda: measure(no_model, segments, ["entropy"], progress=False),
        lambda: probe_relations(no_model, [CATS], progress=False),
    ):
        with pytest.raises(TypeError, match=r"reads a model, got .*load_model\(\)"):
            run()


def test_a_prediction_is_of_a_sentence(model: AttentionModel) -> None:
    found = probe_relations(model, [CATS], progress=False)
    with pytest.raises(TypeError, match=r"got int at 0: pass one of the treebank"):
        found.predictions(0)  # type: ignore[arg-type]


def test_a_resume_file_without_its_folder_costs_no_work(
    model: AttentionModel, tmp_path: Path
) -> None:
    segments = make_segments(["The cat sat."], model, max_tokens=16)
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere.* resume file 'run.npz'"):
        measure(model, segments, ["entropy"], resume=tmp_path / "nowhere/run.npz")


def test_induction_says_which_length_fits() -> None:
    model = load_model(build("gpt2"), word_tokenizer())
    with pytest.raises(ValueError, match=r"reads \d+ at most: make length smaller"):
        induction_scores(model, n_sequences=1, length=50)


def test_half_a_character_is_said(model: AttentionModel) -> None:
    with pytest.raises(ValueError, match=r"half a character \('.ud83d'\) at 4"):
        model.attend("cat \ud83d sat")
