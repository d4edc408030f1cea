"""Comparison of one model's maps with the maps of other models, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.comparison.compare_results import (
    ModelComparison,
    SeveralComparisons,
    several_comparisons,
)
from attnwidget.corpus.accumulator import (
    Accumulator,
    Batch,
    LayerBatch,
    State,
    Subject,
    refuse_kept_maps,
)
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.corpus.resume_file import States
from attnwidget.corpus.segment_indices import segment_indices
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.corpus.study_reader import StudyReader
from attnwidget.inputs.media_input import MediaSegment
from attnwidget.kernels.divergence import js_between
from attnwidget.kernels.map_pairs import map_cosines, map_divergences, pair_sums
from attnwidget.text.places import Box, Place, Span
from attnwidget.text.segments import Segment
from attnwidget.text.tokens import Tokens
from attnwidget.words.word_segments import WordAxes

MapUnit: TypeAlias = Literal["tokens", "words"]
# Same smoothing as for entropy; it only avoids logarithms of 0.
_SMOOTHING = 1e-4
# Share of a patch by which equal regions may differ, because regions are measured.
_SAME_PLACE = 0.05


@dataclass(frozen=True, eq=False)
class MeasuredMetric:
    """Result of a metric for one of the compared models.

    Attributes:
        name: Name of the metric.
        result: Result over all segments.
        each: Numbers per head of each segment; empty if the metric is not a `SegmentMeans`.
    """

    name: str
    result: HeadResult
    each: list[HeadMetrics]


@dataclass(frozen=True, eq=False)
class MapAxes:
    """Rows and columns of the compared maps.

    Attributes:
        rows: Mask of the queries to count, bool [B, m].
        apart: Mask of special tokens, bool [B, m].
        n_rows: Number of queries to count, int64 [B].
        n_columns: Number of keys in each segment, int64 [B].
        words: Left and right factors that convert token maps to word maps, float32 [B, m, n] and
            [B, n, m]; None if tokens are compared.
    """

    rows: Tensor
    apart: Tensor
    n_rows: Tensor
    n_columns: Tensor
    words: tuple[Tensor, Tensor] | None = None

    @classmethod
    def from_batch(cls, batch: Batch, unit: MapUnit) -> MapAxes:
        """Return the axes of a batch's maps.

        With words, rows and columns are words. The column after the last word has the total weight
        on all special tokens, so that rows still sum to 1.

        Args:
            batch: Segments of the batch.
            unit: Unit of the compared maps.
        """
        if unit == "tokens":
            special = batch.classes["[CLS]"] | batch.classes["[SEP]"]
            if isinstance(batch.segments[0], MediaSegment):
                kinds = [[bool(kind) for kind in tokens.special] for tokens in batch.tokens]
                special = torch.tensor(kinds, dtype=torch.bool, device=batch.real.device)
            return cls(batch.real, special, batch.lengths, batch.lengths)
        axes = WordAxes(batch)
        counts = [segment.words[-1] + 1 for segment in axes.segments]
        n_words = torch.tensor(counts, dtype=torch.long, device=batch.real.device)
        positions = torch.arange(axes.n_words + 1, dtype=torch.long, device=batch.real.device)
        is_special = positions == n_words[:, None]
        columns = torch.nn.functional.pad(axes.columns, (0, 1))
        columns += (batch.real.float() - columns.sum(-1))[..., None] * is_special[:, None]
        rows = torch.nn.functional.pad(axes.rows([range(n) for n in counts]), (0, 0, 0, 1))
        return cls(positions < n_words[:, None], is_special, n_words, n_words + 1, (rows, columns))

    def maps(self, weights: Tensor) -> Tensor:
        """Return the compared maps, [B, H, m, m].

        Args:
            weights: Attention weights between tokens, [B, H, n, n].
        """
        if self.words is None:
            return weights
        rows, columns = self.words
        return rows[:, None] @ weights @ columns[:, None]


@dataclass(frozen=True, eq=False)
class OtherModel:
    """Model that is compared with the first model.

    Attributes:
        reader: Reader that adds the model's segments to `metrics`, `changes` and the comparisons
            with seeds.
        metrics: Accumulators of the model, with the same metrics as the first model.
        changes: Accumulator that compares the model with the first model.
    """

    reader: StudyReader
    metrics: Sequence[Accumulator[Any]]
    changes: MapChanges


class BatchMaps(Protocol):
    """Accumulator that stores the maps of a batch by layer, for comparison with another model."""

    maps: list[Tensor]
    tokens: Sequence[Tokens]
    n_layers: int
    n_heads: int
    model_name: str


class KeptMaps(Accumulator[ModelComparison | SeveralComparisons]):
    """Accumulator that stores a model's maps of a batch, then lets other models read the batch.

    Set `others` before `start`. Each of these models is compared with the stored maps.

    Args:
        read: For each input, the segments that the other models read.
        unit: Unit of the compared maps.
        metrics: Accumulators of the first model.
        options: Settings that must equal those of a resume file, in addition to the readers.
        several: Whether the result compares several models.

    Attributes:
        maps: Maps of the last batch, one entry per layer.
        tokens: Tokens of the last batch.
        others: Models that are compared with the first model.
        between: Accumulators that compare pairs of these models.
    """

    name = "comparison"
    by_segment = ("_read",)

    def __init__(
        self,
        read: Iterable[tuple[Segment, ...]],
        unit: MapUnit,
        metrics: Sequence[Accumulator[Any]],
        options: Mapping[str, Any],
        *,
        several: bool,
    ) -> None:
        self._read = dict(enumerate(read))
        self._unit = unit
        self._metrics = metrics
        self._options = options
        self._several = several
        self.maps: list[Tensor] = []
        self.tokens: Sequence[Tokens] = ()
        self._places: list[Tensor] = []
        self.others: list[OtherModel] = []
        self.between: list[MapChanges] = []

    @property
    def options(self) -> dict[str, Any]:
        return {**self._options, "others": [other.reader.about() for other in self.others]}

    def start(self, subject: Subject) -> None:
        super().start(subject)
        for other, segment in zip(self.others, next(iter(self._read.values())), strict=True):
            other.reader.start(segment)

    def update(self, layer: LayerBatch) -> None:
        """Store the layer's maps until the other models have read the batch."""
        if layer.layer == 0:
            self._axes = MapAxes.from_batch(layer.batch, self._unit)
            self.tokens = layer.batch.tokens
        maps = self._axes.maps(layer.weights)
        if layer.layer == 0:
            n_bytes = sum(buffer.nbytes for buffer in self._places)
            refuse_kept_maps(self.name, maps, self.n_layers, held=n_bytes)
        self.maps[layer.layer :] = [self._stored(layer.layer, maps)]

    def _stored(self, layer: int, maps: Tensor) -> Tensor:
        """Copy maps to reused memory, because allocating it takes as long as comparing."""
        if layer == len(self._places):
            self._places.append(maps.new_empty(0))
        if self._places[layer].numel() < maps.numel():
            self._places[layer] = torch.empty_like(maps).flatten()
        return self._places[layer][: maps.numel()].view(maps.shape).copy_(maps)

    def end_batch(self, batch: Batch) -> None:
        segments = zip(
            *(self._read[index] for index in segment_indices(batch.segments)), strict=True
        )
        for other, segments_of_other in zip(self.others, segments, strict=True):
            other.reader.add(segments_of_other)

    def state(self) -> dict[str, NDArray[Any]]:
        return _flat([other.reader.states() for other in self.others])

    def restore(self, state: State) -> None:
        for other, state_of_other in zip(self.others, self._of_others(state), strict=True):
            other.reader.restore(state_of_other)

    def merged(self, first: State, second: State) -> dict[str, NDArray[Any]]:
        both = zip(self.others, self._of_others(first), self._of_others(second), strict=True)
        return _flat([other.reader.merged(a, b) for other, a, b in both])

    def _of_others(self, state: State) -> list[dict[str, dict[str, NDArray[Any]]]]:
        """Return the states of each other model's accumulators, the inverse of `_flat`."""
        states: list[dict[str, dict[str, NDArray[Any]]]] = [{} for _ in self.others]
        for key, values in state.items():
            number, name, entry = key.split("/", 2)
            states[int(number)].setdefault(name, {})[entry] = values
        return states

    def compute(self) -> ModelComparison | SeveralComparisons:
        metrics_before = measured(self._metrics)
        comparisons = [
            with_metrics(other.changes, metrics_before, measured(other.metrics))
            for other in self.others
        ]
        if not self._several:
            return comparisons[0]
        return several_comparisons(comparisons, [change.compute() for change in self.between])


