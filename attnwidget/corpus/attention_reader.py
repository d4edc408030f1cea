"""Accumulation over the maps of one `Attention`, as if a model had just read its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.stack_axes import chosen_stack
from attnwidget.corpus.accumulator import (
    Accumulator,
    Batch,
    LayerBatch,
    Subject,
    refuse_raster,
    refuse_whole_maps,
    token_classes_of,
)
from attnwidget.corpus.token_classes import axis_classes
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def read_attention(
    attention: Attention,
    accumulators: Sequence[Accumulator[Any]],
    *,
    stack: str | None = None,
    model: AttentionModel | None = None,
    ids: Sequence[int] | None = None,
) -> None:
    """Start the accumulators and add one input to each; no model runs.

    Args:
        attention: The attention of the input.
        accumulators: The accumulators that get each layer.
        stack: The stack to read if there are several; not "cross".
        model: The model that made the maps, for accumulators that use its name.
        ids: Vocabulary ids of the tokens, if `attention` does not store them.

    Raises:
        ValueError: if the stack does not exist or its queries attend to another sequence, an
            accumulator needs more than maps, it measures distances and the tokens are patches, or
            the attention is a maximum of heads.
    """
    attention.head_maps.refuse_no_shares("measured: metrics read shares")
    chosen = chosen_stack(attention.stacks, stack, attention.model_name)
    if chosen.query != chosen.key:
        raise ValueError(
            f"the layers of {chosen.name!r} attend to another stack's tokens, so means over a "
            "text are not defined: choose a stack that attends to itself"
        )
    tokens = chosen.query
    refuse_raster(accumulators, tokens, chosen.name)
    n = len(chosen.query)
    # Tokens without ids count as equal if their spelling is equal.
    known = ids or tokens.ids or [tokens.raw.index(token) for token in tokens.raw]
    real = torch.ones(1, n, dtype=torch.bool, device="cpu")
    classes = axis_classes(tokens, token_classes_of(accumulators))
    batch = Batch(
        segments=[Segment(tokens.raw, roles=tokens.roles, turns=tokens.turns)],
        tokens=[tokens],
        inputs={
            "input_ids": torch.tensor([list(known)], dtype=torch.long, device="cpu"),
            "attention_mask": real.long(),
        },
        lengths=torch.tensor([n], dtype=torch.long, device="cpu"),
        real=real,
        row_weights=real.float() / n,
        classes={
            name: torch.tensor([members], dtype=torch.bool, device="cpu")
            for name, members in classes.items()
        },
    )
    subject = Subject(
        chosen.n_layers,
        chosen.n_heads,
        chosen.name,
        attention.model_name,
        model=model,
        without_attention=chosen.without_attention,
    )
    for accumulator in accumulators:
        accumulator.start(subject)
    if attention.is_long:
        refuse_whole_maps(accumulators, n)
    for index, number in enumerate(chosen.layers.numbers):
        if attention.is_long:
            for first, rows in attention.row_blocks(number, stack=chosen.name):
                for accumulator in accumulators:
                    accumulator.update(LayerBatch(batch, index, rows[None], None, first))
            continue
        weights = torch.from_numpy(attention.weights(number, stack=chosen.name))[None]
        layer = LayerBatch(batch, index, weights, None)
        for accumulator in accumulators:
            accumulator.update(layer)
    for accumulator in accumulators:
        accumulator.end_batch(batch)
