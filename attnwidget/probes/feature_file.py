"""The file that features of sentences are kept in, which a killed process leaves usable."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.file_lock import one_writer
from attnwidget.kernels.arrays import FloatArray
from attnwidget.text.atomic_file import named_errors, remove_unfinished, replacing
from attnwidget.text.given_paths import refuse_no_folder, refuse_no_parent

FeatureKind = Literal["maps", "hidden"]
Precision = Literal["float16", "float32"]


@dataclass(frozen=True)
class FeatureLayout:
    """What a file of features holds, and of which model.

    Attributes:
        kind: "maps" or "hidden".
        layers: of "hidden", which states.
        n_layers: layers of the model, L.
        n_heads: attention heads a layer, H.
        width: of "hidden", numbers a word, d.
        dtype: of the numbers.
        model_name: what was read.
        model_digest: A fingerprint of the model.
    """

    kind: FeatureKind
    layers: tuple[int, ...]
    n_layers: int
    n_heads: int
    width: int
    dtype: Precision
    model_name: str
    model_digest: str

    @property
    def type(self) -> np.dtype[Any]:
        """The dtype as numpy has it."""
        return np.dtype(self.dtype)

    def shape(self, n_words: int) -> tuple[int, int, int]:
        """The shape of the array of one sentence: [L * H, m + 2, m + 2], or [layers, m, d]."""
        if self.kind == "maps":
            return self.n_layers * self.n_heads, n_words + 2, n_words + 2
        return len(self.layers), n_words, self.width

    def offsets(self, lengths: Iterable[int]) -> NDArray[np.int64]:
        """Where sentences of so many words begin, in bytes, and where the last one ends."""
        sizes = [int(np.prod(self.shape(n))) * self.type.itemsize for n in lengths]
        return np.cumsum([0, *sizes], dtype=np.int64)


class FeatureFile:
    """The file `features.bin`, a sentence after the other, and an index of how far it is written.

    A file opened by `with`, unless another process is still writing it.

    Args:
        folder: The folder of the caches; created if only its parent exists.
        key: The folder of this cache.
        layout: what it holds.
        lengths: words of each sentence.
        whole: batches of all sentences.

    Attributes:
        path: the file.
        nbytes: its size once it is whole.
        n_batches: batches written; `flush` makes them count for the next process.

    Raises:
        OSError: less space is free than the file needs, or the folder cannot be made.
        RuntimeError: another run writes the same file.
    """

    def __init__(
        self, folder: Path, key: str, layout: FeatureLayout, lengths: Sequence[int], whole: int
    ) -> None:
        self._offsets = layout.offsets(lengths)
        self.nbytes = int(self._offsets[-1])
        self.path = folder / key / "features.bin"
        self._index = folder / key / "index.json"
        self._said = vars(layout) | {"n_sentences": len(lengths), "nbytes": self.nbytes}
        self._what = f"the {layout.kind} of {len(lengths):,} sentences"
        _make(folder)
        self.path.parent.mkdir(exist_ok=True)
        self._whole = whole
        self.n_batches = self._stored = self._load()

    def __enter__(self) -> FeatureFile:
        with ExitStack() as opened:
            # What is whole is read by as many as want to.
            if self.n_batches < self._whole:
                opened.enter_context(one_writer(self.path))
                self._open()
                opened.callback(self._close)
                opened.callback(self._count)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._opened.close()

    def _open(self) -> None:
        self.n_batches = self._stored = self._load()
        remove_unfinished(self._index)
        if not self.n_batches:
            # A count of a file that is gone would count holes of the new one.
            with named_errors(self._index):
                self._index.unlink(missing_ok=True)
        there = getattr(self.path.stat(), "st_blocks", 0) * 512 if self.path.exists() else 0
        folder = self.path.parent.parent
        free = shutil.disk_usage(folder).free
        if self.nbytes - there > free:
            raise OSError(
                f"{self._what} take {self.nbytes / 1e6:,.0f} MB and {str(folder)!r} has "
                f"{free / 1e6:,.0f} MB free: name a folder with more space, or pass fewer sentences"
            )
        with named_errors(self.path):
            self.path.touch()
            self._file = self.path.open("r+b")
            self._file.truncate(self.nbytes)

    def write(self, place: int, values: FloatArray) -> None:
        """Put the array of a sentence in its place."""
        with named_errors(self.path):
            self._file.seek(int(self._offsets[place]))
            self._file.write(memoryview(values).cast("B"))

    def flush(self) -> None:
        """Count what is written once it is on disk: whoever is killed here leaves an old count."""
        with named_errors(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
        with (
            replacing(self._index) as unfinished,
            unfinished.open("w", encoding="utf-8") as file,
        ):
            json.dump(self._said | {"n_batches": self.n_batches}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        self._stored = self.n_batches

    def _close(self) -> None:
        with named_errors(self.path):
            self._file.close()

    def _count(self) -> None:
        if self.n_batches > self._stored:
            self.flush()

    def _load(self) -> int:
        whole = self.path.exists() and self.path.stat().st_size == self.nbytes
        if not whole or not self._index.exists():
            return 0
        return int(json.loads(self._index.read_text(encoding="utf-8"))["n_batches"])


def _make(folder: Path) -> None:
    refuse_no_parent(folder, "the folder of features")
    if folder.exists():
        refuse_no_folder(folder, "a folder of features")
    with named_errors(folder):
        folder.mkdir(exist_ok=True)
