"""Batches of an ablation study: the score of their inputs with each unit of heads off."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.tapping.edits import Change
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import Changes, Replay, replaying
from attnwidget.studies.interventions.ablation_scores import Score, input_numbers
from attnwidget.studies.interventions.inputs_with_answers import Asked, ExampleBatch, batch_of
from attnwidget.studies.streaming.shards import Workers

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AblateBatches:
    """The work of an ablation study on each batch, in this process or in a worker.

    Attributes:
        model: The model.
        outer: The heads that are always off.
        units: The groups of heads that are switched off in turn.
        score: The score.
    """

    model: AttentionModel
    outer: Mapping[Head, Change]
    units: Sequence[Changes]
    score: Score

    def __call__(
        self, settled: tuple[str, bool], batches: Sequence[tuple[Sequence[Any], Sequence[Asked]]]
    ) -> list[Numbers]:
        """Return the scores of a shard's batches of examples.

        `settled` is the `note` and `narrows` of the replay that read the first batch.
        """
        edits = intact_edits(self.model.hf_model)
        outer = replace(edits, changes=self.outer)
        with self.model.lock, replaying(self.model.hf_model, outer, edits) as replay:
            replay.settle(*settled)
            return [self.numbers(replay, *arguments) for arguments in batches]

    def numbers(self, replay: Replay, examples: Sequence[Any], asked: Sequence[Asked]) -> Numbers:
        """Return the scores of one batch, [units + 1, B], the intact model first."""
        return _numbers(batch_of(self.model, examples, asked), replay, self.units, self.score)

    def each(
        self,
        replay: Replay,
        examples: Sequence[Any],
        batches: Sequence[Sequence[Asked]],
        workers: Workers | None,
        n_done: int,
    ) -> Generator[tuple[Sequence[Asked], Numbers]]:
        """Yield every batch with its scores; the first batch has the number `n_done + 1`.

        With workers, this process reads the first batch to decide how all batches are read.

        Raises:
            ValueError, TypeError, WorkersError: as `Workers.each`.
        """

        def with_examples(asked: Sequence[Asked]) -> tuple[list[Any], Sequence[Asked]]:
            return [examples[question.example] for question in asked], asked

        def arguments(shard: Sequence[Sequence[Asked]]) -> tuple[Any, ...]:
            return (replay.note, replay.narrows), [with_examples(questions) for questions in shard]

        for batch in batches if workers is None else batches[:1]:
            yield batch, self.numbers(replay, *with_examples(batch))
        if workers is not None:
            yield from workers.each(batches[1:], arguments, first=n_done + 2)


def _numbers(
    batch: ExampleBatch, replay: Replay, units: Sequence[Changes], score: Score
) -> Numbers:
    output = replay.intact(batch.inputs)
    intact = batch.answers(output.logits) if score == "kl" else None
    numbers_of_rows = [input_numbers(score, output, batch, 1, intact).cpu().numpy()]
    places = None
    if not callable(score) and batch.columns is not None:
        places = batch.rows, batch.columns
    together = not callable(score)
    for first, last, output in replay.without(
        batch.inputs, units, places=places, together=together
    ):
        parts = last - first
        numbers = input_numbers(score, output, batch, parts, intact, narrowed=replay.narrows)
        numbers_of_rows.append(numbers.cpu().numpy())
    return np.concatenate(numbers_of_rows)
