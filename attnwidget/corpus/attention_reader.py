"""Accumulation over the maps of one `Attention`, as if a model had just read its text."""

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
    chosen = measured_stack(attention, accumulators, stack)
    tokens = chosen.query
    known = ids or ids_of(tokens)
    segment = Segment(tokens.raw, roles=tokens.roles, turns=tokens.turns)
    subject = subject_of(chosen, attention.model_name, model)
    for accumulator in accumulators:
        accumulator.start(subject)
    add_attention(attention, chosen, accumulators, segment, known)


def measured_stack(
    attention: Attention, accumulators: Sequence[Accumulator[Any]], stack: str | None = None
) -> Stack:
    """Return the stack that accumulators measure; errors as of `read_attention`."""
    attention.head_maps.refuse_no_shares("measured: metrics read shares")
    chosen = chosen_stack(attention.stacks, stack, attention.model_name)
    if chosen.query != chosen.key:
        raise ValueError(
            f"the layers of {chosen.name!r} attend to another stack's tokens, so means over a "
            "text are not defined: choose a stack that attends to itself"
        )
    refuse_raster(accumulators, chosen.query, chosen.name)
    return chosen


def subject_of(stack: Stack, model_name: str, model: AttentionModel | None) -> Subject:
    """Return what accumulators know of a stack before they are started."""
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
        attention: The attention of the input.
        stack: Its stack that is measured.
        accumulators: The accumulators.
        segment: The input as a segment of the study.
        ids: A number of each token, equal for equal tokens.

    Raises:
        ValueError: A metric needs whole maps, which do not fit the memory.
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
    """Return the ids of tokens; tokens without ids count as equal if their spelling is equal."""
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
        segment: The input as a segment of a study.
        ids: A number of each token, equal for equal tokens.
        classes: Token classes in addition to the standard classes.
        n_prompt: Number of tokens of the prompt if the model generated the rest, else None.
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
