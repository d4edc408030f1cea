"""Reading of all study batches, in this process or in workers, with the sums of each batch."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.accumulator import Accumulator
from attnwidget.corpus.batches import TokenTypes, batched
from attnwidget.corpus.file_lock import one_writer
from attnwidget.corpus.media_reader import MediaReader
from attnwidget.corpus.model_reader import ModelReader
from attnwidget.corpus.progress_bar import OnProgress, progress_bar
from attnwidget.corpus.resume_file import Progress, ResumeFile, States, keeping
from attnwidget.corpus.resume_from import resume_path
from attnwidget.corpus.run_on import workers_in_force
from attnwidget.corpus.shards import Workers
from attnwidget.corpus.study_reader import StudyReader
from attnwidget.inputs.input_list import INPUTS
from attnwidget.inputs.media_input import MediaSegment
from attnwidget.text.segments import Segment
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

SegmentBatch = Sequence[Segment]
# If the share of nonzero numbers is smaller, only these numbers and their positions are sent.
_SPARSE = 0.25


def read_all(
    model: AttentionModel,
    accumulators: Sequence[Accumulator[Any]],
    segments: Iterable[Segment],
    n_segments: int | None,
    *,
    batch_size: int,
    progress: bool | OnProgress,
    token_types: TokenTypes = None,
    pad_to: int | None = None,
) -> tuple[Progress, bool]:
    """Read all segments in batches and add them to the accumulators.

    The sums are stored in the resume file of the surrounding `resume_from` block, if there is one.

    Args:
        model: Model that reads the segments.
        accumulators: Accumulators that receive each layer, in this order.
        segments: Segments.
        n_segments: Number of segments, for the progress bar; None if it is unknown.
        batch_size: Number of segments in a forward pass.
        progress: Whether to show a progress bar; or a function, as in `measure`.
        token_types: Token types, as in `measure`.
        pad_to: Number of tokens to which every batch is padded, as in `compare`.

    Returns:
        The progress after the last batch that was read, and whether all segments were read.

    Raises:
        ValueError, TypeError, RuntimeError, OSError, WorkersError: As in `measure`.
        KeyboardInterrupt: Ctrl-C was pressed before the first batch was done.
    """
    batch_size = whole_number("batch_size", batch_size, 1)
    batches = batched(segments, batch_size)
    first_batch = next(batches, None)
    if first_batch is None:
        raise ValueError(f"there are no segments to measure: {INPUTS}")
    reader = reader_of(model, accumulators, first_batch[0], token_types, pad_to)
    workers = _workers_of(reader)
    reader.start(first_batch[0])
    batches = chain([first_batch], batches)
    current_progress = Progress(states=reader.nothing, unsummed=reader.unsummed)
    file = None
    complete = False
    resume = resume_path()
    with one_writer(resume):
        if resume is not None:
            file = ResumeFile(resume, {"batch_size": batch_size, **reader.about()})
            stored_progress = file.load()
            file.skip(batches, stored_progress)
            reader.restore(stored_progress.states)
            current_progress = replace(
                stored_progress, states=reader.states(), unsummed=current_progress.unsummed
            )
        with (
            keeping(file, current_progress) as keep,
            progress_bar(
                n_segments, "segment", done=current_progress.n_segments, shown=progress
            ) as bar,
        ):
            results: Generator[tuple[SegmentBatch, Any]]
            if workers is None:
                results = ((batch, reader.states_of(batch)) for batch in batches)
            else:
                arguments = partial(_arguments, reader)
                results = workers.each(batches, arguments, first=current_progress.n_batches + 1)
            with closing(results):
                for batch, states in results:
                    merged_states = reader.merged(current_progress.states, unpacked(states))
                    keep(current_progress := current_progress.after(batch, merged_states))
                    bar.update(len(batch))
            complete = True
    if not current_progress.n_batches:
        raise KeyboardInterrupt
    reader.restore(current_progress.states)
    return current_progress, complete


def reader_of(
    model: AttentionModel,
    accumulators: Sequence[Accumulator[Any]],
    first: Segment | None,
    token_types: TokenTypes = None,
    pad_to: int | None = None,
) -> StudyReader:
    """Return the reader of a study.

    Args:
        model: Model that reads the inputs.
        accumulators: Accumulators that receive each layer, in this order.
        first: First input; None if there are no inputs.
        token_types: Token types, as in `measure`.
        pad_to: Number of tokens to which every batch is padded, as in `compare`.

    Raises:
        ValueError: A text option was passed for pictures and sounds. See also `ModelReader`.
    """
    if not isinstance(first, MediaSegment):
        return ModelReader(model, accumulators, token_types, pad_to)
    for name, value in (("token_types", token_types), ("pad_to", pad_to)):
        if value is not None:
            raise ValueError(
                f"{name} is an option of texts: pictures and sounds take None, got {value!r}"
            )
    return MediaReader(model, accumulators)


def _read_batches(
    reader: StudyReader, known: Sequence[dict[str, Any]], batches: Sequence[SegmentBatch]
) -> list[Any]:
    """Return the packed states of each batch in a shard, starting from empty sums.

    This function runs in a worker.

    Args:
        reader: Reader of the study.
        known: Attributes of the accumulators for these segments, from `known_of`.
        batches: Batches of the shard.
    """
    reader.know(known)
    if not reader.nothing:
        reader.start(batches[0][0])
    return [packed(reader.states_of(batch)) for batch in batches]


def _workers_of(reader: StudyReader) -> Workers | None:
    """Return workers that read batches like `reader`, before its start; None if there are none.

    Raises:
        TypeError: The reader cannot be pickled.
    """
    with reader.without_segments():
        return workers_in_force(partial(_read_batches, reader))


def _arguments(reader: StudyReader, shard: Sequence[SegmentBatch]) -> tuple[Any, ...]:
    """Return the arguments of `_read_batches` that follow the reader, for one shard."""
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
    """Return states whose sparse arrays are replaced by nonzero numbers and positions.

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
    """Return the original states from the result of `packed`; other states are unchanged."""
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
