"""Long segments without maps: sums over the keys of every query go to the accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.tapping.tap import LongAttention
from attnwidget.corpus.accumulator import Accumulator, Batch, LayerRows
from attnwidget.kernels.row_sums import RowQuestions, RowSums


class LongRows:
    """The sums that accumulators ask for in a batch of long segments, and their way to them.

    Args:
        accumulators: The accumulators that read the batch.
        batch: Long segments of equal length.

    Attributes:
        need_maps: The accumulators that need the rows of maps instead.
        questions: The sums that the pass takes, one entry per segment; empty if there are none.
    """

    def __init__(self, accumulators: Sequence[Accumulator[Any]], batch: Batch) -> None:
        self._batch = batch
        self._asked: list[tuple[Accumulator[Any], RowQuestions]] = []
        self.need_maps: list[Accumulator[Any]] = []
        for accumulator in accumulators:
            questions = accumulator.row_questions(batch)
            if questions is None:
                self.need_maps.append(accumulator)
            else:
                self._asked.append((accumulator, questions))
        self.questions = self._of_segments() if self._asked else []

    def _of_segments(self) -> list[RowQuestions]:
        """Return the questions of all accumulators together, one entry per segment."""
        asked = [questions for _, questions in self._asked]
        columns = torch.cat([questions.columns.float() for questions in asked], 1)
        return [
            RowQuestions(
                columns=of_segment,
                offsets=tuple({offset for questions in asked for offset in questions.offsets}),
                distances=any(questions.distances for questions in asked),
                smoothings=tuple({one for questions in asked for one in questions.smoothings}),
            )
            for of_segment in columns
        ]

    def update(self, place: int, seen: LongAttention) -> None:
        """Give one layer to the accumulators that need no maps.

        Args:
            place: Index of the layer among the layers with attention.
            seen: The record of the tap.
        """
        sums = [item.sums for item in seen.items if item.sums is not None]
        first = 0
        for accumulator, questions in self._asked:
            last = first + questions.columns.shape[1]
            accumulator.update_rows(
                LayerRows(
                    batch=self._batch,
                    layer=place,
                    largest=torch.stack([item.streamed.largest for item in seen.items]),
                    columns=torch.stack([one.columns[..., first:last] for one in sums]),
                    offsets=_by_name(sums, "offsets"),
                    distances=torch.stack([one.distances for one in sums]),
                    later=torch.stack([one.later for one in sums]),
                    entropies=_by_name(sums, "entropies"),
                )
            )
            first = last


def _by_name(sums: Sequence[RowSums], name: str) -> dict[Any, Tensor]:
    return {
        key: torch.stack([getattr(one, name)[key] for one in sums])
        for key in getattr(sums[0], name)
    }
