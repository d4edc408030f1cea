"""Long segments without maps: sums over the keys of every query go to the accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.tapping.tap import LongAttention
from attnwidget.corpus.accumulator import Accumulator, Batch, LayerRows, Wanted
from attnwidget.kernels.row_sums import RowQuestions, RowSums


class LongRows:
    """The sums that accumulators want of a batch of long segments, and their way to them.

    Args:
        accumulators: The accumulators that read the batch.
        batch: Long segments of equal length.

    Attributes:
        need_maps: The accumulators that need the rows of maps instead.
        questions: The sums that the pass takes, one entry per segment; empty if there are none.
    """

    def __init__(self, accumulators: Sequence[Accumulator[Any]], batch: Batch) -> None:
        self._batch = batch
        self._wanted: list[tuple[Accumulator[Any], Wanted]] = []
        self.need_maps: list[Accumulator[Any]] = []
        for accumulator in accumulators:
            wanted = accumulator.wanted(batch)
            if wanted is None:
                self.need_maps.append(accumulator)
            else:
                self._wanted.append((accumulator, wanted))
        self.questions = self._questions() if self._wanted else []

    def _questions(self) -> list[RowQuestions]:
        wanted = [wanted for _, wanted in self._wanted]
        columns = torch.cat([self._columns(one) for one in wanted], 1)
        return [
            RowQuestions(
                columns=of_segment,
                offsets=tuple({offset for one in wanted for offset in one.offsets}),
                distances=any(one.distances for one in wanted),
                smoothings=tuple({smoothing for one in wanted for smoothing in one.smoothings}),
            )
            for of_segment in columns
        ]

    def _columns(self, wanted: Wanted) -> Tensor:
        """Return the columns that one accumulator wants, float32 [B, C, n]."""
        real = self._batch.real
        if wanted.columns is None:
            return real.new_empty((len(real), 0, real.shape[1]), dtype=torch.float32)
        return wanted.columns.float()

    def update(self, place: int, seen: LongAttention) -> None:
        """Give one layer to the accumulators that need no maps.

        Args:
            place: Index of the layer among the layers with attention.
            seen: The record of the tap.
        """
        sums = [item.sums for item in seen.items if item.sums is not None]
        first = 0
        for accumulator, wanted in self._wanted:
            last = first + self._columns(wanted).shape[1]
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
