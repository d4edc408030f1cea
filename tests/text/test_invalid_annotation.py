"""Annotation without its text is refused; invalid sentences and documents are left out on request.

The results of studies state how many were left out.
"""

from __future__ import annotations

import copy
import gzip
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attnwidget import (
    Document,
    Sentence,
    load_coreference,
    load_links,
    load_model,
    load_treebank,
    sentences_from_spacy,
)
from attnwidget.behaviors import find_links
from attnwidget.probes.features import extract_features
from attnwidget.text.loaded import Loaded
from attnwidget.words import (
    probe_coreference,
    probe_features,
    probe_links,
    probe_no_op,
    probe_relations,
    subject_verb_links,
)
from refusals import naming
from text.test_coreference import CONLL, COREFUD
from text.test_treebank_sources import Doc


def conllu(*rows: tuple[str, int, str, str]) -> str:
    lines = [
        f"{place}\t{word}\t_\t{tag}\t_\t_\t{governor}\t{relation}\t_\t_"
        for place, (word, governor, relation, tag) in enumerate(rows, 1)
    ]
    return "\n".join(lines) + "\n\n"


CATS = conllu(("Cats", 2, "nsubj", "NOUN"), ("purr", 0, "root", "VERB"), (".", 2, "punct", "PUNCT"))
CYCLE = CATS.replace("\t0\troot", "\t1\troot")
COLUMNS = CATS.replace("\t_\t_\n", "\n", 1)
NO_TEXT = CATS.replace("\tCats\t", "\t_\t").replace("\tpurr\t", "\t_\t")


def put(folder: Path, text: str | bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("esl.conllu", NO_TEXT.replace("\t.\t", "\t_\t")),
        ("lengths-and-punctuation.conllu", NO_TEXT.replace("\t_\t_\tNOUN", "\t____\t_\tNOUN")),
        ("one-word.conllu", conllu(("_", 0, "root", "VERB"))),
        ("no-tags.conllu", conllu(("_", 2, "nsubj", "_"), ("_", 0, "root", "_"))),
        ("pairs.txt", "_ 2-nsubj\n_ 0-root\n. 2-punct\n"),
        ("skeleton.txt", "[WORD] 2-nsubj\n[WORD] 0-root\n"),
    ],
)
@pytest.mark.parametrize("skip_invalid", [False, True])
def test_a_treebank_without_its_text_is_refused(
    tmp_path: Path, name: str, text: str, skip_invalid: bool
) -> None:
    path = put(tmp_path, text, name)
    with pytest.raises(ValueError, match=naming(f"{name}:1", "no text", "README")) as error:
        load_treebank(path, skip_invalid=skip_invalid)
    assert ("would be left out" in str(error.value)) == skip_invalid


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gum.conllu", COREFUD),
        ("skeleton.conll", CONLL),
    ],
)
def test_coreference_without_its_text_is_refused(tmp_path: Path, name: str, text: str) -> None:
    form, blank = (1, "_") if name == "gum.conllu" else (3, "[WORD]")
    lines = []
    for line in text.splitlines():
        columns = line.split("\t" if form == 1 else None)
        if len(columns) > 9:
            columns[form] = blank
        lines.append(("\t" if form == 1 else " ").join(columns))
    path = put(tmp_path, "\n".join(lines) + "\n", name)
    with pytest.raises(ValueError, match=naming(f"{name}:1", "no text", "README")):
        load_coreference(path)


def test_sentences_and_documents_made_of_placeholders_are_refused() -> None:
    with pytest.raises(ValueError, match=naming("'_ _'", "no text")):
        Sentence.from_lists(["_", "_"], [2, 0], ["nsubj", "root"])
    with pytest.raises(ValueError, match=naming("bc/x", "'[WORD]'", "no text")):
        Document.from_spans(["[WORD]", "[WORD]", "."], [(0, 0, "a"), (1, 1, "a")], name="bc/x")
    rows = [("[WORD] [WORD] .", "1", "2", "Experiencer")]
    table = pd.DataFrame(rows, columns=["sentence", "source", "target", "label"])
    with pytest.raises(ValueError, match=naming("row 0", "no text")):
        load_links(table)


