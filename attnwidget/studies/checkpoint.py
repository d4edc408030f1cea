"""A study's sums on disk, so that a killed run goes on where it was."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.segments import Segment

States = Mapping[str, Mapping[str, NDArray[Any]]]


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a study has come.

    Attributes:
        n_batches: batches done.
        n_segments: segments in them.
        digest: hash of these segments, in the order of the batches.
        states: the state of every accumulator by its name.
    """

    n_batches: int = 0
    n_segments: int = 0
    digest: str = ""
    states: States = field(default_factory=dict)

    def after(self, segments: Iterable[Segment], states: States | None = None) -> Progress:
        """One batch later."""
        texts = [[one.first, one.second] for one in segments]
        said = self.digest + json.dumps(texts, ensure_ascii=False)
        return replace(
            self,
            n_batches=self.n_batches + 1,
            n_segments=self.n_segments + len(texts),
            digest=blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),
            states=self.states if states is None else states,
        )


def digest_of(parts: Iterable[object]) -> str:
    """A hash of what is too long to be kept in a checkpoint, such as the sentences of a study.

    Example:
        >>> from attnwidget.studies.checkpoint import digest_of
        >>> digest_of(["cats", "purr"])[:8]
        '43ca4c55'
    """
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(repr(part).encode())
    return digest.hexdigest()


class Checkpoint:
    """The file `path` (.npz) holding the progress of one study.

    Args:
        path: the file; it need not exist yet.
        about: what the study is, as JSON; a file about another study is refused.

    Raises:
        FileNotFoundError: the folder does not exist.
    """

    def __init__(self, path: str | Path, about: Mapping[str, Any]) -> None:
        self.path = Path(path)
        # Before anything is computed that could not be kept.
        if not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(
                f"there is no folder {str(self.path.absolute().parent)!r} to keep the checkpoint "
                f"{self.path.name!r} in: make it first"
            )
        self._about = json.loads(json.dumps(about))

    def load(self) -> Progress:
        """The stored progress, or none where there is no file.

        Raises:
            ValueError: the file is of another study, or is no checkpoint.
        """
        if not self.path.exists():
            return Progress()
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            about = json.loads(str(arrays.pop("about")))
            done = json.loads(str(arrays.pop("progress")))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
            raise ValueError(
                f"{self.path} is not a checkpoint of measure: name another file, or remove it"
            ) from error
        differing = [key for key in self._about if about.get(key) != self._about[key]]
        if differing:
            listed = "; ".join(
                f"{key} is {self._about[key]!r}, the file has {about.get(key)!r}"
                for key in differing
            )
            raise ValueError(
                f"{self.path} was written by another study: {listed}; name another file, or "
                "remove this one to start over"
            )
        states: dict[str, dict[str, NDArray[Any]]] = {}
        for name, values in arrays.items():
            accumulator, _, entry = name.partition("/")
            states.setdefault(accumulator, {})[entry] = values
        return Progress(**done, states=states)

    def save(self, progress: Progress) -> None:
        """Replace the file at once: whoever is killed here leaves the old one or the new one."""
        done = {key: getattr(progress, key) for key in ("n_batches", "n_segments", "digest")}
        arrays = {
            f"{name}/{entry}": values
            for name, state in progress.states.items()
            for entry, values in state.items()
        }
        unfinished = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            with unfinished.open("wb") as file:
                np.savez(
                    file,
                    allow_pickle=False,
                    about=np.array(json.dumps(self._about)),
                    progress=np.array(json.dumps(done)),
                    **arrays,
                )
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self.path)
        finally:
            unfinished.unlink(missing_ok=True)
