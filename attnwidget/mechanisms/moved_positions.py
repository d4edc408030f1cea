"""Keys of the first layer for a token at another learned position."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnwidget.capture.model_reading import reading_of
from attnwidget.capture.tapping.hooked import ReachedError, hooked
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.mechanisms.stream_modules import StreamModules

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.tapping.head import Head


def keys_at_positions(
    attention: Attention, head: Head, query: int, key: int, distances: Sequence[int]
) -> Tensor:
    """Return keys [n, D] of a head in the first layer, with a token moved to other positions.

    Args:
        attention: Attention of a model with a table of learned positions.
        head: Head in the first layer.
        query: Index of the query in the input.
        key: Index of the key in the input.
        distances: Distances in tokens from the query back to the new positions of the key.

    Raises:
        ValueError: If the model has no such table, or the table has no row for a distance.
    """
    reading = reading_of(attention, "a key at another position")
    reading.refuse_changed()
    hf_model = reading.model.hf_model
    tables = [
        m
        for m, kind in StreamModules.from_model(hf_model).embeddings.items()
        if kind == "positions"
    ]
    moves = [query - distance - key for distance in distances]
    moved_tables: list[nn.Module] = []

    def move(module: Any, _: object, __: object, output: Tensor) -> Tensor:
        """Exchange the row of the table at the key, in each entry of the batch."""
        weight = module.weight
        if not isinstance(output, Tensor) or output.ndim != 3 or output.shape[1] <= key:
            return output
        row = (weight - output[0, key]).abs().amax(-1).argmin()
        if not torch.equal(weight[row], output[0, key]):
            return output
        rows = [int(row) + step for step in moves]
        outside = [d for d, r in zip(distances, rows, strict=True) if not 0 <= r < len(weight)]
        if outside:
            raise ValueError(
                f"{attention.model_name} has {len(weight)} learned positions, and a key at the "
                f"distance {outside[0]} from query {query} would be outside of them"
            )
        moved_tables.append(module)
        output = output.expand(len(rows), *output.shape[1:]).clone()
        output[:, key] = weight[rows]
        return output

    keys: list[Tensor] = []

    def on_layer(seen: LayerAttention) -> None:
        if (seen.layer, seen.stack) == (head.layer, head.stack):
            if seen.key is not None:
                group = seen.weights.shape[1] // seen.key.shape[1]
                keys.append(seen.key[:, head.head // group, key])
            raise ReachedError

    count = len(distances)
    inputs = {n: v.expand(count, *v.shape[1:]) for n, v in reading.inputs.items()}
    options = without_cache(hf_model)
    with (
        reading.model.lock.in_turn(),
        hooked([table for table in tables if isinstance(table, nn.Embedding)], after=move),
        suppress(ReachedError),
        torch.no_grad(),
        tap(hf_model, on_layer),
    ):
        hf_model(**inputs, **options)
    if not moved_tables or not keys:
        raise ValueError(
            f"positions of {attention.model_name} are neither rotary, nor a bias by distance, nor "
            "rows of a learned table: its keys cannot be moved"
        )
    return keys[0]
