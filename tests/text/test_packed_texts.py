"""Packed texts: what unpacks to far more than a text is refused soon, and other packers by name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from attnwidget import load_coreference, load_treebank, load_vectors
from attnwidget.text import decoded_lines
from attnwidget.text.segments import read_lines
from refusals import naming


def read(path: Path) -> list[str]:
    return list(read_lines(path))


ROW = b"1\tw\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"


READERS: list[tuple[Callable[[Path], object], bytes]] = [
    (load_treebank, ROW),
    (load_coreference, ROW),
    (read, ROW),
    (load_vectors, b"w 0.5 0.25\n"),
]


@pytest.mark.parametrize(("load", "line"), READERS)
def test_a_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: Callable[[Path], object], line: bytes
) -> None:
    monkeypatch.setattr(decoded_lines, "_UNPACKED", 2**14)
    sizes: list[int] = []
    refuse = decoded_lines._refuse_bomb

    def watched(path: Path, file: gzip.GzipFile, unpacked: int) -> None:
        sizes.append(unpacked)
        refuse(path, file, unpacked)

    monkeypatch.setattr(decoded_lines, "_refuse_bomb", watched)
    path = tmp_path / "bomb.conllu.gz"
    path.write_bytes(gzip.compress(line * 50_000))
    with pytest.raises(ValueError, match=naming("bomb.conllu.gz", "unpack", "gunzip")):
        load(path)
    assert 0 < max(sizes) < len(line) * 50_000


def test_a_packed_treebank_of_usual_text_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoded_lines, "_UNPACKED", 1000)
    path = tmp_path / "usual.conllu.gz"
    rows = [ROW.replace(b"w", f"word{i}".encode()) for i in range(2000)]
    path.write_bytes(gzip.compress(b"".join(rows)))
    assert len(load_treebank(path)) == 2000


@pytest.mark.parametrize("suffix", [".xz", ".bz2", ".zip"])
@pytest.mark.parametrize("load", [load_treebank, load_coreference, read])
def test_other_packed_files_are_refused_by_name(
    tmp_path: Path, suffix: str, load: Callable[[Path], object]
) -> None:
    path = tmp_path / f"words.conllu{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("words.conllu", ROW)
    else:
        path.write_bytes({".xz": lzma.compress, ".bz2": bz2.compress}[suffix](ROW))
    with pytest.raises(ValueError, match=naming(f"{suffix} file", "unpack")):
        load(path)
