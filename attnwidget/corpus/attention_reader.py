"""Accumulation over the maps of one `Attention`, without running a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.stack_axes import Stack, chosen_stack
from attnwidget.corpus.accumulator import (
    Accumulator,
    Batch,
    LayerBatch,
    Subject,
    refuse_raster,
    token_classes_of,
)
from attnwidget.corpus.token_classes import TokenClass, axis_classes
from attnwidget.text.segments import Segment
from attnwidget.text.tokens import Tokens

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
    """Start the accumulators and add one input to each, without running a model.

    Args:
        attention: Attention of the input.
        accumulators: Accumulators that receive each layer.
        stack: Stack to read if there are several; not "cross".
        model: Model that computed the maps, for accumulators that use it.
        ids: Vocabulary ids of the tokens if `attention` does not store them.

    Raises:
        ValueError: The stack does not exist, or its queries attend to another sequence; an
            accumulator needs more than maps, or measures distances although the tokens are patches;
            or the attention is a maximum over heads.
    """
    selected_stack = measured_stack(attention, accumulators, stack)
    tokens = selected_stack.query
    token_ids = ids or ids_of(tokens)
    segment = Segment(tokens.raw, roles=tokens.roles, turns=tokens.turns)
    subject = subject_of(selected_stack, attention.model_name, model)
    for accumulator in accumulators:
        accumulator.start(subject)
    add_attention(attention, selected_stack, accumulators, segment, token_ids)


def measured_stack(
    attention: Attention, accumulators: Sequence[Accumulator[Any]], stack: str | None = None
) -> Stack:
    """Return the stack that accumulators measure.

    Args:
        attention: Attention of the input.
        accumulators: Accumulators.
        stack: Stack to read if there are several.

    Raises:
        ValueError: See `read_attention`.
    """
    attention.head_maps.refuse_no_shares("measured: metrics read shares")
    selected = chosen_stack(attention.stacks, stack, attention.model_name)
    if selected.query != selected.key:
        raise ValueError(
            f"the layers of {selected.name!r} attend to another stack's tokens, so means over a "
            "text are not defined: choose a stack that attends to itself"
        )
    refuse_raster(accumulators, selected.query, selected.name)
    return selected


def subject_of(stack: Stack, model_name: str, model: AttentionModel | None) -> Subject:
    """Return the `Subject` with which accumulators are started.

    Args:
        stack: Stack to measure.
        model_name: Name of the model.
        model: Model, or None if only maps are available.
    """
    return Subject(
        stack.n_layers,
        stack.n_heads,
        stack.name,
        model_name,
        model=model,
        layers_without_attention=stack.layers_without_attention,
    )


def add_attention(
    attention: Attention,
    stack: Stack,
    accumulators: Sequence[Accumulator[Any]],
    segment: Segment,
    ids: Sequence[int],
) -> None:
    """Add the layers of one input to started accumulators.

    Args:
        attention: Attention of the input.
        stack: Stack to measure.
        accumulators: Started accumulators.
        segment: Input as a segment of the study.
        ids: One number per token, equal for equal tokens.

    Raises:
        ValueError: A metric needs complete maps, which do not fit in memory.
    """
    batch = batch_of_tokens(
        stack.query, segment, ids, token_classes_of(accumulators), attention.n_prompt
    )
    by_rows = all(accumulator.by_rows for accumulator in accumulators)
    n = len(stack.query)
    for index, number in enumerate(stack.layers.numbers):
        if by_rows:
            blocks = attention.row_blocks(number, stack=stack.name)
        else:
            weights = attention.weights(number, stack=stack.name)
            blocks = iter([(0, torch.from_numpy(weights))])
        for first, rows in blocks:
            norms = None
            if rows.shape[1] == n:
                norms = partial(_norms, attention, number, stack.name)
            layer = LayerBatch(batch, index, rows[None], None, first, norms)
            for accumulator in accumulators:
                accumulator.update(layer)
    for accumulator in accumulators:
        accumulator.end_batch(batch)


def ids_of(tokens: Tokens) -> Sequence[int]:
    """Return the ids of tokens; tokens without ids are equal if their spelling is equal.

    Args:
        tokens: Tokens of an axis.
    """
    return tokens.ids or [tokens.raw.index(token) for token in tokens.raw]


def batch_of_tokens(
    tokens: Tokens,
    segment: Segment,
    ids: Sequence[int],
    classes: Mapping[str, TokenClass],
    n_prompt: int | None = None,
) -> Batch:
    """Return the batch of one input.

    Args:
        tokens: The n tokens of the input.
        segment: Input as a segment of a study.
        ids: One number per token, equal for equal tokens.
        classes: Token classes in addition to the standard classes.
        n_prompt: Number of prompt tokens if the model generated the rest, else None.
    """
    n = len(tokens)
    real = torch.ones(1, n, dtype=torch.bool, device="cpu")
    return Batch(
        segments=[segment],
        tokens=[tokens],
        inputs={
            "input_ids": torch.tensor([list(ids)], dtype=torch.long, device="cpu"),
            "attention_mask": real.long(),
        },
        lengths=torch.tensor([n], dtype=torch.long, device="cpu"),
        real=real,
        row_weights=real.float() / n,
        classes={
            name: torch.tensor([members], dtype=torch.bool, device="cpu")
            for name, members in axis_classes(tokens, classes).items()
        },
        n_prompts=[n_prompt],
    )


def _norms(attention: Attention, layer: int, stack: str) -> torch.Tensor:
    return torch.from_numpy(attention.norms(layer, stack=stack))[None]
