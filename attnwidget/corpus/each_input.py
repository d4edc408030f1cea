"""Measurement of study inputs one by one, for example of id sequences."""

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
    """Return the numbers of all inputs, [..., N], or raise an error if reading was interrupted.

    Args:
        study: Name of the study, also in its resume file.
        model: Model that reads the inputs.
        inputs: N inputs. Their `repr` must show their content, because resume files compare it.
        read: Function from a batch of one input to its numbers, [..., 1]. It must be a module-level
            function, because it is pickled.
        unit: Unit of the progress bar.
        progress: Whether to show a progress bar; or a function that is called with the number of
            finished inputs and the total number.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed. The resume file has the finished work.
        ValueError: The resume file belongs to another study.
        OSError, RuntimeError, WorkersError: See `measure`.
    """
    batches = [[item] for item in inputs]
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
