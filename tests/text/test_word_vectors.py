"""Word vectors: every kind of file gives the same, and what is none is refused by file and line."""

from __future__ import annotations

import gzip
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnwidget import load_vectors
from attnwidget.text.word_vectors import WordVectors
from refusals import naming

WORDS = ["the", "cat", "naïve", "2", ". . .", "The"]
VECTORS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
ROWS = [
    " ".join([word, *map(repr, row.tolist())]) for word, row in zip(WORDS, VECTORS, strict=True)
]


def write(path: Path, kind: str) -> Path:
    if kind == "npz":
        np.savez(path, words=np.array(WORDS), vectors=VECTORS)
    elif kind == "bin":
        entries = [
            word.encode() + b" " + struct.pack("<4f", *row) + b"\n"
            for word, row in zip([w.replace(" ", "_") for w in WORDS], VECTORS, strict=True)
        ]
        path.write_bytes(b"6 4\n" + b"".join(entries))
    else:
        lines = ["6 4", *ROWS] if kind == "word2vec" else ROWS
        data = ("\n".join(lines) + "\n").encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("glove.txt", "glove"),
        ("glove.txt.gz", "glove"),
        ("w.vec", "word2vec"),
        ("w.bin", "bin"),
        ("w.npz", "npz"),
    ],
)
def test_every_kind_of_file_gives_the_same(tmp_path: Path, name: str, kind: str) -> None:
    path = write(tmp_path / name, kind)
    vectors = load_vectors(path)
    assert (len(vectors), vectors.dimension, vectors.name) == (6, 4, name)
    dots = "._._." if kind == "bin" else ". . ."
    found = vectors(["THE", "cat", "Naïve", "2", dots, "dog"])
    np.testing.assert_array_equal(found, [*VECTORS[:5], np.zeros(4)])
    assert vectors.coverage(["the", "The", "dog", "cat"]) == 0.75
    assert vectors.coverage([]) == 0
    two = load_vectors(path, limit=2)
    assert len(two) == 2 and "naïve" not in two and two.digest != vectors.digest


def test_equal_vectors_have_one_digest(tmp_path: Path) -> None:
    kinds = {"a.txt": "glove", "b.vec": "word2vec", "c.npz": "npz"}
    assert len({load_vectors(write(tmp_path / n, k)).digest for n, k in kinds.items()}) == 1
    assert WordVectors(["a"], [[1.0]]).digest != WordVectors(["a"], [[2.0]]).digest


def test_of_equal_words_the_first_counts() -> None:
    vectors = WordVectors(["a", "b", "a"], [[1.0], [2.0], [3.0]])
    assert vectors(["a", "b"]).tolist() == [[1.0], [2.0]] and len(vectors) == 2


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("w.txt", "is empty")),
        ("a 1 2\nb 1\n", ("w.txt:2", "2 numbers", "got 2")),
        ("a 1 2\nb 1 2 3\n", ("w.txt:2", "2 numbers", "got 4")),
        ("a 1 2\n\nb 1 2\n", ("w.txt:2", "2 numbers", "got 1")),
        ("a 1 2\nb 1 x\n", ("w.txt:2", "2 numbers", "'b'", "'x'")),
        ("a 1 2\nb 1 nan\n", ("w.txt:2", "'b'", "finite")),
        ("a 1 2\nb inf -inf\n", ("w.txt:2", "'b'", "finite")),
        ("a 1 2\nb 1 1e300\n", ("w.txt", "'b'", "finite", "NaN")),
        ("once upon a time\n", ("w.txt:1", "numbers", "got 4")),
        ("3 2\na 1 2\nb 1 2\n", ("w.txt", "3 words", "has 2", "short")),
    ],
)
def test_a_file_that_is_no_text_file_is_refused(
    tmp_path: Path, text: str, parts: tuple[str, ...]
) -> None:
    path = tmp_path / "w.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=naming(*parts)):
        load_vectors(path)


def test_other_faults_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "w.bin"
    write(path, "bin")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match=naming("w.bin", "6 words", "has 5")):
        load_vectors(path)
    path.write_bytes(b"1 1\na " + struct.pack("<f", np.nan))
    with pytest.raises(ValueError, match=naming("w.bin", "word 1", "'a'", "finite")):
        load_vectors(path)
    path.write_bytes(b"the 0.1 0.2\n")
    with pytest.raises(ValueError, match=naming("w.bin", "word2vec")):
        load_vectors(path)
    latin = tmp_path / "latin.txt"
    latin.write_bytes("a 1 2\nnaïve 1 2\n".encode("latin-1"))
    with pytest.raises(ValueError, match=naming("latin.txt:2", "UTF-8")):
        load_vectors(latin)
    with pytest.raises(FileNotFoundError):
        load_vectors(tmp_path / "missing.txt")
    with pytest.raises(ValueError, match=naming("limit", "got 0")):
        load_vectors(latin, limit=0)


class Trap:
    """What runs something when it is unpickled."""

    def __reduce__(self) -> Any:
        return sys.exit, (1,)


@pytest.mark.parametrize(
    ("arrays", "parts"),
    [
        ({"words": np.array(["a", Trap()], object)}, ("w.npz", "pickled", "numpy.savez")),
        ({"words": np.array([b"a", b"b"])}, ("w.npz", "`words`", "`vectors`")),
        ({"words": np.array(["a"])}, ("w.npz", "1 words", "2 vectors", "word")),
        ({"words": np.array([], str), "vectors": np.zeros((0, 2))}, ("w.npz", "0 words", "[0, 2]")),
        ({"vectors": np.zeros(2)}, ("w.npz", "2 words", "[2]")),
        ({"vectors": np.array([[1, np.nan], [1, 2]])}, ("w.npz", "'a'", "finite")),
        (
            {"names": np.array(["a", "b"]), "words": None},
            ("'words'", "vectors, names", "numpy.savez"),
        ),
    ],
)
def test_a_file_that_is_no_npz_file_is_refused(
    tmp_path: Path, arrays: Any, parts: tuple[str, ...]
) -> None:
    given = {"words": np.array(["a", "b"]), "vectors": np.ones((2, 2))} | arrays
    path = tmp_path / "w.npz"
    np.savez(path, allow_pickle=True, **{k: v for k, v in given.items() if v is not None})
    with pytest.raises(ValueError, match=naming(*parts)):
        load_vectors(path)
    path.write_bytes(b"PK nothing")
    with pytest.raises(ValueError):
        load_vectors(path)


@pytest.mark.slow
def test_vectors_of_a_spacy_pipeline(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.to_disk(tmp_path / "none")
    with pytest.raises(ValueError, match=naming("no word vectors")):
        load_vectors(tmp_path / "none")
    for word, row in zip(WORDS[:2], VECTORS, strict=False):
        pipeline.vocab.set_vector(word, row)
    pipeline.to_disk(tmp_path / "en")
    vectors = load_vectors(tmp_path / "en")
    np.testing.assert_array_equal(vectors(["The", "CAT", "dog"]), [*VECTORS[:2], np.zeros(4)])
    assert vectors.name == "en"
    with pytest.raises(FileNotFoundError, match=naming("neither", "spaCy")):
        load_vectors("no_such_pipeline")


def test_without_spacy_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ImportError, match=naming("'en_core_web_md'", "attnwidget[spacy]")):
        load_vectors("en_core_web_md")
