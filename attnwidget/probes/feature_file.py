"""File for sentence features, which remains usable if the process is killed."""

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
    """Content of a feature file, and the model that it comes from.

    Attributes:
        kind: Kind of features: "maps" or "hidden".
        layers: Indices of the hidden states; empty for "maps".
        n_layers: Number of layers of the model, L.
        n_heads: Number of attention heads per layer, H.
        width: Size d of the hidden states; 0 for "maps".
        dtype: Type of the stored values.
        model_name: Name of the model.
        model_digest: Fingerprint of the model.
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
        """Type of the stored values as a numpy dtype."""
        return np.dtype(self.dtype)

    def shape(self, n_words: int) -> tuple[int, int, int]:
        """Return the shape of one sentence's array: [L * H, m + 2, m + 2], or [layers, m, d]."""
        if self.kind == "maps":
            return self.n_layers * self.n_heads, n_words + 2, n_words + 2
        return len(self.layers), n_words, self.width

    def offsets(self, lengths: Iterable[int]) -> NDArray[np.int64]:
        """Return the byte offsets of sentences of these lengths, and the end of the last."""
        sizes = [int(np.prod(self.shape(n))) * self.type.itemsize for n in lengths]
        return np.cumsum([0, *sizes], dtype=np.int64)


class FeatureFile:
    """The file `features.bin` with all sentences in order, and an index of the written batches.

    Use it in a `with` block, which allows only one writing process.

    Args:
        folder: Folder of the caches; created if its parent exists.
        key: Name of the folder of this cache.
        layout: Content of the file.
        lengths: Number of words of each sentence.
        whole: Number of batches of the complete file.

    Attributes:
        path: Path of the file.
        nbytes: Size of the complete file.
        n_batches: Number of written batches. `flush` makes them count for the next process.

    Raises:
        OSError: If there is less free space than the file needs, or the folder cannot be created.
        RuntimeError: If another run writes the same file.
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
            # A complete file needs no lock, because it is only read.
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
            # Delete the count of a lost file. Otherwise, it would count unwritten parts of the new
            # file.
            with named_errors(self._index):
                self._index.unlink(missing_ok=True)
        allocated = getattr(self.path.stat(), "st_blocks", 0) * 512 if self.path.exists() else 0
        folder = self.path.parent.parent
        free = shutil.disk_usage(folder).free
        if self.nbytes - allocated > free:
            raise OSError(
                f"{self._what} take {self.nbytes / 1e6:,.0f} MB and {str(folder)!r} has "
                f"{free / 1e6:,.0f} MB free: name a folder with more space, or pass fewer sentences"
            )
        with named_errors(self.path):
            self.path.touch()
            self._file = self.path.open("r+b")
            self._file.truncate(self.nbytes)

    def write(self, place: int, values: FloatArray) -> None:
        """Write the array of a sentence at its position."""
        with named_errors(self.path):
            self._file.seek(int(self._offsets[place]))
            self._file.write(memoryview(values).cast("B"))

    def flush(self) -> None:
        """Store the batch count after the data is on disk, so that it is never too large."""
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
        is_complete = self.path.exists() and self.path.stat().st_size == self.nbytes
        if not is_complete or not self._index.exists():
            return 0
        return int(json.loads(self._index.read_text(encoding="utf-8"))["n_batches"])


def _make(folder: Path) -> None:
    refuse_no_parent(folder, "the folder of features")
    if folder.exists():
        refuse_no_folder(folder, "a folder of features")
    with named_errors(folder):
        folder.mkdir(exist_ok=True)
