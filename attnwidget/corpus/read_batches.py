"""All batches of a study, read here or in workers, with their sums."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.batches import batched
from attnwidget.corpus.file_lock import one_writer
from attnwidget.corpus.progress_bar import OnProgress, progress_bar
from attnwidget.corpus.resume_file import Progress, ResumeFile, States, keeping
from attnwidget.corpus.resume_from import resume_path
from attnwidget.corpus.run_on import workers_in_force
from attnwidget.corpus.shards import Workers
from attnwidget.corpus.study_reader import StudyReader
from attnwidget.text.segments import Segment
from attnwidget.text.whole_number import whole_number

SegmentBatch = Sequence[Segment]
# If the share of nonzero numbers is smaller, only these numbers and their positions are sent.
_SPARSE = 0.25


def read_all(
    reader: StudyReader,
    segments: Iterable[Segment],
    n_segments: int | None,
    *,
    batch_size: int,
    progress: bool | OnProgress,
) -> tuple[Progress, bool]:
    """Read all segments, batch after batch, into the reader's accumulators.

    Arguments and errors are the same as in `measure`; `n_segments` is the number of segments if
    known, and the resume file is that of the block. Returns the progress, and whether all
    segments were read.
    """
    batch_size = whole_number("batch_size", batch_size, 1)
    batches = batched(segments, batch_size)
    first = next(batches, None)
    if first is None:
        raise ValueError("there are no segments to measure")
    workers = _workers_of(reader)
    reader.start(first[0])
    batches = chain([first], batches)
    done = Progress(states=reader.nothing, unsummed=reader.unsummed)
    file = None
    complete = False
    resume = resume_path()
    with one_writer(resume):
        if resume is not None:
            file = ResumeFile(resume, {"batch_size": batch_size, **reader.about()})
            stored = file.load()
            file.skip(batches, stored)
            reader.restore(stored.states)
            done = replace(stored, states=reader.states(), unsummed=done.unsummed)
        with (
            keeping(file, done) as keep,
            progress_bar(n_segments, "segment", done=done.n_segments, shown=progress) as bar,
        ):
            results: Generator[tuple[SegmentBatch, Any]]
            if workers is None:
                results = ((batch, reader.states_of(batch)) for batch in batches)
            else:
                arguments = partial(_arguments, reader)
                results = workers.each(batches, arguments, first=done.n_batches + 1)
            with closing(results):
                for batch, states in results:
                    merged = reader.merged(done.states, unpacked(states))
                    keep(done := done.after(batch, merged))
                    bar.update(len(batch))
            complete = True
    if not done.n_batches:
        raise KeyboardInterrupt
    reader.restore(done.states)
    return done, complete


def _read_batches(
    reader: StudyReader, known: Sequence[dict[str, Any]], batches: Sequence[SegmentBatch]
) -> list[Any]:
    """Return the packed states of each batch in a shard, starting from empty sums, in a worker.

    Args:
        reader: Reader of the study.
        known: Attributes of the accumulators for these segments (`known_of`).
        batches: Batches of the shard.
    """
    reader.know(known)
    if not reader.nothing:
        reader.start(batches[0][0])
    return [packed(reader.states_of(batch)) for batch in batches]


def _workers_of(reader: StudyReader) -> Workers | None:
    """Return workers that read batches like a reader that was not started yet; None = no workers.

    Raises:
        TypeError: The reader cannot be pickled.
    """
    with reader.without_segments():
        return workers_in_force(partial(_read_batches, reader))


def _arguments(reader: StudyReader, shard: Sequence[SegmentBatch]) -> tuple[Any, ...]:
    """Return the arguments of `_read_batches` for the batches of a shard, after the reader."""
    return reader.known_of(chain(*shard)), shard


@dataclass(frozen=True)
class _Sparse:
    """Nonzero numbers of an array, and their positions."""

    shape: tuple[int, ...]
    places: NDArray[np.intp]
    values: NDArray[Any]

    def dense(self) -> NDArray[Any]:
        """Return the complete array."""
        array = np.zeros(self.shape, self.values.dtype)
        array.flat[self.places] = self.values
        return array


def packed(states: States) -> dict[str, dict[str, Any]]:
    """Pack states: only send the nonzero numbers of sparse arrays, with their positions.

    Args:
        states: States of accumulators.

    Example:
        >>> import numpy as np
        >>> from attnwidget.corpus.read_batches import packed, unpacked
        >>> small = packed({"study": {"sums": np.array([0.0] * 9 + [2.5])}})
        >>> unpacked(small)["study"]["sums"][-2:].tolist()
        [0.0, 2.5]
    """
    return {
        name: {entry: _packed(values) for entry, values in state.items()}
        for name, state in states.items()
    }


def unpacked(states: dict[str, dict[str, Any]]) -> States:
    """Return the states that were the argument of `packed`; other states are unchanged."""
    return {
        name: {
            entry: values.dense() if isinstance(values, _Sparse) else values
            for entry, values in state.items()
        }
        for name, state in states.items()
    }


def _packed(values: NDArray[Any]) -> NDArray[Any] | _Sparse:
    positions = np.flatnonzero(values)
    if len(positions) > _SPARSE * values.size:
        return values
    return _Sparse(values.shape, positions, values.ravel()[positions])
