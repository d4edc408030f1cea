"""Units of heads that are changed together: single heads, whole layers, heads at one token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.capture.disabled import chosen_heads, intact_edits
from attnwidget.capture.tapping.head import Head
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


def units_of(
    model: AttentionModel, heads: Any, *, positions: int | None = None
) -> tuple[list[Unit], tuple[int, int]]:
    """Return what is changed in turn, layer by layer, and the numbers of layers and heads.

    Args:
        model: A model of one stack.
        heads: "all" heads and each layer as a whole; "layers" only; or [(layer, head), ...].
        positions: The number of tokens, to change every head at every token too.

    Raises:
        ValueError: There is no such head, no head is named, or a head is named twice.
    """
    intact = intact_edits(model.hf_model)
    counts = intact.heads_of["self"]
    if isinstance(heads, str):
        if heads not in ("all", "layers"):
            raise ValueError(f"heads is 'all', 'layers' or [(layer, head), ...], got {heads!r}")
        chosen = [Head(layer, head) for layer, n in enumerate(counts) for head in range(n)]
        whole = [layer for layer, n in enumerate(counts) if n > 1 or (n and heads == "layers")]
    else:
        chosen = sorted(chosen_heads(intact, list(heads), None, None))
        whole = []
    units: list[Unit] = []
    for layer, count in enumerate(counts):
        own = [head for head in chosen if head.layer == layer]
        if heads != "layers":
            units += [Unit((head,)) for head in own]
        if layer in whole:
            whole_layer = tuple(Head(layer, head) for head in range(count))
            units.append(Unit(whole_layer, whole=True))
        if positions is not None and heads != "layers":
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
