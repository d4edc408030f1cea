"""Comparison with one model in memory at a time: maps are stored, and models are reloaded."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import Tensor

from attnwidget.comparison.compared_texts import ComparedTexts
from attnwidget.comparison.map_changes import (
    MapAxes,
    MapChanges,
    MapUnit,
    MeasuredMetric,
    measured,
)
from attnwidget.comparison.model_sources import Source, loaded_model
from attnwidget.corpus.accumulator import Accumulator, LayerBatch
from attnwidget.corpus.batches import batched
from attnwidget.corpus.model_reader import ModelReader
from attnwidget.corpus.progress_bar import progress_bar
from attnwidget.corpus.resume_file import States
from attnwidget.corpus.segment_indices import segment_indices
from attnwidget.text.segments import Segment
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


class StoredMaps(Accumulator[Any]):
    """Accumulator that stores a model's maps of several batches for models that are loaded later.

    Attributes:
        batches: Maps of each batch by layer.
        maps: Maps of the batch that another model reads next.
        tokens: Empty, because the tokens of texts are not stored.
    """

    name = "stored maps"

    def __init__(self, unit: MapUnit) -> None:
        self._unit: MapUnit = unit
        self.batches: list[list[Tensor]] = []
        self.maps: list[Tensor] = []
        self.tokens: Sequence[Tokens] = ()

    def update(self, layer: LayerBatch) -> None:
        if layer.layer == 0:
            self.batches.append([])
            self._axes = MapAxes.from_batch(layer.batch, self._unit)
        self.batches[-1].append(self._axes.maps(layer.weights).to("cpu", copy=True))

    def show(self, number: int) -> None:
        """Set `maps` to the maps of a batch, if the batch was read.

        Args:
            number: Index of the batch.
        """
        if number < len(self.batches):
            self.maps = self.batches[number]

    def forget(self) -> None:
        """Release all maps."""
        self.batches = []
        self.maps = []

    def compute(self) -> list[list[Tensor]]:
        """Return the maps of each batch."""
        return self.batches


@dataclass(eq=False)
class ModelTurn:
    """Accumulators of a model, and the data that is needed while the model is not in memory.

    Attributes:
        source: Source of the model.
        changes: Accumulators that compare the model with earlier models.
        stored: Stored maps, if later models are compared with them, or None.
        segments: Texts as tokens of the model, after it was first loaded.
        states: Sums over the chunks that all models have read.
        measured: Metric results over these chunks.
    """

    source: Source
    changes: list[MapChanges]
    stored: StoredMaps | None
    segments: Sequence[Segment] = ()
    states: States = field(default_factory=dict)
    measured: Sequence[MeasuredMetric] = ()


def read_one_at_a_time(
    turns: Sequence[ModelTurn],
    texts: ComparedTexts,
    metrics: Sequence[Accumulator[Any]],
    *,
    padded: int | None,
    batch_size: int,
    maps_mb: float,
    progress: bool,
) -> None:
    """Read all texts chunk by chunk: for each chunk, each model is loaded and then released.

    A chunk is a list of batches whose maps fit in memory together. After Ctrl-C, the result
    includes the chunks that all models have read.

    Args:
        turns: Models in the order of comparison.
        texts: Texts for all models.
        metrics: Unused accumulators for each model.
        padded: Number of tokens to which maps are padded, or None.
        batch_size: Number of segments in one forward pass.
        maps_mb: Largest size of the stored maps in megabytes.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: The maps of one batch are larger than `maps_mb`. See also `ModelReader`.
        KeyboardInterrupt: Ctrl-C was pressed before the first chunk was finished.
    """
    chunks: Iterator[list[list[int]]] | None = None
    chunk: list[list[int]] = []
    n_done = 0
    with progress_bar(len(texts) * len(turns), "reading", shown=progress) as bar:
        try:
            while chunks is None or (chunk := next(chunks, [])):
                results: list[tuple[States, Sequence[MeasuredMetric]]] = []
                for turn in turns:
                    # Release the previous model, whose parts refer to each other.
                    gc.collect()
                    model = loaded_model(turn.source)
                    turn.segments = turn.segments or texts.segments(model)
                    accumulators = deepcopy(list(metrics))
                    map_storage = [] if turn.stored is None else [turn.stored]
                    reader = ModelReader(
                        model, [*accumulators, *turn.changes, *map_storage], None, padded
                    )
                    reader.start(turn.segments[0])
                    if chunks is None:
                        chunks = _chunks(turns, model, padded, batch_size, maps_mb)
                        chunk = next(chunks)
                    states = turn.states or reader.nothing
                    for number, indices in enumerate(chunk):
                        _show_maps(turns, number)
                        batch = [turn.segments[index] for index in indices]
                        states = reader.merged(states, reader.states_of(batch))
                        bar.update(len(indices))
                    reader.restore(states)
                    results.append((states, measured(accumulators)))
                    del model, reader, accumulators
                for turn, (turn.states, turn.measured) in zip(turns, results, strict=True):
                    if turn.stored is not None:
                        turn.stored.forget()
                n_done += 1
        except KeyboardInterrupt:
            if not n_done:
                raise
            for turn in turns:
                for change in turn.changes:
                    change.restore(turn.states[change.name])


def _show_maps(turns: Sequence[ModelTurn], number: int) -> None:
    """Select the stored maps of a batch for the model that reads the batch next."""
    for turn in turns:
        if turn.stored is not None:
            turn.stored.show(number)


def _chunks(
    turns: Sequence[ModelTurn],
    model: AttentionModel,
    padded: int | None,
    batch_size: int,
    maps_mb: float,
) -> Iterator[list[list[int]]]:
    """Return chunks of batches whose maps fit in memory together; a batch has text indices.

    Raises:
        ValueError: The maps of one batch are larger than `maps_mb`.
    """
    stored_maps = turns[0].stored
    assert stored_maps is not None
    n_stored = sum(turn.stored is not None for turn in turns)
    texts = model.texts
    batch_sizes = []
    for batch in batched(turns[0].segments, batch_size):
        n = padded or max(len(segment) + texts.template_of(segment).n_special for segment in batch)
        size = 4 * stored_maps.n_layers * stored_maps.n_heads * len(batch) * n**2 * n_stored / 1e6
        batch_sizes.append((size, n, segment_indices(batch).tolist()))
    size, n, indices = max(batch_sizes)
    if size > maps_mb:
        raise ValueError(
            f"the maps of {len(indices)} segments of {n} tokens take {size:,.1f} MB, more than "
            f"maps_mb={maps_mb:g}: pass a smaller batch_size than {batch_size}, or more maps_mb"
        )
    return _fitting([(size, indices) for size, _, indices in batch_sizes], maps_mb)


def _fitting(sized: Sequence[tuple[float, list[int]]], maps_mb: float) -> Iterator[list[list[int]]]:
    """Yield chunks of consecutive batches whose maps take at most `maps_mb`."""
    chunk: list[list[int]] = []
    used_mb = 0.0
    for size, indices in sized:
        if chunk and used_mb + size > maps_mb:
            yield chunk
            chunk = []
            used_mb = 0.0
        chunk.append(indices)
        used_mb += size
    yield chunk
