"""Scores of a model with units of heads changed in turn: the loop of all interventions on heads.

An `Example` is an input with the positions, targets and sign of a question to the model
(`inputs/example.py`). A study encodes the user's examples (`interventions/examples.py`);
`AttentionModel.question` makes an example from an encoded input. An intervention consists of units
of heads, a change and a score. One generator, `unit_scores`, yields the score of the intact model
and then the scores with each unit changed, pass by pass over replayed layers. `ablate`,
`patch_heads`, the effects on an answer in figures, total effects and the losses of the atlas use
it. Exact effects on an answer hold the model's lock during one pass at a time, so that a figure's
thread can be interrupted. `interventions/scores.py` has the names and formulas of all scores,
`interventions/score_changes.py` the intervals, tests and tables of their changes, and
`interventions/head_gradients.py` the estimates from one backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.tapping.replay import Changes, Replay, replaying
from attnwidget.corpus.input_numbers import input_numbers
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.run_on import workers_in_force
from attnwidget.corpus.shards import Workers
from attnwidget.corpus.worker_model import WorkerModel
from attnwidget.inputs.example import ExampleBatch
from attnwidget.interventions.scores import ScoreFunction, input_scores, output_scores
from attnwidget.kernels.arrays import Float64Array

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

#: Function from the model, the replay and the inputs of a batch to numbers [..., B].
ReadBatch = Callable[["AttentionModel", Replay, Any], Float64Array]


def unit_scores(
    replay: Replay, batch: ExampleBatch, units: Sequence[Changes], score: str | ScoreFunction
) -> Iterator[Tensor]:
    """Yield the scores of the intact model, then of the model with each unit changed.

    Only a unit's layer and later layers run again. Each step is one pass of the model, with one or
    several units.

    Args:
        replay: Replay of the model's layers.
        batch: Inputs and their questions.
        units: Changes to apply in turn, in layer order.
        score: Name of a score in `question_scores`, or a function.

    Yields:
        Scores, float64 [k, P], for the k units of a pass and the P questions; [1, B] for a
        function.

    Example:
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.capture.disabled import intact_edits
        >>> from attnwidget.capture.tapping.edits import Change
        >>> from attnwidget.capture.tapping.replay import replaying
        >>> from attnwidget.interventions.examples import batch_of, encode_examples
        >>> model = load_model(device="cpu")
        >>> examples = encode_examples(model, [("The woman washed [MASK] hands.", "her")])
        >>> units = [{Head(2, 1): Change("zero", "zero")}, {Head(5, 8): Change("zero", "zero")}]
        >>> with replaying(model.hf_model, model.edits, intact_edits(model.hf_model)) as replay:
        ...     passes = list(unit_scores(replay, batch_of(model, examples), units, "loss"))
        >>> [tuple(numbers.shape) for numbers in passes]
        [(1, 1), (1, 1), (1, 1)]
    """
    output = replay.intact(batch.inputs)
    intact = batch.logits(output)[0] if score == "kl" else None
    yield output_scores(score, output, batch, intact=intact)
    positions = None
    if not callable(score) and batch.columns is not None:
        positions = batch.rows, batch.columns
    passes = replay.without(batch.inputs, units, places=positions, together=not callable(score))
    for first, last, output in passes:
        parts = last - first
        yield output_scores(score, output, batch, parts, intact, narrowed=replay.narrows)


def unit_scores_of_inputs(
    replay: Replay, batch: ExampleBatch, units: Sequence[Changes], score: str | ScoreFunction
) -> NDArray[np.float64]:
    """Return `unit_scores` summed over the questions of each input, [1 + U, B]."""
    return np.concatenate(
        [
            input_scores(score, numbers, batch).cpu().numpy()
            for numbers in unit_scores(replay, batch, units, score)
        ]
    )


class ReplayedBatches:
    """Reader of batches by a replay of layers, in this process or in a worker.

    Args:
        model: Model from `load_model`.
        read: Function that computes numbers from a batch; it is pickled for workers.
    """

    def __init__(self, model: AttentionModel, read: ReadBatch) -> None:
        self._model = WorkerModel(model)
        self._read = read

    def __call__(self, settled: tuple[str, bool], inputs: Sequence[Any]) -> list[Float64Array]:
        """Return the numbers of each batch of a shard, in a worker.

        `settled` is the `note` and `narrows` of the replay that processed the first batch.
        """
        with self._model.lock.in_turn(), self._model.reading() as model:
            hf_model = model.hf_model
            with replaying(hf_model, model.edits, intact_edits(hf_model)) as replay:
                replay.settle(*settled)
                return [self._read(model, replay, batch) for batch in inputs]

    def each(
        self,
        replay: Replay,
        batches: Sequence[Sequence[Any]],
        workers: Workers | None,
        n_done: int,
    ) -> Generator[tuple[Sequence[Any], Float64Array]]:
        """Yield the batches after the first `n_done`, each with its numbers.

        With workers, this process handles the first batch to decide how all batches are processed.

        Raises:
            ValueError, TypeError, WorkersError: As in `Workers.each`.
        """

        def arguments(shard: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
            return (replay.note, replay.narrows), list(shard)

        remaining = batches[n_done:]
        for batch in remaining if workers is None else remaining[:1]:
            yield batch, self._read(self._model.model, replay, batch)
        if workers is not None:
            yield from workers.each(remaining[1:], arguments, first=n_done + 2)


def read_unit_scores(
    study: str,
    about: Mapping[str, Any],
    model: AttentionModel,
    read: ReadBatch,
    batches: Sequence[Sequence[Any]],
    *,
    progress: bool | OnProgress,
    unit: str = "input",
) -> tuple[NDArray[np.float64], bool, str]:
    """Compute the scores of all batches of a study, in this process or with workers.

    Args:
        study: Name of the study, as in `corpus.input_numbers.input_numbers`.
        about: Settings of the study, as in `input_numbers`.
        model: Model from `load_model`.
        read: Function from the model, the replay of its layers and a batch to numbers [..., B].
        batches: All batches.
        progress: Whether to show a progress bar, as in `input_numbers`.
        unit: Unit of the progress bar.

    Returns:
        Numbers [..., N] of the N inputs, NaN for unfinished inputs; whether all are finished; and
        the reason why every unit took a complete pass of the model, or "".

    Raises:
        ValueError, KeyboardInterrupt, OSError, RuntimeError, WorkersError: As in `input_numbers`.
    """
    work = ReplayedBatches(model, read)
    workers = workers_in_force(work)
    with replaying(model.hf_model, model.edits, intact_edits(model.hf_model)) as replay:
        numbers, complete = input_numbers(
            study,
            about,
            model,
            lambda n_done: work.each(replay, batches, workers, n_done),
            batches,
            progress=progress,
            unit=unit,
        )
    return numbers, complete, replay.note
