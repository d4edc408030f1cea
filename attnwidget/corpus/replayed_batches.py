"""Batches of a study that replays layers, read in this process or by workers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.tapping.replay import Replay, replaying
from attnwidget.corpus.shards import Workers
from attnwidget.corpus.worker_model import WorkerModel

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Numbers = NDArray[np.float64]
#: Takes the model, the replay and the inputs of a batch, and gives numbers [..., B].
ReadBatch = Callable[["AttentionModel", Replay, Any], Numbers]


class ReplayedBatches:
    """Reader of batches by a replay of layers, in this process or in a worker.

    Args:
        model: The model.
        read: What is read from a batch; it is pickled for workers.
    """

    def __init__(self, model: AttentionModel, read: ReadBatch) -> None:
        self._model = WorkerModel(model)
        self._read = read

    def __call__(self, settled: tuple[str, bool], inputs: Sequence[Any]) -> list[Numbers]:
        """Return the numbers of each batch of a shard, in a worker.

        `settled` is the `note` and `narrows` of the replay that read the first batch.
        """
        with self._model.reading() as model:
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
    ) -> Generator[tuple[Sequence[Any], Numbers]]:
        """Yield the batches after the first `n_done`, each with its numbers.

        With workers, this process reads the first batch to decide how all batches are read.

        Raises:
            ValueError, TypeError, WorkersError: as `Workers.each`.
        """

        def arguments(shard: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
            return (replay.note, replay.narrows), list(shard)

        remaining = batches[n_done:]
        for batch in remaining if workers is None else remaining[:1]:
            yield batch, self._read(self._model.model, replay, batch)
        if workers is not None:
            yield from workers.each(remaining[1:], arguments, first=n_done + 2)