class MapChanges(Accumulator[ModelComparison]):
    """Accumulator that compares a model's maps with the maps of another accumulator.

    It has a row for each segment, because bootstrap intervals need all numbers.

    Args:
        first: Accumulator with the first model's maps.
        documents: Source document of each segment, or None if documents are unknown.
        n_segments: Number of segments in the study.
        unit: Unit of the compared maps.
        padded: Number of tokens to which maps are padded for an additional cosine; None = no such
            cosine.
        matches: Whether to compare each head with all heads of its layer.
        across_layers: Whether to compare each head with the heads of all layers.
        keep: Whether to store the maps, because other models are compared with this model.
        number: Index of the comparison, if the model has several.
    """

    name = "comparison"

    def __init__(
        self,
        first: BatchMaps,
        documents: NDArray[np.int64] | None,
        n_segments: int,
        unit: MapUnit,
        *,
        padded: int | None,
        matches: bool,
        across_layers: bool,
        keep: bool,
        number: int = 0,
    ) -> None:
        # A model may have several comparisons, which need different names.
        self.name = f"comparison {number}"
        self._first = first
        self._documents = documents
        self._n_segments = n_segments
        self._unit = unit
        self._padded = padded
        self._matches = matches
        self._across_layers = across_layers
        self._keep = keep or across_layers
        self.maps: list[Tensor] = []
        self.tokens: Sequence[Tokens] = ()

    def start(self, subject: Subject) -> None:
        super().start(subject)
        size = self.n_layers, self.n_heads
        first = self._first
        if size != (first.n_layers, first.n_heads):
            raise ValueError(
                f"{first.model_name} has {first.n_layers} layers of {first.n_heads} heads, "
                f"{subject.model_name} {size[0]} of {size[1]}: compare models of "
                "one architecture, such as a model and its fine-tuned copy"
            )
        names = ["cosine", "words", "divergence", "entropy"]
        names += ["padded"] if self._padded is not None else []
        self.rows = {name: np.zeros((0, *size)) for name in names}
        self.rows["index"] = np.zeros(0, np.int64)
        if self._matches:
            self.sums["pairs"] = np.zeros((*size, size[1]))
        if self._across_layers:
            self.sums["across"] = np.zeros((size[0] * size[1],) * 2)

    def update(self, layer: LayerBatch) -> None:
        if layer.layer == 0:
            self.maps = []
            self._places = self.add_rows(len(layer.batch.segments))
            self.rows["index"][self._places] = segment_indices(layer.batch.segments)
            self._axes = MapAxes.from_batch(layer.batch, self._unit)
            self.tokens = layer.batch.tokens
            if isinstance(layer.batch.segments[0], MediaSegment):
                self._refuse_other_tokens()
        map_of_first = self._first.maps[layer.layer]
        axes = self._axes
        others = axes.maps(layer.weights).to(map_of_first.device)
        if self._keep and layer.layer == 0:
            copies = {"times": 3, "beside": 6} if self._across_layers else {}
            refuse_kept_maps(self.name, others, self.n_layers, **copies)
        if self._keep:
            self.maps.append(others)
        sums = pair_sums(map_of_first, others, axes.apart, axes.n_columns, smoothing=_SMOOTHING)
        mean = axes.rows[:, None] / axes.n_rows.double()[:, None, None]
        divergence, entropy = (
            torch.linalg.vecdot(logs, mean) for logs in map_divergences(sums.logs)
        )
        totals = {
            "cosine": map_cosines(sums.whole, axes.rows),
            "words": map_cosines(sums.without, axes.rows & ~axes.apart),
            "divergence": divergence,
            "entropy": entropy,
        }
        if self._padded is not None:
            totals["padded"] = map_cosines(sums.whole, torch.ones_like(axes.rows))
        for name, values in totals.items():
            self.rows[name][self._places, layer.layer] += values.cpu().numpy()
        if self._matches:
            for first, second in self._cropped([map_of_first], [others]):
                self.sums["pairs"][layer.layer] += _between(first, second)

    def _refuse_other_tokens(self) -> None:
        """Raise ValueError if two models make different tokens from a picture or a sound."""
        names = f"{self._first.model_name} and {self.model_name}"
        numbers = self.rows["index"][self._places]
        for number, first_tokens, second_tokens in zip(
            numbers, self._first.tokens, self.tokens, strict=True
        ):
            if len(first_tokens) != len(second_tokens):
                raise ValueError(
                    f"{names} make {len(first_tokens)} and {len(second_tokens)} tokens of input "
                    f"{number}: compare models that read pictures and sounds as the same tokens, "
                    "such as a model and its fine-tuned copy"
                )
            if first_tokens.special != second_tokens.special or not _near(
                first_tokens.places, second_tokens.places
            ):
                raise ValueError(
                    f"{names} make tokens of other places of input {number}, because their "
                    "processors cut or scale it in other ways: load both models with one processor"
                )

    def end_batch(self, batch: Batch) -> None:
        if self._across_layers:
            for first, second in self._cropped(self._first.maps, self.maps):
                self.sums["across"] += _between(first, second)
        if not self._keep:
            self.maps = []

    def compute(self) -> ModelComparison:
        order = np.argsort(self.rows["index"])
        n_read = len(order)
        titles = {"cosine": "cosine", "words": "cosine without special tokens"}
        titles |= {"divergence": "divergence", "entropy": "entropy change"}
        titles |= {} if self._padded is None else {"padded": f"cosine padded to {self._padded}"}
        return ModelComparison(
            segments={
                title: self.layers.spread(np.moveaxis(self.rows[name][order], 0, -1))
                for name, title in titles.items()
            },
            documents=None
            if self._documents is None
            else self._documents[self.rows["index"][order]],
            complete=n_read == self._n_segments,
            model_names=(self._first.model_name, self.model_name),
            pairs=self.layers.spread(self.sums["pairs"] / n_read) if self._matches else None,
            across=self._of_all_layers(self.sums["across"] / n_read)
            if self._across_layers
            else None,
        )

    def _of_all_layers(self, across: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expand [L H, L H] from the layers with attention to all layers, with NaN elsewhere."""
        by_layer = across.reshape((self.n_layers, self.n_heads) * 2)
        all_layers = self.layers.spread(self.layers.spread(by_layer), axis=2)
        return all_layers.reshape((self.layers.n_layers * self.n_heads,) * 2)

    def _cropped(self, first: Sequence[Tensor], others: Sequence[Tensor]) -> list[list[Tensor]]:
        """Return both models' maps for each segment, [heads of all layers, rows, columns]."""
        rows = self._axes.n_rows.tolist()
        columns = self._axes.n_columns.tolist()
        return [
            [torch.cat([layer[i, :, :m, :n].cpu() for layer in side]) for side in (first, others)]
            for i, (m, n) in enumerate(zip(rows, columns, strict=True))
        ]


def _near(first: Sequence[Place | None], second: Sequence[Place | None]) -> bool:
    """Return whether regions are equal, up to a small share of a patch."""
    if len(first) != len(second):
        return False
    return all(
        a == b or (a is not None and b is not None and _is_near(a, b))
        for a, b in zip(first, second, strict=True)
    )


def _is_near(one: Place, other: Place) -> bool:
    """Return whether two regions are equal, up to a small share of a patch."""
    if isinstance(one, Box) and isinstance(other, Box):
        a, b = ((box.left, box.top, box.right, box.bottom) for box in (one, other))
        allowed = _SAME_PLACE * min(one.right - one.left, one.bottom - one.top)
        return one.picture == other.picture and bool(np.allclose(a, b, rtol=0, atol=allowed))
    if isinstance(one, Span) and isinstance(other, Span):
        start, end = ((span.start, span.end) for span in (one, other))
        allowed = _SAME_PLACE * one.seconds
        return one.sound == other.sound and bool(np.allclose(start, end, rtol=0, atol=allowed))
    return False


def _flat(states: Iterable[States]) -> dict[str, NDArray[Any]]:
    """Return the states of several models in one dict, by number, accumulator and entry."""
    return {
        f"{number}/{name}/{entry}": values
        for number, state in enumerate(states)
        for name, sums in state.items()
        for entry, values in sums.items()
    }


def measured(metrics: Sequence[Accumulator[Any]]) -> list[MeasuredMetric]:
    """Return the result of each metric, over all segments and for each segment.

    Args:
        metrics: Accumulators.
    """
    return [
        MeasuredMetric(
            metric.name,
            metric.compute(),
            [result.heads() for result in metric.each()]
            if isinstance(metric, SegmentMeans)
            else [],
        )
        for metric in metrics
    ]


def with_metrics(
    changes: MapChanges, before: Sequence[MeasuredMetric], after: Sequence[MeasuredMetric]
) -> ModelComparison:
    """Return the result of a comparison, with differences of metrics in total and per segment.

    Args:
        changes: Accumulator that compares the two models.
        before: Metrics of the first model.
        after: Metrics of the second model.
    """
    comparison = changes.compute()
    totals: HeadMetrics = {}
    segments = dict(comparison.segments)
    for first_metric, second_metric in zip(before, after, strict=True):
        first, second = first_metric.result.heads(), second_metric.result.heads()
        differences = {title: second[title] - first[title] for title in first if title in second}
        totals |= differences
        for title, total in differences.items() if first_metric.each else ():
            # If a segment lacks the tokens of a metric, the metric leaves it out or counts it as 0.
            # Use the variant whose mean equals the total.
            for filler in (np.nan, 0.0):
                missing = np.full_like(total, filler)
                pairs = zip(first_metric.each, second_metric.each, strict=True)
                differences_by_segment = [
                    b.get(title, missing) - a.get(title, missing) for a, b in pairs
                ]
                values = np.stack(differences_by_segment, -1)
                has_value = ~np.isnan(values[~np.isnan(total)]).any(0)
                mean = values[..., has_value].mean(-1)
                if has_value.any() and np.allclose(mean, total, atol=1e-9, equal_nan=True):
                    segments.setdefault(f"{title} change", values)
                    break
    return replace(
        comparison,
        segments=segments,
        changes=totals,
        before={metric.name: metric.result for metric in before},
        after={metric.name: metric.result for metric in after},
    )


def _between(first: Tensor, others: Tensor) -> NDArray[np.float64]:
    """Return the divergences between the maps of two models, in nats per query."""
    between: NDArray[np.float64] = js_between(first, others, smoothing=_SMOOTHING).numpy()
    return between / first.shape[1]
