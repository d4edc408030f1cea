"""Resume files: the sums of a study on disk, so that an interrupted run can continue."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from operator import index as as_index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.shards import WorkersError
from attnwidget.text.segments import Segment
from attnwidget.text.stored_arrays import stored_arrays, write_arrays

_SECONDS_BETWEEN_SAVES = 5.0
# The sums of some studies grow with the number of inputs. Slower saves are therefore less frequent,
# so that all saves together take at most a twentieth of the time.
_SECONDS_OF_A_SAVE = _SECONDS_BETWEEN_SAVES / 20
#: Fields of `Progress` that a file has in addition to the states, with functions to read them.
_DONE: dict[str, Callable[[Any], Any]] = {
    "n_batches": as_index,
    "n_segments": as_index,
    "digest": str,
    "earlier": lambda parts: [(as_index(n), str(digest)) for n, digest in parts],
    "unsummed": lambda names: [str(name) for name in names],
}
_CONFIGURATION = "configuration"
States = Mapping[str, Mapping[str, NDArray[Any]]]


@dataclass(frozen=True, eq=False)
class Progress:
    """Progress of a study.

    Attributes:
        n_batches: Number of finished batches.
        n_segments: Number of segments in these batches.
        digest: Hash of these segments, in batch order.
        states: State of each accumulator by name.
        earlier: For a merged resume file, the number of batches and the digest of each file except
            the last, whose digest is `digest`.
        unsummed: Names of the accumulators with states that cannot be added.
    """

    n_batches: int = 0
    n_segments: int = 0
    digest: str = ""
    states: States = field(default_factory=dict)
    earlier: Sequence[tuple[int, str]] = ()
    unsummed: Sequence[str] = ()

    @property
    def parts(self) -> list[tuple[int, str]]:
        """Number of batches and digest of each merged part, in order."""
        earlier_parts = [(count, digest) for count, digest in self.earlier]
        return [
            *earlier_parts,
            (self.n_batches - sum(count for count, _ in earlier_parts), self.digest),
        ]

    def after(self, segments: Iterable[Segment], states: States | None = None) -> Progress:
        """Return the progress after one more batch.

        Args:
            segments: Segments of the batch.
            states: States after the batch; None = the current states.
        """
        texts = [
            [segment.first, segment.second, *filter(None, (segment.roles, segment.turns))]
            for segment in segments
        ]
        content = self.digest + json.dumps(texts, ensure_ascii=False)
        return replace(
            self,
            n_batches=self.n_batches + 1,
            n_segments=self.n_segments + len(texts),
            digest=blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),
            states=self.states if states is None else states,
        )


def digest_of(parts: Iterable[object]) -> str:
    """Return a hash of data that is too long for a resume file, such as the sentences of a study.

    Args:
        parts: Objects whose `repr` shows their content.

    Example:
        >>> from attnwidget.corpus.resume_file import digest_of
        >>> digest_of(["cats", "purr"])[:8]
        '43ca4c55'
    """
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(repr(part).encode())
    return digest.hexdigest()


@contextmanager
def keeping(file: ResumeFile | None, done: Progress) -> Iterator[Callable[[Progress], None]]:
    """Save the progress of the block at intervals and at its end, even after an exception.

    The block receives a function, which it calls with the current progress. Ctrl-C ends the block
    without an exception.

    Args:
        file: Resume file; None = do not save.
        done: Progress that the file already has.

    Raises:
        WorkersError: The block raised a WorkersError; the message adds how to continue.

    Example:
        >>> from attnwidget.corpus.resume_file import Progress, keeping
        >>> with keeping(None, Progress()) as keep:
        ...     keep(Progress(n_batches=1))
    """
    saved_progress = latest_progress = done
    saved_at = time.monotonic()
    pause = _SECONDS_BETWEEN_SAVES

    def save() -> None:
        nonlocal saved_progress, saved_at, pause
        start = time.monotonic()
        if file is not None and latest_progress is not saved_progress:
            file.save(latest_progress)
        saved_progress = latest_progress
        saved_at = time.monotonic()
        pause = _SECONDS_BETWEEN_SAVES * max(1.0, (saved_at - start) / _SECONDS_OF_A_SAVE)

    def keep(progress: Progress) -> None:
        nonlocal latest_progress
        latest_progress = progress
        if time.monotonic() - saved_at > pause:
            save()

    try:
        yield keep
    except KeyboardInterrupt:
        pass
    except WorkersError as error:
        state = "nothing is kept: start over"
        if file is not None and latest_progress.n_batches:
            save()
            state = (
                f"{file.path} has the {latest_progress.n_batches:,} batches that are done: go on"
            )
        advice = f"{state} with the same call and workers that run"
        raise WorkersError(f"{error}; {advice}") from error.__cause__
    finally:
        save()


class ResumeFileError(ValueError):
    """Error for a file that is not a resume file, or belongs to another study.

    Example:
        >>> from attnwidget.corpus.resume_file import ResumeFileError
        >>> issubclass(ResumeFileError, ValueError)
        True
    """


def _agree(expected: Any, found: Any) -> bool:
    """Return whether two descriptions of a study are equal.

    Files from version 0.1.0 lack the configuration of the model.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() - found.keys() <= {_CONFIGURATION} and all(
            key in expected and _agree(expected[key], value) for key, value in found.items()
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(_agree, expected, found))
    return bool(expected == found)


