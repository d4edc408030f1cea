"""Units of heads that are changed together: single heads, whole layers, or heads at one token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.capture.disabled import chosen_heads, intact_edits
from attnwidget.capture.tapping.head import Head, spells_head
from attnwidget.capture.tapping.stack_names import default_stack
from attnwidget.kernels.arrays import Float64Array

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@dataclass(frozen=True)
class Unit:
    """Heads of a layer that are changed together, at all tokens or at a single token.

    Attributes:
        heads: Heads of the unit.
        query: Token whose output is changed; None = all tokens.
        whole: Whether these are all heads of the layer, changed as a layer.
    """

    heads: tuple[Head, ...]
    query: int | None = None
    whole: bool = False


def texts_refused(model: AttentionModel) -> TypeError:
    """Return the error for texts as examples of an encoder-decoder."""
    return TypeError(
        f"{type(model.hf_model).__name__} is an encoder-decoder: its examples are pictures or "
        "sounds with the text that it writes, and texts are examples of models with one stack"
    )


def studied_stack(model: AttentionModel, stack: str | None = None) -> str:
    """Return the stack whose heads are studied.

    Args:
        model: Model from `load_model`.
        stack: Name of the stack; None = the only stack, or the language model of a model with
            towers.

    Raises:
        TypeError: If the model is an encoder-decoder without a processor, which only reads texts.
        ValueError: If there is no such stack, or the caller must choose among several.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions.units import studied_stack
        >>> studied_stack(load_model())
        'self'
    """
    if model.inputs.encodes_apart and model.processor is None:
        raise texts_refused(model)
    stacks = intact_edits(model.hf_model).heads_of
    stack_name = default_stack(stacks) if stack is None else stack
    if stack_name is None or stack_name not in stacks:
        names = ", ".join(map(repr, stacks))
        suffix = "" if stack is None else f"; got {stack!r}"
        raise ValueError(
            f"{type(model.hf_model).__name__} has the stacks {names}: pass one as stack=...{suffix}"
        )
    return stack_name


def units_of(
    model: AttentionModel,
    heads: Any,
    *,
    positions: int | None = None,
    stack: str | None = None,
) -> tuple[list[Unit], tuple[int, int]]:
    """Return the units to change, layer by layer, and the numbers of layers and heads.

    Args:
        model: Model from `load_model`.
        heads: Heads to change: "all" heads and each layer as a whole; "layers" only; or a head or a
            list of heads, each as (1, 3), "L1 H3" or a `Head`.
        positions: Number of tokens, to change every head at every token too.
        stack: Stack of the heads, as in `studied_stack`.

    Raises:
        ValueError: If there is no such head, no head is named, or a head is named twice.
    """
    intact = intact_edits(model.hf_model)
    stack = studied_stack(model, stack)
    counts = intact.heads_of[stack]
    if isinstance(heads, str) and not spells_head(heads):
        if heads not in ("all", "layers"):
            raise ValueError(
                f"heads must be 'all', 'layers' or heads such as 'L1 H3', got {heads!r}"
            )
        all_heads = (
            Head(layer, head, stack) for layer, n in enumerate(counts) for head in range(n)
        )
        selected_heads = [] if heads == "layers" else list(all_heads)
        whole_layers = [
            layer for layer, n in enumerate(counts) if n > 1 or (n and heads == "layers")
        ]
    else:
        selected_heads = sorted(chosen_heads(intact, heads, None, stack))
        if other := [head for head in selected_heads if head.stack != stack]:
            raise ValueError(f"{other[0]} is in another stack than the studied {stack!r}")
        whole_layers = []
    units: list[Unit] = []
    for layer, count in enumerate(counts):
        layer_heads = [head for head in selected_heads if head.layer == layer]
        units += [Unit((head,)) for head in layer_heads]
        if layer in whole_layers:
            whole_layer = tuple(Head(layer, head, stack) for head in range(count))
            units.append(Unit(whole_layer, whole=True))
        if positions is not None:
            units += [Unit((head,), query) for head in layer_heads for query in range(positions)]
    return units, (len(counts), max(counts))


def scores_by_place(
    units: Sequence[Unit], scores: Float64Array, shape: tuple[int, int], n_tokens: int = 0
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return scores [U, N] of units by head, by layer, and by head and token.

    Args:
        units: Changed units (U).
        scores: Scores of N examples with each unit changed.
        shape: Numbers of layers and heads.
        n_tokens: Number of tokens at which heads are changed.

    Returns:
        Arrays [L, H, N], [L, N] and [L, H, Q, N]; NaN for units that were not changed.
    """
    n_examples = scores.shape[1]
    head_scores = np.full((*shape, n_examples), np.nan)
    layer_scores = np.full((shape[0], n_examples), np.nan)
    position_scores = np.full((*shape, n_tokens, n_examples), np.nan)
    for unit, numbers in zip(units, scores, strict=True):
        layer, head, _ = unit.heads[0]
        if unit.whole:
            layer_scores[layer] = numbers
        elif unit.query is None:
            head_scores[layer, head] = numbers
        else:
            position_scores[layer, head, unit.query] = numbers
    return head_scores, layer_scores, position_scores
