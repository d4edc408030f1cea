"""Measurement of study inputs batch by batch, here or in workers, with a resume file."""

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

#: Function of the number of finished batches that yields each further batch with its numbers,
#: [..., B].
Results = Callable[[int], Generator[tuple[Sequence[Any], Float64Array]]]


class ReadInputs:
    """Reader for the batches of a study, in this process or in a worker.

    Args:
        model: Model that reads the batches.
        read: Function from a batch of B inputs to numbers [..., B]. It must be a module-level
            function, because it is pickled.
    """

    def __init__(
        self, model: AttentionModel, read: Callable[[AttentionModel, Any], Float64Array]
    ) -> None:
        self._model = WorkerModel(model)
        self._read = read

    def __call__(self, batches: Sequence[Any]) -> list[Float64Array]:
        """Return the numbers of each batch.

        Args:
            batches: Batches of inputs.
        """
        with self._model.lock.in_turn(), self._model.reading() as model:
            return [self._read(model, batch) for batch in batches]

    def results(self, batches: Sequence[Sequence[Any]]) -> Results:
        """Return a function that reads the batches in this process or in workers.

        Args:
            batches: All batches of the study.
        """
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
    """Read all batches of a study and return the numbers of every input.

    In a `resume_from` block, a file also stores the numbers.

    Args:
        study: Name of the study, also in its resume file.
        about: Settings as JSON, in addition to the model, which must equal those of the resume
            file.
        model: Model that reads the batches.
        results: Function that reads the batches, for example `ReadInputs.results`.
        batches: All batches, in reading order.
        progress: Whether to show a progress bar; or a function that is called with the number of
            finished inputs and the total number (None if unknown).
        unit: Unit of the progress bar.

    Returns:
        The numbers [..., N] of N inputs in batch order, NaN for inputs that were not read; and
        whether all inputs were read. Ctrl-C ends the reading early.

    Raises:
        ValueError: The resume file belongs to another study.
        KeyboardInterrupt: Ctrl-C was pressed before the first batch was finished.
        OSError, RuntimeError, WorkersError: See `measure`.
    """
    n_inputs = sum(map(len, batches))
    file = None
    finished = Progress()
    resume = resume_path()
    with one_writer(resume):
        if resume is not None:
            settings = {
                "study": study,
                "model": type(model.hf_model).__name__,
                "weights": weights_digest(model.hf_model),
                "configuration": configuration_digest(model.hf_model),
                "edits": model.edits.digest or None,
                **about,
            }
            file = ResumeFile(resume, settings)
            finished = file.load()
        numbers = finished.states[study]["numbers"].copy() if finished.n_batches else None
        start = sum(map(len, batches[: finished.n_batches]))
        with (
            keeping(file, finished) as keep,
            progress_bar(n_inputs, unit, done=start, shown=progress) as bar,
            closing(results(finished.n_batches)) as reading,
        ):
            for batch, values in reading:
                if numbers is None:
                    numbers = np.full((*values.shape[:-1], n_inputs), np.nan)
                stop = start + len(batch)
                numbers[..., start:stop] = values
                states = {study: {"numbers": numbers}}
                finished = replace(finished, n_batches=finished.n_batches + 1, states=states)
                keep(finished)
                bar.update(stop - start)
                start = stop
    if numbers is None:
        raise KeyboardInterrupt
    return numbers, start == n_inputs