class ResumeFile:
    """Resume file (.npz) with the progress of one study; `one_writer` locks it for writing.

    Args:
        path: Resume file, which need not exist yet.
        about: Description of the study as JSON; a file with another description is refused.
    """

    def __init__(self, path: str | Path, about: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._about = json.loads(json.dumps(about))

    def load(self) -> Progress:
        """Return the stored progress, or an empty progress if there is no file.

        Raises:
            ResumeFileError: The file belongs to another study, or is not a resume file.
        """
        if not self.path.exists():
            return Progress()
        if not self.path.stat().st_size:
            raise ResumeFileError(
                f"{os.path.abspath(self.path)!r} is empty, expected a resume file of measure "
                "(.npz): name another file, or remove this one to start over"
            )
        about, progress = self.stored()
        differing_keys = [
            key
            for key, value in self._about.items()
            if not _agree({key: value}, {key: about[key]} if key in about else {})
        ]
        if differing_keys:
            differences = "; ".join(
                f"{key} is {self._about[key]!r}, the file has {about.get(key)!r}"
                for key in differing_keys
            )
            raise ResumeFileError(
                f"{self.path} was written by another study: {differences}; name another file, or "
                "remove this one to start over"
            )
        return progress

    def stored(self) -> tuple[dict[str, Any], Progress]:
        """Return the description of the study in the file, and its progress.

        Raises:
            ResumeFileError: The file is not a resume file.
            OSError: The file cannot be read.
        """
        try:
            arrays = stored_arrays(self.path, sealed=True)
            about = dict(json.loads(str(arrays.pop("about"))))
            # Files from version 0.1.0 do not list the states that cannot be added.
            progress = {"unsummed": []} | json.loads(str(arrays.pop("progress")))
            values_of_progress = {name: convert(progress[name]) for name, convert in _DONE.items()}
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            raise ResumeFileError(
                f"{self.path} is not a resume file of measure: name another file, or remove it"
            ) from error
        states: dict[str, dict[str, NDArray[Any]]] = {}
        for name, values in arrays.items():
            accumulator, _, entry = name.partition("/")
            states.setdefault(accumulator, {})[entry] = values
        return about, Progress(**values_of_progress, states=states)

    def skip(self, batches: Iterator[Sequence[Segment]], stored: Progress) -> None:
        """Skip the batches that the stored progress includes.

        Args:
            batches: All batches of the study, of which the finished ones are consumed.
            stored: Progress from the file.

        Raises:
            ValueError: The batches have other segments than the finished batches of the file.
        """
        are_same = True
        for n_batches, digest in stored.parts:
            progress = Progress()
            for batch in islice(batches, n_batches):
                progress = progress.after(batch)
            are_same &= (progress.n_batches, progress.digest) == (n_batches, digest)
        if not are_same:
            raise ValueError(
                f"{self.path} holds {stored.n_segments} segments that differ from the first "
                "segments given: pass the same segments in the same order, or remove the file to "
                "start over"
            )

    def save(self, progress: Progress) -> None:
        """Replace the file atomically: a killed process leaves either the old or the new file.

        Args:
            progress: Progress to store.
        """
        progress_fields = {key: getattr(progress, key) for key in _DONE}
        arrays = {
            f"{name}/{entry}": values
            for name, state in progress.states.items()
            for entry, values in state.items()
        }
        descriptions = {"about": self._about, "progress": progress_fields}
        texts = {name: np.array(json.dumps(value)) for name, value in descriptions.items()}
        write_arrays(self.path, {**arrays, **texts})
