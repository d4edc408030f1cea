"""Reading of study batches in workers, which return the sums of each batch."""

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
# If the share of nonzero numbers is smaller, only these numbers and their positions are sent.
_SPARSE = 0.25


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


def workers_of(reader: StudyReader) -> Workers | None:
    """Return workers that read batches like a reader, or None if there are no workers.

    Args:
        reader: Reader of a study, not started yet.

    Raises:
        TypeError: The reader cannot be pickled.
    """
    with reader.without_segments():
        return workers_in_force(partial(_read_batches, reader))


def read_by(
    workers: Workers, reader: StudyReader, batches: Iterable[SegmentBatch], n_done: int
) -> Generator[tuple[SegmentBatch, States]]:
    """Yield each batch with its sums, in order.

    Args:
        workers: Workers of the reader.
        reader: Reader of the study.
        batches: Remaining batches.
        n_done: Number of batches that are already finished.

    Raises:
        ValueError, TypeError, WorkersError: See `Workers.each`.
    """

    def arguments(shard: Sequence[SegmentBatch]) -> tuple[Any, ...]:
        return reader.known_of(chain(*shard)), shard

    for batch, states in workers.each(batches, arguments, first=n_done + 1):
        yield batch, unpacked(states)


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
    """Return the original states from the result of `packed`.

    Args:
        states: Result of `packed`.
    """
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
