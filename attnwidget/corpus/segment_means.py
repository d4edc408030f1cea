"""Means over segments, the base class of most head studies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import (
    Accumulator,
    Batch,
    LayerBatch,
    R,
    Subject,
)
from attnwidget.corpus.results import HeadResult
from attnwidget.corpus.segment_indices import segment_indices
from attnwidget.corpus.waiting_numbers import WaitingNumbers
from attnwidget.text.counted import counted
from attnwidget.text.undo import undone

SumShapes = Mapping[str, tuple[int, ...]]


class SegmentMeans(Accumulator[R]):
    """Numbers per head that are means over segments.

    A study names its numbers in `of_heads`, computes them from the maps of a layer in
    `head_numbers`, and constructs its result from their `mean` in `compute`.

    Attributes:
        of_heads: Additional axes of each number by name: () for one number per head, (3,) for
            three numbers per head.
        of_segments: Axes of each count by name. These counts are per segment and do not depend on
            the layer.
        keeps_each: Whether to store the numbers of each segment for `each`, by `segment.index`. Set
            it before `start`. By default False, which stores only sums.

    Example:
        >>> from attnwidget.metrics import SegmentMeans
        >>> class Largest(SegmentMeans):
        ...     name = "largest"
        ...     of_heads = {"largest": ()}
        ...     def head_numbers(self, layer):
        ...         rows = layer.batch.row_weights[:, None]
        ...         return {"largest": (layer.weights.amax(-1) * rows).sum(-1)}
        ...     def compute(self):
        ...         return self.mean("largest")
    """

    of_heads: SumShapes
    of_segments: SumShapes = {}
    keeps_each: bool = False

    def start(self, subject: Subject) -> None:
        super().start(subject)
        size = self.n_layers, self.n_heads
        self._waiting = WaitingNumbers()
        self.sums = {name: np.zeros((*axes, *size)) for name, axes in self.of_heads.items()}
        self.sums |= {name: np.zeros(axes) for name, axes in self.of_segments.items()}
        if self.keeps_each:
            self.rows = {
                f"each {name}": np.zeros((0, *total.shape)) for name, total in self.sums.items()
            }
            self.rows["index"] = np.zeros(0, np.int64)
        self.sums["segments"] = np.zeros((), np.int64)

    def begin_batch(self, layer: LayerBatch) -> None:
        """Prepare values that all layers of a batch share.

        Args:
            layer: First layer of the batch.
        """

    @abstractmethod
    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        """Return the numbers of a layer by name, each [B, H, *its axes].

        A number [B, 1, *its axes] applies to all heads of the layer. An empty mapping adds nothing.

        Args:
            layer: Attention of the layer.
        """

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        """Return the counts per segment by name, [B, *its axes], after the last layer.

        Args:
            batch: Segments of the batch.
        """
        return {}

    def update(self, layer: LayerBatch) -> None:
        if layer.layer == layer.first == 0:
            self._make_rows(layer.batch)
            self.begin_batch(layer)
        if numbers := self.head_numbers(layer):
            self.add(layer.layer, numbers)

    def _make_rows(self, batch: Batch) -> None:
        """Append the rows of a batch, if the numbers of each segment are stored."""
        if self.keeps_each:
            self._places = self.add_rows(len(batch.segments))
            self.rows["index"][self._places] = segment_indices(batch.segments)

    def add(self, layer: int, numbers: Mapping[str, Tensor]) -> None:
        """Add the `head_numbers` of one layer.

        Args:
            layer: Index of the layer.
            numbers: Numbers by name.

        Raises:
            ValueError: `of_heads` does not have these numbers, or their shape is different.
        """
        for name, values in self._checked(numbers, "of_heads", (self.n_heads,), (1,)):
            row_values = values.moveaxis(1, -1)
            self._waiting.add(_total(row_values), self.sums[name], (..., layer, slice(None)))
            if self.keeps_each:
                where = (self._places, ..., layer, slice(None))
                self._waiting.add(row_values, self.rows[f"each {name}"], where)

    def end_batch(self, batch: Batch) -> None:
        for name, values in self._checked(self.segment_numbers(batch), "of_segments", ()):
            self._waiting.add(_total(values), self.sums[name], ...)
            if self.keeps_each:
                self._waiting.add(values, self.rows[f"each {name}"], self._places)
        self._waiting.read()
        self.sums["segments"] += len(batch.segments)

    def _checked(
        self, numbers: Mapping[str, Tensor], declared: str, *first: tuple[int, ...]
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the numbers of a batch; the axes after the batch axis must begin with a `first`."""
        shapes: SumShapes = getattr(self, declared)
        if numbers.keys() != shapes.keys():
            raise ValueError(
                f"the metric {self.name!r} names {list(shapes)} in {declared}, got {list(numbers)}"
            )
        for name, values in numbers.items():
            shape = list(values.shape)
            allowed = [[*axes, *shapes[name]] for axes in first]
            if shape[1:] not in allowed:
                raise ValueError(
                    f"{name!r} of the metric {self.name!r} is, for each segment, of shape "
                    f"{' or '.join(map(str, allowed))}, as {declared} says; got {shape}"
                )
            yield name, values

    @property
    def n_segments(self) -> int:
        """Number of segments so far."""
        return int(self.sums["segments"])

    def each(self) -> list[R]:
        """Return a separate result for each segment, in the order of the segment indices.

        Raises:
            ValueError: `keeps_each` was not set before `start`.
        """
        if not self.keeps_each:
            raise ValueError(
                f"the metric {self.name!r} kept sums alone: set keeps_each before start"
            )
        original_sums = self.sums
        results = []
        names = [*self.of_heads, *self.of_segments]
        with undone(lambda: setattr(self, "sums", original_sums)):
            for row in np.argsort(self.rows["index"]):
                self.sums = {name: self.rows[f"each {name}"][row] for name in names}
                self.sums["segments"] = np.ones((), np.int64)
                results.append(self.compute())
        return results

    def mean(self, name: str, over: str = "segments") -> NDArray[np.float64]:
        """Return the mean of a number over all segments, [*its axes, L, H].

        The mean is NaN for layers without attention, and if the count is 0.

        Args:
            name: Name of the number.
            over: Name of the count to divide by, whose axes are the first axes of the number.
        """
        total = self.sums[name]
        count = self.sums[over]
        axes = (*count.shape, *[1] * (total.ndim - count.ndim))
        with np.errstate(invalid="ignore"):
            mean: NDArray[np.float64] = total / count.reshape(axes)
        return self.layers.spread(mean, axis=-2) if name in self.of_heads else mean

    def counted(self, name: str) -> NDArray[np.int64]:
        """Return the total of a count over all segments so far, as integers.

        Args:
            name: Name of the count in `of_segments`.
        """
        return np.rint(self.sums[name]).astype(np.int64)


def _total(values: Tensor) -> Tensor:
    """Return the sum over the segments of a batch, in float64."""
    return values.sum(0, dtype=torch.float64)


@dataclass(frozen=True, eq=False, repr=False)
class SegmentMeansResult(HeadResult):
    """Base class for results that are means over segments.

    Attributes:
        model_name: Name of the model.
        n_documents: Number of segments.
        unit: Noun for a segment in figures.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> from attnwidget.results import SegmentMeansResult
        >>> found = measure_attention(load_model().attend("The cat sat."), ["entropy"])["entropy"]
        >>> isinstance(found, SegmentMeansResult), found.n_documents
        (True, 1)
    """

    unit: ClassVar[str] = "segment"

    n_documents: int

    @property
    def _inputs(self) -> str:
        """Number of segments with its noun, for figures."""
        return counted(self.n_documents, self.unit)
