"""Treebank files: what is read, and what each kind of broken file is told."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnwidget.text.treebank import Sentence, tree_fault
from attnwidget.text.treebank_files import load_treebank
from refusals import naming

WHOLE = """\
# newdoc id = tales
# sent_id = tales-1
# text = "Don't go," he said.
1\t"\t"\tPUNCT\t``\t_\t4\tpunct\t_\tSpaceAfter=No
2-3\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tDo\tdo\tAUX\tVBP\tMood=Imp\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tgo\tgo\tVERB\tVB\t_\t8\tccomp\t_\tSpaceAfter=No
5\t,\t,\tPUNCT\t,\t_\t4\tpunct\t_\tSpaceAfter=No
6\t"\t"\tPUNCT\t''\t_\t4\tpunct\t_\t_
7\the\the\tPRON\tPRP\t_\t8\tnsubj\t_\t_
8\tsaid\tsay\tVERB\tVBD\t_\t0\troot\t_\tSpaceAfter=No
8.1\tit\tit\tPRON\tPRP\t_\t_\t_\t8:obj\t_
9\t.\t.\tPUNCT\t.\t_\t8\tpunct\t_\t_

# sent_id = tales-2
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tde\t_\tADP\t_\t_\t3\tcase\t_\t_
2\tle\t_\t_\t_\t_\t3\tdet\t_\t_
3\tpain\t_\tNOUN\t_\t_\t0\troot\t_\t_
"""


def line(position: object, word: str = "a", governor: object = 0, relation: str = "root") -> str:
    return f"{position}\t{word}\t_\tX\t_\t_\t{governor}\t{relation}\t_\t_"


def write(folder: Path, content: str | bytes, name: str = "file.conllu") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_conllu(tmp_path: Path, ending: str, bom: bytes) -> None:
    path = write(tmp_path, bom + WHOLE.replace("\n", ending).encode())
    first, second = load_treebank(path)
    assert first.words == ('"', "Do", "n't", "go", ",", '"', "he", "said", ".")
    assert first.governors == (4, 4, 4, 8, 4, 4, 8, 0, 8)
    assert first.relations[1:4] == ("aux", "advmod", "ccomp")
    assert first.tags[:2] == ("PUNCT", "AUX") and first.xpos[7] == "VBD"
    assert (first.name, first.source) == ("tales-1", "file.conllu:1")
    assert first.text == '"Don\'t go," he said.'
    assert second.source == "file.conllu:16"
    assert second.tags == ("ADP", "", "NOUN")
    assert second.text == "de lepain"  # no spelling of the range is made of its words


def test_gz_and_limit(tmp_path: Path) -> None:
    for name in ("file.conllu", "file.conllu.gz"):
        path = write(tmp_path, gzip.compress(WHOLE.encode()), name)
        assert [len(s) for s in load_treebank(path)] == [9, 3]
    assert len(load_treebank(path, limit=1)) == 1
    with pytest.raises(ValueError, match=naming("limit", "got 0")):
        load_treebank(path, limit=0)


def test_relations_are_names_without_spaces_around_them(tmp_path: Path) -> None:
    rows = [line(1, "a", 2, "nsubj "), line(2, "b", 0, "_"), line(3, "c", 2, "")]
    (sentence,) = load_treebank(write(tmp_path, "\n".join(rows)))
    assert sentence.relations == ("nsubj", "unlabeled", "unlabeled")


def test_lines_of_word_and_governor(tmp_path: Path) -> None:
    text = "No 3-det\n, 3-punct\nit 4-nsubj\n's 0-root\n\n\n# 2-dep\nx-y 0-root"
    first, second = load_treebank(write(tmp_path, text, "dev.txt"))
    assert first.words == ("No", ",", "it", "'s")
    assert first.governors == (3, 3, 4, 0)
    assert second.words == ("#", "x-y") and second.source == "dev.txt:7"
    assert second.tags == ()


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ("file.conllu", "is empty", "treebank")),
        ("\n \n", ("file.conllu", "no sentence")),
        ("# only = a comment\n", ("file.conllu", "no sentence")),
        ("1\ta\tb\n", ("file.conllu:1", "10 columns", "CoNLL-U", "found 3")),
        (line(1).replace("\t", "    "), ("file.conllu:1", "10 columns")),
        (line(1) + "\t_", ("found 11", "columns")),
        (WHOLE + "\n" + line("one"), ("file.conllu:22", "'one'", "first column")),
        (line("_"), ("file.conllu:1", "no number")),
        (line(2), ("file.conllu:1", "number 2", "where 1")),
        (line(1, governor=2) + "\n" + line(1), ("file.conllu:2", "number 1", "where 2")),
        (line(1, governor="x"), ("file.conllu:1", "'a'", "'x'", "governor")),
        (line(1, governor="_"), ("'a'", "'_'", "governor", "load_treebank")),
        (line(1, governor="-1"), ("'a'", "'-1'", "governor", "load_treebank")),
        (line(1, governor="1.5"), ("'a'", "'1.5'", "governor", "load_treebank")),
        (line(1, governor="²"), ("'a'", "'²'", "governor", "load_treebank")),
        (line(1, word=" "), ("file.conllu:1", "empty")),
        (line(1) + "\n" + line(2, "b", 7), ("file.conllu:2", "word 2", "'b'", "word 7")),
        (line(1) + "\n" + line(2, "b", 2), ("file.conllu:2", "word 2", "'b'", "itself")),
        (
            line(1) + "\n" + line(2, "b"),
            ("file.conllu:2", "word 2", "'b'", "second root", "word 1"),
        ),
        (
            "\n".join([line(1), line(2, "b", 3), line(3, "c", 2)]),
            ("file.conllu:2", "word 2", "'b'", "2 -> 3 -> 2"),
        ),
        (
            line(1, governor=2) + "\n" + line(2, "b", 1),
            ("cycle", "1 -> 2 -> 1"),
        ),  # and so without a root
        (line("2-3", "ab") + "\n" + line(1), ("range 2-3", "word 0")),
        (line("1-3", "ab") + "\n" + line(1), ("file.conllu:2", "word 1", "range")),
        ("# caf\xe9\n".encode("latin-1"), ("file.conllu:1", "UTF-8", "'# caf'")),
        (line(1).encode() + b"\n\n1\tna\xefve", ("file.conllu:3", "UTF-8")),
        ("# sent_id = 1\r" + line(1), ("file.conllu", "CR", "LF")),
    ],
)
def test_broken_files_name_the_line(
    tmp_path: Path, content: str | bytes, parts: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        load_treebank(write(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("a 0-root\nb two-dep", ("dev.txt:2", "governor-relation")),
        ("a 0-root\nb c 1-dep", ("dev.txt:2", "governor-relation")),
        ("a 2-dep\nb 1-dep", ("dev.txt:1", "word 1", "'a'", "cycle")),
        ("hello", ("dev.txt:1", "10 columns", "CoNLL-U")),
    ],
)
def test_broken_lines_of_word_and_governor(
    tmp_path: Path, content: str, parts: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        load_treebank(write(tmp_path, content, "dev.txt"))


def test_damaged_archives(tmp_path: Path) -> None:
    packed = gzip.compress((WHOLE + "\n").encode() * 50)
    for content in (packed[: len(packed) // 2], packed[:-8] + bytes(8), b"plain text"):
        with pytest.raises(ValueError, match=naming(".gz", "whole")):
            load_treebank(write(tmp_path, content, "file.conllu.gz"))
    with pytest.raises(OSError, match=naming("missing.conllu")):
        load_treebank(tmp_path / "missing.conllu")


def test_a_very_long_sentence_is_read(tmp_path: Path) -> None:
    chain = "\n".join(line(i, "word", i - 1, "dep") for i in range(1, 10_001))
    (sentence,) = load_treebank(write(tmp_path, chain))
    assert len(sentence) == 10_000
    ring = tree_fault([*range(2, 10_001), 1])
    assert ring is not None and ring[1].endswith("1 -> 2 -> 3 -> 4 -> 5 -> ... -> 1")


@given(st.lists(st.integers(-1, 8), min_size=1, max_size=7))
def test_trees_are_told_from_other_graphs(governors: list[int]) -> None:
    def reaches_root(position: int) -> bool:
        for _ in governors:
            if not 0 <= position <= len(governors):
                return False
            position = governors[position - 1] if position else 0
        return position == 0

    tree = governors.count(0) == 1 and all(reaches_root(p + 1) for p in range(len(governors)))
    assert (tree_fault(governors) is None) == tree


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ((["a", "b"], [0], ["root"]), ("'a b'", "2 words", "1 governors", "1 relations")),
        (([], [], []), ("no words",)),
        ((["a", " "], [0, 1], ["root", "dep"]), ("word 2", "empty")),
        ((["a", "b"], [2, 1], ["dep", "dep"]), ("'a b'", "word 1", "'a'", "cycle")),
    ],
)
def test_sentences_of_lists(
    fields: tuple[list[str], list[int], list[str]], parts: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        Sentence.from_lists(*fields)


def test_sentences_say_their_name() -> None:
    sentence = Sentence.from_lists(
        ["one", "two", "three", "four", "five", "six"], [0, 1, 1, 1, 1, 1], "abcdef"
    )
    assert sentence.label == "sentence 'one two three four five ...'"
    assert Sentence.from_lists(["a"], [0], ["root"], name="s1").label == "sentence 's1'"
    with pytest.raises(TypeError):
        Sentence.from_lists(["a"], [0.0], ["root"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=naming("words", "list", "'ab'")):
        Sentence.from_lists("ab", [0, 1], ["root", "dep"])
    with pytest.raises(ValueError, match=naming("'a'", "2 tags")):
        Sentence.from_lists(["a"], [0], ["root"], tags=["X", "Y"])


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["ewt/en_ewt-ud-dev.conllu.gz", "gum/en_gum-ccby.conllu.gz"])
def test_treebanks_are_read_as_they_are_written(data: Path, name: str) -> None:
    sentences = load_treebank(data / name)
    with gzip.open(data / name, "rt", encoding="utf-8") as file:
        texts = [line[9:].strip() for line in file if line.startswith("# text = ")]
    assert len(texts) == len(sentences)
    for text, sentence in zip(texts, sentences, strict=True):
        assert " ".join(sentence.text.split()) == " ".join(text.split())
