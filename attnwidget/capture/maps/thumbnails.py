"""Thumbnails of every head of a stack, for a grid of heads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.comparable_maps import refuse_incomparable
from attnwidget.capture.maps.head_maps import MapCache
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.layer_steps import layer_done
from attnwidget.capture.maps.stack_maps import MapPart, StackMaps
from attnwidget.capture.maps.word_attention import WordAttention
from attnwidget.kernels.array_library import (
    Array,
    as_numpy,
    beside,
    is_on_cpu,
    joined,
    library_of,
)
from attnwidget.kernels.pooling import (
    SIDE,
    cell_edges,
    farthest_pool,
    max_pool,
    quantize,
    quantize_signed,
)
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.text.alignment import SharedAxis
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    from attnwidget.kernels.streaming import Streamed

# Number of layer-map cells in memory at a time, which limits the memory for long texts.
_CELLS_AT_ONCE = 16 * 1024 * 1024
# Number of token and quantity selections whose thumbnails are cached per layer.
_KEPT = 4

#: Pixels, the largest value of each head, and its cell among the rows and columns.
_Drawn = tuple[Array, Array, Array]
_drawn: WeakKeyDictionary[Layer, LatestValues[tuple[object, ...], list[_Drawn]]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True, eq=False)
class Thumbnails:
    """Thumbnails of all heads in one stack.

    Attributes:
        values: Pixels, uint8 [L, H, R, C]: round(255 sqrt(value / head maximum)), max-pooled to at
            most 64 rows and columns (blocks of equal length in a long input). Differences are
            128 + sign round(127 sqrt(|value| / largest)), the value farthest from 0 in each cell.
        maxima: Largest value of each head, float32 [L, H]; for differences the value farthest from
            0.
        strongest: Query and key of that value on the full axis, int32 [L, H, 2]; -1 if every token
            is hidden.
    """

    values: NDArray[np.uint8]
    maxima: NDArray[np.float32]
    strongest: NDArray[np.int32]


def draw_thumbnails(
    attention: Attention | WordAttention,
    stack: str | None = None,
    *,
    hidden: Collection[str] = (),
    quantity: str = "weights",
    minus: Attention | WordAttention | None = None,
    times_keys: bool = False,
) -> Thumbnails:
    """Draw thumbnails of all heads in a stack, between tokens or between words.

    Args:
        attention: Attention, or `attention.words` for thumbnails between words.
        stack: Name of the stack; None if the model has a single stack.
        hidden: Kinds of tokens that are left out: "cls", "sep", "first", "other".
        quantity: "weights", "norms" or "gradients".
        minus: Second attention with the same number of layers and heads, to show differences
            between common tokens (or words).
        times_keys: Whether to multiply each weight by the number of keys that its query sees,
            including hidden keys: even attention then has the weight 1.

    Raises:
        ValueError: The stack or the quantity does not exist, `minus` does not fit, or `times_keys`
            comes with other values than weights.
        TypeError: Tokens are compared with words.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.maps.thumbnails import draw_thumbnails
        >>> attention = load_model().attend("The cat sat.")
        >>> draw_thumbnails(attention, hidden=["cls", "sep"]).values.shape
        (6, 12, 4, 4)
    """
    maps = attention.head_maps
    maps.check_quantity(quantity)
    if times_keys and (quantity != "weights" or minus is not None):
        raise ValueError(
            "times_keys multiplies weights by their number of keys: pass quantity='weights' and no "
            "minus"
        )
    axes = maps.stack(stack)
    maps_to_draw = attention.stack_maps(axes.name)
    other: StackMaps | None = None
    if minus is not None:
        if isinstance(minus, WordAttention) != isinstance(attention, WordAttention):
            raise TypeError(
                "tokens and words cannot be compared: pass `.words` of both attentions, or of none"
            )
        minus.head_maps.check_quantity(quantity)
        refuse_incomparable(maps.stacks, minus.head_maps.stacks)
        other = minus.stack_maps(axes.name)
    thumbnails = _draw_layers(maps_to_draw, other, hidden, quantity, times_keys, maps)
    return Thumbnails(
        axes.layers.spread(thumbnails.values, fill=0),
        axes.layers.spread(thumbnails.maxima, fill=0),
        axes.layers.spread(thumbnails.strongest, fill=-1),
    )


def _draw_layers(
    shown: StackMaps,
    minus: StackMaps | None,
    hidden: Collection[str],
    quantity: str,
    times_keys: bool,
    maps: MapCache,
) -> Thumbnails:
    """Return thumbnails for the layers with attention, or for differences from `minus`.

    The lock of the maps is free between layers, for other threads that need the model.
    """
    rows = [i for i, kind in enumerate(shown.query.special) if kind not in hidden]
    columns = [i for i, kind in enumerate(shown.key.special) if kind not in hidden]
    other: MapPart | None = None
    if minus is not None:
        row_pairs = _common(shown.query, minus.query, rows)
        column_pairs = _common(shown.key, minus.key, columns)
        rows = [i for i, _ in row_pairs]
        columns = [i for i, _ in column_pairs]
        other = minus.part([j for _, j in row_pairs], [j for _, j in column_pairs])
    n_layers = len(shown.layers)
    n_heads = shown.layers[0].n_heads
    if not rows or not columns:
        return _nothing(n_layers, n_heads)
    part = shown.part(rows, columns)
    drawing = _Drawing(part, other, quantity, times_keys)
    choices = (quantity, times_keys, tuple(rows), tuple(columns))
    head_pictures: list[_Drawn] = []
    for layer in range(n_layers):
        # The thumbnail of the intact attention may be cached, because an edit changes no layer
        # below it.
        cache = _drawn.setdefault(shown.layers[layer], LatestValues(_KEPT))
        is_cacheable = other is None and shown.words is None
        pictures = cache.get(choices) if is_cacheable else None
        if pictures is None:
            with maps.lock.in_turn(), maps.without_gradients():
                pictures = drawing.of_layer(layer)
            if is_cacheable:
                cache.add(choices, pictures)
        head_pictures += pictures
        layer_done()
    shape = (n_layers, n_heads)
    all_values, maxima, cells = (joined(arrays) for arrays in zip(*head_pictures, strict=True))
    links = np.stack((part.rows[cells // len(columns)], part.columns[cells % len(columns)]), -1)
    return Thumbnails(
        all_values.reshape(*shape, *all_values.shape[1:]),
        maxima.reshape(shape),
        links.astype(np.int32).reshape(*shape, 2),
    )


@dataclass(frozen=True, eq=False)
class _Drawing:
    """Thumbnails of a stack, or of the differences between two stacks.

    Attributes:
        part: Rows and columns that are shown.
        other: Rows and columns to subtract; None for no differences.
        quantity: "weights", "norms" or "gradients".
        times_keys: Whether each weight is multiplied by the number of keys that its query sees.
    """

    part: MapPart
    other: MapPart | None
    quantity: str
    times_keys: bool

    def of_layer(self, layer: int) -> list[_Drawn]:
        """Return the thumbnails of a layer, for some heads at a time."""
        stack_layer = self.part.maps.layers[layer]
        if stack_layer.maxima is not None and self._is_whole:
            return [_from_pass(stack_layer, stack_layer.maxima)]
        sizes = len(self.part.rows), len(self.part.columns)
        # For a long input, the pass has stored maxima over blocks of equal length.
        block = None if stack_layer.maxima is None else -(-max(sizes) // SIDE)
        rows, columns = (cell_edges(size, block=block) for size in sizes)
        group = stack_layer.n_heads // stack_layer.n_key_heads
        step = max(1, _CELLS_AT_ONCE // (sizes[0] * sizes[1] * group)) * group
        return [
            self._of_heads(
                layer, slice(first, min(first + step, stack_layer.n_heads)), rows, columns
            )
            for first in range(0, stack_layer.n_heads, step)
        ]

    @property
    def _is_whole(self) -> bool:
        """Whether the maps are complete maps of weights, as in a pass."""
        maps = self.part.maps
        has_all_tokens = len(self.part.rows) == len(maps.query) and len(self.part.columns) == len(
            maps.key
        )
        is_weights = self.quantity == "weights" and not self.times_keys
        return has_all_tokens and is_weights and self.other is None and maps.words is None

    def _of_heads(
        self, layer: int, heads: slice, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> _Drawn:
        """Return the thumbnails of some heads, computed some rows at a time.

        Args:
            layer: Index of the layer.
            heads: Slice of the heads.
            rows: Cells of the rows, as returned by `cell_edges`.
            columns: Cells of the columns.
        """
        pool = max_pool if self.other is None else farthest_pool
        pooled: list[Array] = []
        largest: list[Array] = []
        positions: list[Array] = []
        n_columns = len(self.part.columns)
        step = _CELLS_AT_ONCE // ((heads.stop - heads.start) * n_columns * int(rows[0, 1]))
        for first in range(0, len(rows), max(1, step)):
            cells = rows[first : first + max(1, step)]
            start = int(cells[0, 0])
            maps = self._maps(layer, heads, slice(start, int(cells[-1, 1])))
            pooled.append(pool(maps, cells - start, columns))
            sizes = maps if self.other is None else abs(maps)
            sizes = sizes.reshape(len(sizes), -1)
            # argmax returns the first of equal values in both libraries, and numpy is five times
            # as fast as torch on the CPU.
            sizes = as_numpy(sizes) if is_on_cpu(sizes) else sizes
            largest.append(library_of(sizes).amax(sizes, -1))
            positions.append(sizes.argmax(-1) + start * n_columns)
        library = library_of(pooled[0])
        small = pooled[0] if len(pooled) == 1 else library.concatenate(pooled, -2)
        values, maxima = quantize(small) if self.other is None else quantize_signed(small)
        if len(positions) == 1:
            return values, maxima, positions[0]
        library = library_of(positions[0])
        best = library.stack(largest).argmax(0)
        return values, maxima, library.stack(positions)[best, library.arange(len(best))]

    def _maps(self, layer: int, heads: slice, among: slice) -> Array:
        """Return the values to draw for some rows, [heads, rows, columns]."""
        maps = self.part(layer, heads, self.quantity, among)
        if self.times_keys:
            counts = self.part.key_counts(layer, heads, among)[..., None]
            maps = maps * beside(counts, maps)
        if self.other is None:
            return maps
        other_maps = self.other(layer, heads, self.quantity, among)
        if library_of(maps) is library_of(other_maps):
            return maps - beside(other_maps, maps)
        return as_numpy(maps) - as_numpy(other_maps)


def _from_pass(kept: Layer, maxima: Streamed) -> _Drawn:
    """Return the thumbnails of all heads from the maxima that a pass has stored."""
    assert kept.products is not None
    queries = maxima.largest.argmax(-1)
    keys = kept.products.row_of_each_head(queries).argmax(-1)
    return *quantize(maxima.blocks), queries * kept.n_key + keys


def _common(axis: Tokens, other: Tokens, places: Sequence[int]) -> list[tuple[int, int]]:
    """Return index pairs of tokens that two axes share, among `places` of the first."""
    shown_positions = set(places)
    return [(i, j) for i, j in SharedAxis(axis, other).pairs if i in shown_positions]


def _nothing(*size: int) -> Thumbnails:
    return Thumbnails(
        np.zeros((*size, 0, 0), np.uint8),
        np.zeros(size, np.float32),
        np.full((*size, 2), -1, np.int32),
    )
