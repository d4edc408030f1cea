"""All weights of some layers from one token, or to one token: rows and columns of maps."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attnwidget.capture.maps.kept_layer import KeptLayer
from attnwidget.capture.maps.thumbnails import word_index
from attnwidget.kernels.word_maps import word_weights
from attnwidget.text.tokens import Tokens

# Number of cells of a layer's maps in memory at a time, which limits the memory for long texts.
_CELLS_AT_ONCE = 4 * 1024 * 1024


def one_token(
    layers: Sequence[KeptLayer],
    query: Tokens,
    key: Tokens,
    *,
    side: str,
    index: int,
    words: bool,
    quantity: str = "weights",
) -> Tensor:
    """Return the rows of one query, or the columns of one key, for every head of `layers`.

    `query` and `key` are the axes of their maps; `side` names the axis of `index`, which counts
    words if `words` is True. Returns float32 [layers, H, n] over the other axis, NaN where masked.
    No whole map is held: a row is computed alone, a column from some rows at a time.
    """
    axis = query if side == "query" else key
    picked = axis.word_groups()[index] if words else [index]
    rows = []
    for layer in layers:
        values, seen = (_rows if side == "query" else _columns)(layer, picked, quantity)
        if words:
            owners = _owners(query, key, side, len(picked))
            values = word_weights(values, *owners)
            seen = None if seen is None else word_weights(seen.float(), *owners) > 0
        if seen is not None:
            values = values.masked_fill(~seen, torch.nan)
        rows.append(values[:, 0] if side == "query" else values[..., 0])
    return torch.stack(rows)


def _owners(query: Tokens, key: Tokens, side: str, count: int) -> tuple[Tensor, Tensor]:
    """The words of both axes; one axis may be the `count` tokens of a single word."""
    owners = torch.zeros(count, dtype=torch.int64)
    return (owners, word_index(key)) if side == "query" else (word_index(query), owners)


def _rows(layer: KeptLayer, picked: Sequence[int], quantity: str) -> tuple[Tensor, Tensor | None]:
    """[H, picked, K] values, and where they are seen."""
    seen = None if layer.mask is None else layer.mask[:, list(picked)]
    return layer.maps(quantity, slice(None), picked), seen


def _columns(
    layer: KeptLayer, picked: Sequence[int], quantity: str
) -> tuple[Tensor, Tensor | None]:
    """[H, Q, picked] values, and where they are seen."""
    seen = None if layer.mask is None else layer.mask[..., list(picked)]
    if layer.is_streamed:
        return layer.weights(slice(None), None, picked), seen
    step = max(1, _CELLS_AT_ONCE // (layer.n_heads * layer.n_key))
    blocks = []
    for first in range(0, layer.n_query, step):
        rows = range(first, min(first + step, layer.n_query))
        blocks.append(layer.maps(quantity, slice(None), rows)[..., list(picked)])
    return torch.cat(blocks, 1), seen
