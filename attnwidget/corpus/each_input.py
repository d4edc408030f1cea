"""Numbers of the inputs of a study, read one by one, for example of sequences of ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attnwidget.corpus.input_numbers import ReadInputs, input_numbers
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.resume_file import digest_of
from attnwidget.kernels.arrays import Float64Array

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def numbers_of_each(
    study: str,
    model: AttentionModel,
    inputs: Sequence[Any],
    read: Callable[[AttentionModel, Sequence[Any]], Float64Array],
    *,
    unit: str,
    progress: bool | OnProgress,
) -> Float64Array:
    """Return the numbers of all inputs, [..., N], or raise where the reading was interrupted.

    Args:
        study: Name of the study, also in its resume file.
        model: The model that reads.
        inputs: The N inputs, whose `repr` has their content, because a resume file must agree on
            it.
        read: Function from a batch of one input to its numbers, [..., 1]; a function of a module,
            because it is pickled.
        unit: Unit of the progress bar.
        progress: Whether to show a progress bar; or a function that is called with the number of
            inputs read and their number.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed. The resume file has the finished work.
        ValueError: The resume file is of another study.
        OSError, RuntimeError, WorkersError: As in `measure`.
    """
    batches = [[one] for one in inputs]
    numbers, complete = input_numbers(
        study,
        {"inputs": digest_of(inputs)},
        model,
        ReadInputs(model, read).results(batches),
        batches,
        progress=progress,
        unit=unit,
    )
    if not complete:
        raise KeyboardInterrupt
    return numbers