@pytest.mark.parametrize(
    ("words", "tags"),
    [
        (["Name", ":", "____"], ["NOUN", "PUNCT", "NOUN"]),
        (["____________"], ["SYM"]),
        (["____________"], []),
        (["_", "_"], ["PUNCT", "PUNCT"]),
        (["*", "*"], []),
        (["The", "variable", "_"], []),
    ],
)
def test_blanks_and_lines_of_a_text_are_words(words: list[str], tags: list[str]) -> None:
    governors = list(range(len(words)))
    sentence = Sentence.from_lists(words, governors, ["dep"] * len(words), tags=tags)
    assert sentence.words == tuple(words)


@pytest.mark.parametrize("bad", [CYCLE, COLUMNS, NO_TEXT], ids=["cycle", "columns", "no text"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_invalid_sentence_is_left_out_on_request(tmp_path: Path, bad: str, place: int) -> None:
    parts = [CATS, CATS]
    parts.insert(place, bad)
    path = put(tmp_path, gzip.compress("".join(parts).encode()), "x.conllu.gz")
    with pytest.raises(ValueError, match=naming("load_treebank", "skip_invalid=True")) as refused:
        load_treebank(path)
    with pytest.warns(UserWarning, match=naming("x.conllu.gz", "1 invalid", "2")):
        sentences = load_treebank(path, skip_invalid=True)
    assert [sentence.words for sentence in sentences] == [("Cats", "purr", ".")] * 2
    (reason,) = sentences.left_out
    assert f"x.conllu.gz:{1 + 4 * place}" in reason and str(refused.value).startswith(reason)


def test_a_limit_counts_valid_sentences(tmp_path: Path) -> None:
    path = put(tmp_path, CYCLE + CATS * 2 + CYCLE, "x.conllu")
    with pytest.warns(UserWarning, match=naming("1 invalid", "beside 2")):
        assert len(load_treebank(path, limit=2, skip_invalid=True)) == 2


def test_a_valid_file_gives_no_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sentences = load_treebank(put(tmp_path, CATS * 3, "x.conllu"), skip_invalid=True)
    assert len(sentences) == 3 and sentences.left_out == ()


def test_invalid_lines_of_word_and_governor_are_left_out(tmp_path: Path) -> None:
    path = put(tmp_path, "a 0-root\n\nb 0-root\nc two\n\nd 1-dep\n", "x.txt")
    with pytest.warns(UserWarning, match=naming("2 invalid", "beside 1")):
        sentences = load_treebank(path, skip_invalid=True)
    assert [reason.partition(": ")[0][-7:] for reason in sentences.left_out] == [
        "x.txt:4",
        "x.txt:6",
    ]


def test_damage_of_the_whole_file_is_an_error_with_skip_invalid(tmp_path: Path) -> None:
    packed = gzip.compress((CATS * 500).encode())
    with pytest.raises(ValueError, match=naming(".gz", "whole")):
        load_treebank(put(tmp_path, packed[: len(packed) // 2], "x.conllu.gz"), skip_invalid=True)
    latin = (CATS + CATS.replace("Cats", "Caf\xe9")).encode("latin-1")
    with pytest.raises(ValueError, match=naming("UTF-8")):
        load_treebank(put(tmp_path, latin, "x.conllu"), skip_invalid=True)


FIRST, _, SECOND = COREFUD.partition("# newdoc\n")
GOOD_CONLL, _, SHORT_CONLL = CONLL.partition("#begin document (bc/made/00/made_0000); part 002")
SECOND_CONLL = "#begin document (bc/made/00/made_0000); part 002" + SHORT_CONLL


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (FIRST.replace("Entity=e2)\n5", "_\n5") + "# newdoc\n" + SECOND, "does not close"),
        (FIRST.replace("\t4\tnmod:poss", "\t3\tnmod:poss") + "# newdoc\n" + SECOND, "cycle"),
        (FIRST.replace("\t's\t's", "\t's") + "# newdoc\n" + SECOND, "10 tab-separated columns"),
        (GOOD_CONLL + SECOND_CONLL.replace("#end document\n", ""), "has no #end document"),
        (SECOND_CONLL.replace("#end document\n", "") + GOOD_CONLL, "has not ended"),
        (SECOND_CONLL.replace("2   0   Yes", "2   1   Yes") + GOOD_CONLL, "the word number 0"),
        (SECOND_CONLL.replace("Yes", "[WORD]") + GOOD_CONLL, "has no text"),
        (SECOND_CONLL + "#end document\n" + GOOD_CONLL, "did not begin"),
    ],
)
def test_an_invalid_document_is_left_out_on_request(tmp_path: Path, text: str, reason: str) -> None:
    path = put(tmp_path, text, "made.conll")
    with pytest.raises(
        ValueError, match=naming(f"{reason}", "load_coreference", "skip_invalid=True")
    ):
        load_coreference(path)
    with pytest.warns(UserWarning, match=naming("1 invalid document", "beside 1")):
        documents = load_coreference(path, skip_invalid=True)
    assert len(documents) == 1 and reason in documents.left_out[0]


def test_every_document_invalid_is_an_error(tmp_path: Path) -> None:
    path = put(tmp_path, SECOND_CONLL.replace("Yes", "[WORD]"), "made.conll")
    with pytest.raises(ValueError, match=naming("1 document", "no valid")):
        load_coreference(path, skip_invalid=True)


def test_invalid_sentences_of_spacy_are_left_out_on_request() -> None:
    cats = [("Cats", 1, "nsubj"), ("purr", 1, "ROOT")]
    roots = [("Go", 0, "ROOT"), ("on", 1, "ROOT")]
    with pytest.raises(
        ValueError, match=naming("second root", "sentences_from_spacy", "skip_invalid")
    ):
        sentences_from_spacy([Doc([roots, cats])])
    with pytest.warns(UserWarning, match=naming("documents", "1 invalid", "beside 1")):
        sentences = sentences_from_spacy([Doc([roots, cats])], skip_invalid=True)
    assert [s.words for s in sentences] == [("Cats", "purr")] and len(sentences.left_out) == 1


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Loaded[Sentence]:
    path = put(tmp_path_factory.mktemp("treebank"), CATS + CYCLE + CATS + COLUMNS, "x.conllu")
    with pytest.warns(UserWarning, match=naming("2 invalid")):
        return load_treebank(path, skip_invalid=True)


STUDIES: dict[str, Callable[..., Any]] = {
    "relations": probe_relations,
    "features": lambda *given, **how: probe_features(*given, features=["NOUN"], **how),
    "looking away": lambda *given, **how: probe_no_op(*given, "nsubj", **how),
    "links": lambda model, sentences, **how: probe_links(
        model, subject_verb_links(sentences), **how
    ),
    "places": lambda *given, **how: find_links(*given, relation="nsubj", **how),
}


@pytest.mark.parametrize("study", STUDIES.values(), ids=list(STUDIES))
def test_results_state_the_sentences_that_were_left_out(
    study: Callable[..., Any], treebank: Loaded[Sentence]
) -> None:
    model = load_model(device="cpu")
    result = study(model, treebank, progress=False)
    assert result.n_skipped == 2 and getattr(result, "complete", True)
    # A slice is the user's own choice of sentences.
    assert study(model, treebank[:1], progress=False).n_skipped == 0


def test_features_for_probes_state_the_sentences_that_were_left_out(
    tmp_path: Path, treebank: Loaded[Sentence]
) -> None:
    stored = extract_features(load_model(device="cpu"), treebank, tmp_path, progress=False)
    assert stored.n_skipped == 2


def test_a_coreference_study_states_the_documents_that_were_left_out(tmp_path: Path) -> None:
    bad = FIRST.replace("Entity=e2)\n5", "_\n5").replace("newdoc id = first", "newdoc id = bad")
    path = put(tmp_path, bad + FIRST + "# newdoc\n" + SECOND, "x.conllu")
    with pytest.warns(UserWarning, match=naming("1 invalid", "x.conllu")):
        documents = load_coreference(path, skip_invalid=True)
    result = probe_coreference(load_model(device="cpu"), documents, progress=False)
    assert result.complete and result.n_skipped == 0
    assert result.left_out == documents.left_out and len(result.left_out) == 1
    assert "1 invalid document left out" in repr(result)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_of_a_list_know_what_was_left_out(
    treebank: Loaded[Sentence], copied: Callable[[Any], Any]
) -> None:
    again = copied(treebank)
    assert again == treebank and again.left_out == treebank.left_out
