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
from refusals import naming

CATS = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
ANN = Document.from_spans(["Ann", "saw", "her"], [(0, 0, "ann"), (2, 2, "ann")])


@pytest.mark.parametrize(
    ("study", "given", "parts"),
    [
        (probe_relations, "dev.conllu", ("list", "'dev.conllu'", "load_treebank")),
        (probe_relations, Path("dev.conllu"), ("load_treebank", "PosixPath", "list")),
        (probe_relations, None, ("list", "NoneType", "load_treebank")),
        (probe_relations, CATS, ("list", "got Sentence", "load_treebank")),
        (probe_relations, [CATS, ANN], ("Sentence", "Document at 1", "load_treebank")),
        (probe_features, [ANN], ("Sentence", "Document at 0", "load_treebank")),
        (
            probe_links,
            [CATS],
            ("LinkedSentence", "Sentence at 0", "load_links", "subject_verb_links"),
        ),
        (probe_coreference, [CATS], ("Document", "Sentence at 0", "load_coreference")),
        (probe_coreference, "gum.conllu", ("load_coreference", "'gum.conllu'")),
    ],
)
def test_what_is_no_list_of_its_kind(
    model: AttentionModel, study: Any, given: Any, parts: tuple[str, ...]
) -> None:
    with pytest.raises(TypeError, match=naming(*parts)):
        study(model, given, progress=False)


@pytest.mark.parametrize("given", [None, [3], [CATS]])
def test_a_study_of_segments_names_what_it_reads(model: AttentionModel, given: Any) -> None:
    with pytest.raises(TypeError, match=naming("list", "read_segments", "make_segments")):
        measure(model, given, ["entropy"], progress=False)


@pytest.mark.parametrize("no_model", [None, "bert-base-uncased"])
def test_a_study_wants_a_model(model: AttentionModel, no_model: Any) -> None:
    segments = make_segments(["The cat sat."], model, max_tokens=16)
    for run in (
        lambda: measure(no_model, segments, ["entropy"], progress=False),
        lambda: probe_relations(no_model, [CATS], progress=False),
    ):
        with pytest.raises(TypeError, match=naming("load_model()", "study")):
            run()


def test_a_prediction_is_of_a_sentence(model: AttentionModel) -> None:
    found = probe_relations(model, [CATS], progress=False)
    with pytest.raises(TypeError, match=naming("int at 0", "treebank[0]")):
        found.predictions(0)  # type: ignore[arg-type]


def test_a_resume_file_without_its_folder_costs_no_work(
    model: AttentionModel, tmp_path: Path
) -> None:
    segments = make_segments(["The cat sat."], model, max_tokens=16)
    with pytest.raises(FileNotFoundError, match=naming("nowhere", "'run.npz'")):
        measure(model, segments, ["entropy"], resume=tmp_path / "nowhere/run.npz")


def test_induction_says_which_length_fits() -> None:
    model = load_model(build("gpt2"), word_tokenizer())
    with pytest.raises(ValueError, match=naming("64", "length")):
        induction_scores(model, n_sequences=1, length=50)


def test_half_a_character_is_said(model: AttentionModel) -> None:
    with pytest.raises(ValueError, match=naming("'\\ud83d'", "at 4")):
        model.attend("cat \ud83d sat")
