"""All values of some layers from a token, or to a token: rows and columns of maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.layer import Layer
from attnwidget.kernels.array_library import Array, library_of
from attnwidget.kernels.word_weights import word_weights

# Number of cells of a layer's maps in memory at a time, which limits the memory for long texts.
_CELLS_AT_ONCE = 4 * 1024 * 1024


def one_token(
    layers: Sequence[Layer],
    *,
    side: str,
    tokens: Sequence[int],
    quantity: str,
    words: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> Array:
    """Return the row of a query, or the column of a key, for every head of `layers`.

    No whole map is held: a row is computed alone, a column from some rows at a time.

    Args:
        layers: Layers with the same axes.
        side: "query" for a row, "key" for a column.
        tokens: Index of the token, in a list; between words, the tokens of one word.
        quantity: "weights", "norms" or "gradients".
        words: For values between words, the word of each query and of each key, int64. On `side`,
            all `tokens` have word 0.

    Returns:
        float32 [layers, H, n] over the other axis, NaN where masked.
    """
    read = _rows if side == "query" else _columns
    rows = []
    for layer in layers:
        values, seen = read(layer, tokens, quantity)
        if words is not None:
            values = word_weights(values, *words)
            seen = None if seen is None else word_weights(1.0 * seen, *words) > 0
        if seen is not None:
            values = library_of(values).where(seen, values, np.nan)
        rows.append(values[:, 0] if side == "query" else values[..., 0])
    return library_of(rows[0]).stack(rows)


def _rows(layer: Layer, tokens: Sequence[int], quantity: str) -> tuple[Array, Array | None]:
    """[H, tokens, K] values, and where they are seen."""
    seen = None if layer.mask is None else layer.mask[:, list(tokens)]
    return layer.rows(slice(None), tokens, quantity=quantity), seen


def _columns(layer: Layer, tokens: Sequence[int], quantity: str) -> tuple[Array, Array | None]:
    """[H, Q, tokens] values, and where they are seen."""
    seen = None if layer.mask is None else layer.mask[..., list(tokens)]
    step = max(1, _CELLS_AT_ONCE // (layer.n_heads * layer.n_key))
    blocks = []
    for first in range(0, layer.n_query, step):
        rows = range(first, min(first + step, layer.n_query))
        blocks.append(layer.rows(slice(None), rows, tokens, quantity))
    return library_of(blocks[0]).concatenate(blocks, 1), seen
