"""Random maps and batches for accumulators, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from attnwidget.studies.streaming.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.text.segments import Segment
from attnwidget.text.tokens import Tokens

LAYERS = 2
HEADS = 3
SUBJECT = Subject(LAYERS, HEADS, model_name="random")


def random_maps(
    seed: int, lengths: Sequence[int], *, padding: int = 0, causal: bool = False
) -> torch.Tensor:
    """[L, B, H, n, n] with rows that sum to 1 over real keys, and noise in rows of padding."""
    draw = np.random.default_rng(seed)
    n = max(lengths) + padding
    maps = draw.uniform(size=(LAYERS, len(lengths), HEADS, n, n)).astype("f4")
    for document, length in enumerate(lengths):
        scores = np.exp(draw.normal(size=(LAYERS, HEADS, length, length)) * 3)
        if causal:
            scores = scores * np.tril(np.ones((length, length)))
        maps[:, document, :, :length, :length] = scores / scores.sum(-1, keepdims=True)
        maps[:, document, :, :, length:] = 0
    return torch.from_numpy(maps)


def random_batch(seed: int, lengths: Sequence[int], *, padding: int = 0) -> Batch:
    """Documents of few different tokens, every other one of two sentences."""
    draw = np.random.default_rng(seed)
    n = max(lengths) + padding
    ids = torch.zeros(len(lengths), n, dtype=torch.int64)
    axes = []
    for document, length in enumerate(lengths):
        ids[document, :length] = torch.from_numpy(draw.integers(4, 10, length))
        first = length - length // 2 if document % 2 else length
        segments = [0] * first + [1] * (length - first)
        axes.append(Tokens.plain(["x"] * length, segments=segments))
    size = torch.tensor(lengths)
    real = torch.arange(n) < size[:, None]
    return Batch(
        segments=[Segment(("x",) * length) for length in lengths],
        tokens=axes,
        inputs={"input_ids": ids, "attention_mask": real.long()},
        lengths=size,
        real=real,
        row_weights=real / size[:, None],
        classes={},
    )


def one_document(batch: Batch, maps: torch.Tensor, document: int) -> tuple[Batch, torch.Tensor]:
    """One document of a batch as a batch of its own, without padding."""
    n = int(batch.lengths[document])
    at = slice(document, document + 1)
    alone = Batch(
        segments=batch.segments[at],
        tokens=batch.tokens[at],
        inputs={name: value[at, :n] for name, value in batch.inputs.items()},
        lengths=batch.lengths[at],
        real=batch.real[at, :n],
        row_weights=batch.row_weights[at, :n],
        classes={},
    )
    return alone, maps[:, at, :, :n, :n]


def seen(accumulator: Accumulator[Any], batch: Batch, maps: torch.Tensor) -> Accumulator[Any]:
    """The accumulator after a batch; started before it where it was not."""
    if not hasattr(accumulator, "sums"):
        accumulator.start(SUBJECT)
    for layer in range(LAYERS):
        accumulator.update(LayerBatch(batch, layer, maps[layer], None))
    accumulator.end_batch(batch)
    return accumulator
