"""Units of heads that are changed together: single heads, whole layers, heads at one token."""

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
        heads: The heads.
        query: The token whose output is changed; None = all tokens.
        whole: Whether these are all heads of the layer, changed as a layer.
    """

    heads: tuple[Head, ...]
    query: int | None = None
    whole: bool = False


def texts_refused(model: AttentionModel) -> TypeError:
    """Return the error about texts as examples of an encoder-decoder."""
    return TypeError(
        f"{type(model.hf_model).__name__} is an encoder-decoder: its examples are pictures or "
        "sounds with the text that it writes, and texts are examples of models with one stack"
    )


def studied_stack(model: AttentionModel, stack: str | None = None) -> str:
    """Return the stack whose heads are studied.

    Args:
        model: The model.
        stack: Name of the stack; None = the only stack, or the language model beside its towers.

    Raises:
        TypeError: An encoder-decoder without a processor, which reads texts alone.
        ValueError: There is no such stack, or the caller must choose among several.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions.units import studied_stack
        >>> studied_stack(load_model())
        'self'
    """
    if model.inputs.encodes_apart and model.processor is None:
        raise texts_refused(model)
    stacks = intact_edits(model.hf_model).heads_of
    chosen = default_stack(stacks) if stack is None else stack
    if chosen is None or chosen not in stacks:
        listed = ", ".join(map(repr, stacks))
        got = "" if stack is None else f"; got {stack!r}"
        raise ValueError(
            f"{type(model.hf_model).__name__} has the stacks {listed}: pass one as stack=...{got}"
        )
    return chosen


def units_of(
    model: AttentionModel,
    heads: Any,
    *,
    positions: int | None = None,
    stack: str | None = None,
) -> tuple[list[Unit], tuple[int, int]]:
    """Return what is changed in turn, layer by layer, and the numbers of layers and heads.

    Args:
        model: The model.
        heads: "all" heads and each layer as a whole; "layers" only; or a head or a list of
            heads, each as (1, 3), "L1 H3" or a `Head`.
        positions: The number of tokens, to change every head at every token too.
        stack: Stack of the heads, as in `studied_stack`.

    Raises:
        ValueError: There is no such head, no head is named, or a head is named twice.
    """
    intact = intact_edits(model.hf_model)
    stack = studied_stack(model, stack)
    counts = intact.heads_of[stack]
    if isinstance(heads, str) and not spells_head(heads):
        if heads not in ("all", "layers"):
            raise ValueError(f"heads is 'all', 'layers' or heads such as 'L1 H3', got {heads!r}")
        all_heads = (
            Head(layer, head, stack) for layer, n in enumerate(counts) for head in range(n)
        )
        chosen = [] if heads == "layers" else list(all_heads)
        whole = [layer for layer, n in enumerate(counts) if n > 1 or (n and heads == "layers")]
    else:
        chosen = sorted(chosen_heads(intact, heads, None, stack))
        if other := [head for head in chosen if head.stack != stack]:
            raise ValueError(f"{other[0]} is in another stack than the studied {stack!r}")
        whole = []
    units: list[Unit] = []
    for layer, count in enumerate(counts):
        own = [head for head in chosen if head.layer == layer]
        units += [Unit((head,)) for head in own]
        if layer in whole:
            whole_layer = tuple(Head(layer, head, stack) for head in range(count))
            units.append(Unit(whole_layer, whole=True))
        if positions is not None:
            units += [Unit((head,), query) for head in own for query in range(positions)]
    return units, (len(counts), max(counts))


def scores_by_place(
    units: Sequence[Unit], scores: Float64Array, shape: tuple[int, int], n_tokens: int = 0
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return scores [U, N] of units by head, by layer, and by head and token.

    Args:
        units: The U units.
        scores: Scores of N examples with each unit changed.
        shape: Numbers of layers and heads.
        n_tokens: Number of tokens at which heads are changed.

    Returns:
        Arrays [L, H, N], [L, N] and [L, H, Q, N]; NaN where no unit was changed.
    """
    n_examples = scores.shape[1]
    of_heads = np.full((*shape, n_examples), np.nan)
    of_layers = np.full((shape[0], n_examples), np.nan)
    of_positions = np.full((*shape, n_tokens, n_examples), np.nan)
    for unit, numbers in zip(units, scores, strict=True):
        layer, head, _ = unit.heads[0]
        if unit.whole:
            of_layers[layer] = numbers
        elif unit.query is None:
            of_heads[layer, head] = numbers
        else:
            of_positions[layer, head, unit.query] = numbers
    return of_heads, of_layers, of_positions
