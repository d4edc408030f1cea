"""Comparison of models with one model in memory: maps are kept, and models are loaded again."""

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
    MeasuredMaps,
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
    """Accumulator that keeps a model's maps of several batches for models that are loaded later.

    Attributes:
        batches: The maps of each batch by layer.
        maps: The maps of the batch that another model reads next.
        tokens: The tokens of texts, which are not kept.
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
        """Set `maps` to the maps of a batch, if the batch was read."""
        if number < len(self.batches):
            self.maps = self.batches[number]

    def forget(self) -> None:
        """Forget all maps."""
        self.batches = []
        self.maps = []

    def compute(self) -> list[list[Tensor]]:
        """Return the maps of each batch."""
        return self.batches


@dataclass(eq=False)
class ModelTurn:
    """The accumulators of a model, and facts about the model while it is not in memory.

    Attributes:
        source: The source of the model.
        changes: The accumulators that compare it with earlier models.
        stored: The kept maps, if later models are compared with them.
        segments: The texts in the tokens of the model, after it was loaded.
        states: The sums over the chunks that all models have read.
        measured: Results of the metrics over these chunks.
    """

    source: Source
    changes: list[MapChanges]
    stored: StoredMaps | None
    segments: Sequence[Segment] = ()
    states: States = field(default_factory=dict)
    measured: MeasuredMaps = field(default_factory=list)


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
    """Read all texts chunk by chunk: each model is loaded for a chunk, then released.

    A chunk is a list of batches whose maps fit into memory together. After Ctrl-C, the result has
    the chunks that all models have read.

    Args:
        turns: The models, in the order of comparison.
        texts: Their texts.
        metrics: Unused accumulators for each model.
        padded: Number of tokens to which maps are padded, or None.
        batch_size: Number of segments in one pass of a model.
        maps_mb: Largest size of the kept maps in megabytes.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: the maps of one batch are larger than `maps_mb`; or as `ModelReader`.
        KeyboardInterrupt: Ctrl-C before the first chunk was done.
    """
    chunks: Iterator[list[list[int]]] | None = None
    first: list[list[int]] = []
    n_done = 0
    with progress_bar(len(texts) * len(turns), "reading", shown=progress) as bar:
        try:
            while chunks is None or (first := next(chunks, [])):
                results: list[tuple[States, MeasuredMaps]] = []
                for turn in turns:
                    gc.collect()  # free the previous model, whose parts refer to each other
                    model = loaded_model(turn.source)
                    turn.segments = turn.segments or texts.segments(model)
                    accumulators = deepcopy(list(metrics))
                    stored = [] if turn.stored is None else [turn.stored]
                    reader = ModelReader(
                        model, [*accumulators, *turn.changes, *stored], None, padded
                    )
                    reader.start(turn.segments[0])
                    if chunks is None:
                        chunks = _chunks(turns, model, padded, batch_size, maps_mb)
                        first = next(chunks)
                    states = turn.states or reader.nothing
                    for number, places in enumerate(first):
                        _show_maps(turns, number)
                        batch = [turn.segments[place] for place in places]
                        states = reader.merged(states, reader.states_of(batch))
                        bar.update(len(places))
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
    """Show the kept maps of a batch to the model that reads the batch next."""
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
    """Yield lists of batches whose maps fit into memory together, each as places of its texts.

    Raise ValueError if inputs of one batch differ.
    """
    of_heads = turns[0].stored
    assert of_heads is not None
    n_stored = sum(turn.stored is not None for turn in turns)
    texts = model.texts
    sized = []
    for batch in batched(turns[0].segments, batch_size):
        n = padded or max(len(segment) + texts.template_of(segment).n_special for segment in batch)
        size = 4 * of_heads.n_layers * of_heads.n_heads * len(batch) * n**2 * n_stored / 1e6
        sized.append((size, n, segment_indices(batch).tolist()))
    size, n, places = max(sized)
    if size > maps_mb:
        raise ValueError(
            f"the maps of {len(places)} segments of {n} tokens take {size:,.1f} MB, more than "
            f"maps_mb={maps_mb:g}: pass a smaller batch_size than {batch_size}, or more maps_mb"
        )
    return _fitting([(size, places) for size, _, places in sized], maps_mb)


def _fitting(sized: Sequence[tuple[float, list[int]]], maps_mb: float) -> Iterator[list[list[int]]]:
    chunk: list[list[int]] = []
    used = 0.0
    for size, places in sized:
        if chunk and used + size > maps_mb:
            yield chunk
            chunk = []
            used = 0.0
        chunk.append(places)
        used += size
    yield chunk
