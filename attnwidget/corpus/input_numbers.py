"""Numbers of each input of a study, read batch by batch here or by workers, kept on disk."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.corpus.file_lock import one_writer
from attnwidget.corpus.progress_bar import OnProgress, progress_bar
from attnwidget.corpus.resume_file import Progress, ResumeFile, keeping
from attnwidget.corpus.resume_from import resume_path
from attnwidget.corpus.run_on import workers_in_force
from attnwidget.corpus.worker_model import WorkerModel
from attnwidget.kernels.arrays import Float64Array
from attnwidget.model_facts.pickled_model import configuration_digest, weights_digest

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

#: Yields each batch with its numbers [..., B], after the batches that are already done.
Results = Callable[[int], Generator[tuple[Sequence[Any], Float64Array]]]


class ReadInputs:
    """Reader of the batches of a study, in this process or in a worker.

    Args:
        model: The model that reads.
        read: Function from a batch of B inputs to numbers [..., B]; a function of a module, because
            it is pickled.
    """

    def __init__(
        self, model: AttentionModel, read: Callable[[AttentionModel, Any], Float64Array]
    ) -> None:
        self._model = WorkerModel(model)
        self._read = read

    def __call__(self, batches: Sequence[Any]) -> list[Float64Array]:
        """Return the numbers of each batch."""
        with self._model.lock.in_turn(), self._model.reading() as model:
            return [self._read(model, batch) for batch in batches]

    def results(self, batches: Sequence[Sequence[Any]]) -> Results:
        """Return a reader of batches, in this process or by workers."""
        workers = workers_in_force(self)

        def read_from(n_done: int) -> Generator[tuple[Sequence[Any], Float64Array]]:
            remaining = batches[n_done:]
            if workers is None:
                yield from ((batch, self([batch])[0]) for batch in remaining)
            else:
                yield from workers.each(remaining, lambda shard: (shard,), first=n_done + 1)

        return read_from


def input_numbers(
    study: str,
    about: Mapping[str, Any],
    model: AttentionModel,
    results: Results,
    batches: Sequence[Sequence[Any]],
    *,
    progress: bool | OnProgress,
    unit: str = "input",
) -> tuple[Float64Array, bool]:
    """Read all batches of a study and keep the numbers of every input.

    In a block of `resume_from`, a file keeps them too.

    Args:
        study: Name of the study, also in its resume file.
        about: Settings as JSON that a resume file must agree on, in addition to the model.
        model: The model that reads.
        results: Function that reads the batches, for example `ReadInputs.results`.
        batches: All batches, in the order in which they are read.
        progress: Whether to show a progress bar; or a function that is called with the number of
            inputs read and their number (None if unknown).
        unit: Unit of the progress bar.

    Returns:
        The numbers [..., N] of N inputs in the order of the batches, NaN for inputs that were not
        read; and whether all inputs were read. Ctrl-C ends the reading.

    Raises:
        ValueError: The resume file is of another study.
        KeyboardInterrupt: Ctrl-C before the first batch was read.
        OSError, RuntimeError, WorkersError: As in `measure`.
    """
    n_inputs = sum(map(len, batches))
    file = None
    done = Progress()
    resume = resume_path()
    with one_writer(resume):
        if resume is not None:
            agreed = {
                "study": study,
                "model": type(model.hf_model).__name__,
                "weights": weights_digest(model.hf_model),
                "configuration": configuration_digest(model.hf_model),
                "edits": model.edits.digest or None,
                **about,
            }
            file = ResumeFile(resume, agreed)
            done = file.load()
        numbers = done.states[study]["numbers"].copy() if done.n_batches else None
        start = sum(map(len, batches[: done.n_batches]))
        with (
            keeping(file, done) as keep,
            progress_bar(n_inputs, unit, done=start, shown=progress) as bar,
            closing(results(done.n_batches)) as read,
        ):
            for batch, values in read:
                if numbers is None:
                    numbers = np.full((*values.shape[:-1], n_inputs), np.nan)
                stop = start + len(batch)
                numbers[..., start:stop] = values
                states = {study: {"numbers": numbers}}
                done = replace(done, n_batches=done.n_batches + 1, states=states)
                keep(done)
                bar.update(stop - start)
                start = stop
    if numbers is None:
        raise KeyboardInterrupt
    return numbers, start == n_inputs
