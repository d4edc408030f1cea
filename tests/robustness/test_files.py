"""What fell once in a reader of files: refused, with the file and the line, or read rightly."""

from __future__ import annotations

import gzip
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attnwidget import load_framenet_links, load_links, load_vectors
from attnwidget.probes.saved_arrays import write_probe
from attnwidget.text.coreference import load_coreference
from attnwidget.text.minimal_pairs import load_minimal_pairs
from attnwidget.text.segments import read_lines
from attnwidget.text.stored_arrays import stored_arrays, write_arrays
from attnwidget.text.treebank_files import load_treebank
from fixtures.framenet_sample import write_framenet
from refusals import naming
from robustness.mutations import BOMB, Alive, forged, npy, npz
from robustness.readers import (
    CONLL_2012,
    CONLLU,
    COREFUD,
    GLOVE,
    LINKS,
    PAIRS_JSON,
    PROSE,
    READERS,
    reader,
)


def paragraphs(path: Path) -> list[str]:
    return list(read_lines(path))


def put(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


HALF = gzip.compress(PROSE.encode() * 40)[:-12]
REFUSED: list[tuple[str, Callable[[Path], Any], str, bytes | str, str]] = [
    ("Latin-1 prose", paragraphs, "a.txt", "one\nna\xefve".encode("latin-1"), ("a.txt:2", "UTF-8")),
    ("half a .gz of prose", paragraphs, "a.txt.gz", HALF, ("a.txt.gz", "whole")),
    ("no .gz of pairs", load_minimal_pairs, "a.jsonl.gz", PAIRS_JSON, ("a.jsonl.gz", "whole")),
    (
        "broken deflate",
        paragraphs,
        "a.txt.gz",
        gzip.compress(b"x" * 40)[:10] + b"\xff" * 40,
        ("a.txt.gz", "whole"),
    ),
    (
        "a line of packed zeros",
        paragraphs,
        "a.txt.gz",
        gzip.compress(b"\x00" * (2**26 + 1), 1),
        ("a.txt.gz:1", "64 MB"),
    ),
    (
        "a governor of 5,000 digits",
        load_treebank,
        "a.conllu",
        CONLLU.replace("\t4\tnsubj", f"\t{'7' * 5000}\tnsubj"),
        ("a.conllu:4", "governor", "'I'"),
    ),
    (
        "a word number of 5,000 digits",
        load_treebank,
        "a.conllu",
        CONLLU.replace("\n5\t", f"\n{'7' * 5000}\t"),
        ("a.conllu:9", "first column"),
    ),
    (
        "a closing bracket without its field",
        load_coreference,
        "a.conllu",
        COREFUD.replace("eid-etype-head-other", "etype-eid").replace("=e1)", "=e1-)"),
        ("a.conllu:5", "e1-)", "cluster"),
    ),
    (
        "100,000 signs where brackets are expected",
        load_coreference,
        "a.conll",
        CONLL_2012.replace("(12\n", "x" * 100_000 + "\n", 1),
        ("a.conll:2", "brackets"),
    ),
    (
        "a governor of 5,000 digits in CorefUD",
        load_coreference,
        "a.conllu",
        COREFUD.replace("\t2\tdet", f"\t{'7' * 5000}\tdet"),
        ("a.conllu:4", "governor", "word 1"),
    ),
    (
        "a part of 5,000 digits",
        load_coreference,
        "a.conllu",
        COREFUD.replace("(e1-person-2-", f"(e1[{'1' * 5000}/2]-person-2-", 1),
        ("a.conllu:5", "e1)", "open"),
    ),
    (
        "a word number that is none",
        load_coreference,
        "a.conllu",
        COREFUD.replace("\n6\t.", "\n6.\t."),
        ("a.conllu:11", "word number 6", "'6.'"),
    ),
    (
        "an empty word in CorefUD",
        load_coreference,
        "a.conllu",
        COREFUD.replace("\n6\t.", "\n6\t "),
        ("a.conllu:11", "word 6", "empty"),
    ),
    (
        "a span of 5,000 digits",
        load_links,
        "a.csv",
        LINKS.replace("3-4", f"3-{'4' * 5000}"),
        ("a.csv:3", "source"),
    ),
    (
        "a header of 5,000 digits",
        load_vectors,
        "a.txt",
        f"{'4' * 5000} 3\n{GLOVE}",
        ("a.txt:2", "1 numbers"),
    ),
    ("a header of no digits", load_vectors, "a.txt", f"4 ²\n{GLOVE}", ("a.txt:1", "numbers")),
    (
        "more dimensions than a machine counts",
        load_vectors,
        "a.bin",
        b"1 " + b"9" * 60 + b"\nthe " + bytes(8),
        ("a.bin", "no words"),
    ),
    (
        "more dimensions than the file has bytes",
        load_vectors,
        "a.bin",
        b"1 1000000000000\nthe " + bytes(8),
        ("a.bin", "no words"),
    ),
    (
        "a range within a range",
        load_treebank,
        "a.conllu",
        CONLLU.replace("\n3\tn't", "\n3-4\tn'tgo" + "\t_" * 8 + "\n3\tn't"),
        ("a.conllu:7", "range 3-4", "range 2-3"),
    ),
]


@pytest.mark.parametrize(
    ("read", "name", "content", "parts"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_refused_with_the_place(
    tmp_path: Path,
    read: Callable[[Path], Any],
    name: str,
    content: bytes | str,
    parts: tuple[str, ...],
) -> None:
    with pytest.raises(ValueError, match=naming(*parts)) as error:
        read(put(tmp_path, name, content))
    assert len(str(error.value)) < 1000


def test_prose_begins_with_no_byte_order_mark(tmp_path: Path) -> None:
    assert paragraphs(put(tmp_path, "a.txt", "\ufeffOne.\r\nTwo.\rThree.")) == [
        "One.",
        "Two.",
        "Three.",
    ]


@pytest.mark.parametrize("name", [name for name in READERS if name != "FrameNet"])
@pytest.mark.timeout(600)
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    one = reader(name)
    for sample in one.samples:
        pipe = tmp_path / sample
        os.mkfifo(pipe)
        with pytest.raises(OSError, match=naming("pipe", "device")):
            one.read(pipe)
        pipe.unlink()
        pipe.mkdir()
        if not name.startswith("word vectors"):  # a folder is a pipeline of spaCy
            with pytest.raises(IsADirectoryError, match=naming(str(sample), "folder")):
                one.read(pipe)
        with pytest.raises(FileNotFoundError, match=f"other-{sample}"):
            one.read(tmp_path / f"other-{sample}")
        for wrong in ("a\x00", "a\ud800"):
            with pytest.raises(ValueError, match=naming("name of no file")):
                one.read(tmp_path / f"{wrong}{sample}")


def test_a_long_range_is_glued_at_once(tmp_path: Path) -> None:
    n = 20_000
    rows = [f"1-{n}\t{'ab' * n}" + "\t_" * 8]
    rows += [f"{i}\tab\t_\t_\t_\t_\t{i - 1}\tdep\t_\t_" for i in range(1, n + 1)]
    (sentence,) = load_treebank(put(tmp_path, "a.conllu", "\n".join(rows)))
    assert sentence.text == "ab" * n


def test_a_cell_without_a_value_is_no_word() -> None:
    table = pd.DataFrame(
        [["He sat .", "1", "sat", "a"], ["He sat .", "1", None, float("nan")]],
        columns=["sentence", "source", "target", "label"],
    )
    with pytest.raises(ValueError, match=naming("row 1", "target, label")):
        load_links(table)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("lu/lu1.xml", "</subCorpus>", "", "lu/lu1.xml .*(ParseError|ValueError)"),
        ("lu/lu1.xml", 'status="MANUAL"', "", "lu/lu1.xml .*(AttributeError|KeyError)"),
        ("lu/lu1.xml", 'start="0"', f'start="{"1" * 5000}"', "lu/lu1.xml"),
        ("luIndex.xml", "frameID", "x", "luIndex.xml"),
        ("luIndex.xml", "</luIndex>", "", "luIndex.xml"),
        ("frame/Emotion_directed.xml", "<FE ", "<EF ", "frame"),
        ("frame/Emotion_directed.xml", "</frame>", "", "frame"),
    ],
)
def test_a_broken_framenet_names_the_file(
    tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    folder = write_framenet(tmp_path)
    unit = next(folder.glob("lu/*.xml"))
    path = unit if file.startswith("lu/") else folder / file
    content = path.read_text("utf-8")
    assert old in content
    path.write_text(content.replace(old, new), "utf-8")
    with pytest.raises(ValueError, match=said.replace("lu1", unit.stem)):
        load_framenet_links(folder)


def test_entities_of_a_framenet_are_not_unfolded(tmp_path: Path) -> None:
    (path,) = write_framenet(tmp_path).glob("lu/lu1.xml")
    content = path.read_text("utf-8").replace("<lexUnit", BOMB.decode() + "<lexUnit", 1)
    path.write_text(content.replace("<definition>", "<definition>&i;"), "utf-8")
    with pytest.raises(ValueError, match=naming("lu1.xml", "FrameNet 1.7", "ParseError")):
        load_framenet_links(tmp_path)


@pytest.mark.timeout(600)
def test_a_pipe_among_the_files_of_framenet_is_refused(tmp_path: Path) -> None:
    folder = write_framenet(tmp_path)
    (folder / "frame" / "Motion.xml").unlink()
    os.mkfifo(folder / "frame" / "Motion.xml")
    with pytest.raises(OSError, match=naming("Motion.xml", "pipe")):
        load_framenet_links(folder)


GOOD = {"words": np.array(["the", "cat"]), "vectors": np.eye(2, 5)}
ARRAYS = {
    "pickled": (
        npz({**GOOD, "vectors": np.array([Alive(), 1], dtype=object)}),
        ("pickled", "numpy.savez"),
    ),
    "of a forged size": (forged(GOOD, "vectors", "(10**12,)"), (".npz file", "arrays")),
    "of a forged shape": (
        forged(GOOD, "vectors", "(1000000, 1000000)"),
        ("arrays", "float64 [1000000, 1000000]"),
    ),
    "packed beyond measure": (
        npz({**GOOD, "vectors": np.zeros((2, 10**7))}, packed=True),
        ("arrays", "'vectors.npy'", "160,000,128 bytes"),
    ),
    "a .npy": (npy(np.eye(2)), (".npz file", "arrays")),
    "a pickle": (pickle.dumps(Alive()), (".npz file", "arrays")),
    "cut short": (npz(GOOD)[:300], (".npz file", "arrays")),
    "nothing": (b"", ("is empty", ".npz")),
}


@pytest.mark.parametrize(("content", "parts"), ARRAYS.values(), ids=ARRAYS)
def test_invalid_arrays_are_refused(tmp_path: Path, content: bytes, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming("a.npz", *parts)):
        load_vectors(put(tmp_path, "a.npz", content))
    assert Alive.woken == 0


def test_one_number_is_no_vectors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=naming("`vectors`", "[N, d]")):
        load_vectors(put(tmp_path, "a.npz", npz({**GOOD, "vectors": np.array(1.0)})))


@pytest.mark.parametrize("save", [write_arrays, lambda path, arrays: _probe_saved(path, arrays)])
def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, save: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    save(path, {"a": np.zeros(4)})
    before = path.read_bytes()

    def full(*given: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match=naming("a.npz", "No space left")):
        save(path, {"a": np.ones(4)})
    assert path.read_bytes() == before and [*tmp_path.iterdir()] == [path]


def _probe_saved(path: Path, arrays: dict[str, Any]) -> Path:
    return write_probe(path, "probe", {}, arrays)


def test_a_seal_tells_what_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_arrays(path, {"a": np.zeros(4)})
    assert list(stored_arrays(path, sealed=True)) == ["a"]
    arrays = stored_arrays(path)
    for name, values in (("a", np.ones(4)), ("a", np.zeros((2, 2))), ("b", np.zeros(1))):
        np.savez(path, **{**arrays, name: values})
        with pytest.raises(ValueError, match=naming("a.npz", "attnwidget wrote")):
            stored_arrays(path, sealed=True)
