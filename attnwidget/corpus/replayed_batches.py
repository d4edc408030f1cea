"""Batches of a study that replays layers, read in this process or by workers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.disabled import changed, intact_edits
from attnwidget.capture.tapping.edits import Change
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import Replay, replaying
from attnwidget.corpus.shards import Workers

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Numbers = NDArray[np.float64]
#: Takes the model, the replay and the inputs of a batch, and gives numbers [..., B].
ReadBatch = Callable[["AttentionModel", Replay, Any], Numbers]


@dataclass(frozen=True, eq=False)
class ReplayedBatches:
    """Reader of batches by a replay of layers, in this process or in a worker.

    Attributes:
        model: The model.
        outer: The heads that are off in the process that started the study.
        read: What is read from a batch; it is pickled for workers.
    """

    model: AttentionModel
    outer: Mapping[Head, Change]
    read: ReadBatch

    def __call__(self, settled: tuple[str, bool], inputs: Sequence[Any]) -> list[Numbers]:
        """Return the numbers of each batch of a shard, in a worker.

        `settled` is the `note` and `narrows` of the replay that read the first batch.
        """
        hf_model = self.model.hf_model
        edits = intact_edits(hf_model)
        outer = replace(edits, changes=self.outer)
        block = changed(hf_model, self.outer) if self.outer else nullcontext()
        with self.model.lock, block, replaying(hf_model, outer, edits) as replay:
            replay.settle(*settled)
            return [self.read(self.model, replay, batch) for batch in inputs]

    def each(
        self,
        replay: Replay,
        batches: Sequence[Sequence[Any]],
        inputs_of: Callable[[Sequence[Any]], Any],
        workers: Workers | None,
        n_done: int,
    ) -> Generator[tuple[Sequence[Any], Numbers]]:
        """Yield the batches after the first `n_done`, each with its numbers.

        With workers, this process reads the first batch to decide how all batches are read.
        `inputs_of` gives what `read` needs of a batch.

        Raises:
            ValueError, TypeError, WorkersError: as `Workers.each`.
        """

        def arguments(shard: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
            return (replay.note, replay.narrows), [inputs_of(batch) for batch in shard]

        remaining = batches[n_done:]
        for batch in remaining if workers is None else remaining[:1]:
            yield batch, self.read(self.model, replay, inputs_of(batch))
        if workers is not None:
            yield from workers.each(remaining[1:], arguments, first=n_done + 2)
