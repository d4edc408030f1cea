"""Batches of a study that workers read, with their sums."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.resume_file import States
from attnwidget.corpus.run_on import workers_in_force
from attnwidget.corpus.shards import Workers
from attnwidget.corpus.study_reader import StudyReader
from attnwidget.text.segments import Segment

SegmentBatch = Sequence[Segment]
# Arrays with a smaller share of nonzero numbers are sent as these numbers and their places.
_SPARSE = 0.25


def _read_batches(
    reader: StudyReader, known: Sequence[dict[str, Any]], batches: Sequence[SegmentBatch]
) -> list[Any]:
    """Return the packed states of each batch of a shard, each from empty sums, in a worker.

    Args:
        reader: The reader of the study.
        known: What the reader knows of the segments (`known_of`).
        batches: The batches of the shard.
    """
    reader.know(known)
    if not reader.nothing:
        reader.start(batches[0][0])
    return [packed(reader.states_of(batch)) for batch in batches]


def workers_of(reader: StudyReader) -> Workers | None:
    """Return workers that read batches like a reader that was not started yet; None = no workers.

    Raises:
        TypeError: The reader cannot be pickled.
    """
    with reader.without_segments():
        return workers_in_force(partial(_read_batches, reader))


def read_by(
    workers: Workers, reader: StudyReader, batches: Iterable[SegmentBatch], n_done: int
) -> Generator[tuple[SegmentBatch, States]]:
    """Yield each batch with its sums, in order; the first batch has the number `n_done + 1`.

    Raises:
        ValueError, TypeError, WorkersError: as `Workers.each`.
    """

    def arguments(shard: Sequence[SegmentBatch]) -> tuple[Any, ...]:
        return reader.known_of(chain(*shard)), shard

    for batch, states in workers.each(batches, arguments, first=n_done + 1):
        yield batch, unpacked(states)


@dataclass(frozen=True)
class _Sparse:
    """The nonzero numbers of an array, and their places."""

    shape: tuple[int, ...]
    places: NDArray[np.intp]
    values: NDArray[Any]

    def dense(self) -> NDArray[Any]:
        whole = np.zeros(self.shape, self.values.dtype)
        whole.flat[self.places] = self.values
        return whole


def packed(states: States) -> dict[str, dict[str, Any]]:
    """Pack states: large arrays of mostly zeros become their nonzero numbers and places.

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
    """Return the states that were the argument of `packed`."""
    return {
        name: {
            entry: values.dense() if isinstance(values, _Sparse) else values
            for entry, values in state.items()
        }
        for name, state in states.items()
    }


def _packed(values: NDArray[Any]) -> NDArray[Any] | _Sparse:
    places = np.flatnonzero(values)
    if len(places) > _SPARSE * values.size:
        return values
    return _Sparse(values.shape, places, values.ravel()[places])
