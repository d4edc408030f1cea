"""Small pictures of every head of a stack, as a grid of heads shows them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.latest_values import LatestValues
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.comparable_maps import refuse_incomparable
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.layer_steps import layer_done
from attnwidget.capture.maps.stack_maps import MapPart, StackMaps
from attnwidget.capture.maps.tiles import pooled_places
from attnwidget.capture.maps.word_attention import WordAttention
from attnwidget.kernels.array_library import (
    Array,
    as_numpy,
    beside,
    is_on_cpu,
    joined,
    library_of,
)
from attnwidget.kernels.pooling import SIDE, farthest_pool, max_pool, quantise, quantise_signed
from attnwidget.text.alignment import SharedAxis
from attnwidget.text.tokens import Tokens

# Number of cells of a layer's maps in memory at a time, which limits the memory for long texts.
_CELLS_AT_ONCE = 16 * 1024 * 1024
# Choices of tokens and quantities whose pictures are kept of a layer.
_KEPT = 4

#: Pixels, the largest values of heads, and the places of these.
_Drawn = tuple[Array, Array, Array]
_drawn: WeakKeyDictionary[Layer, LatestValues[tuple[object, ...], list[_Drawn]]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True, eq=False)
class Thumbnails:
    """Small maps of all heads of one stack.

    Attributes:
        values: Pixels, uint8 [L, H, R, C]: round(255 sqrt(value / head maximum)), max-pooled to at
            most 64 rows and columns (blocks of equal length in a long input). Differences are
            128 + sign round(127 sqrt(|value| / largest)), the value farthest from 0 in each cell.
        maxima: The largest value of each head, float32 [L, H]; for differences the value farthest
            from 0.
        strongest: The query and key of that value on the full axis, int32 [L, H, 2]; -1 where every
            token is hidden.
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
    """Draw small pictures of all heads of a stack, between tokens or between words.

    Args:
        attention: An attention, or `attention.words` for pictures between words.
        stack: The stack; None in a model with a single stack.
        hidden: Kinds of tokens that are left out: "cls", "sep", "first", "other".
        quantity: "weights", "norms" or "gradients".
        minus: A second attention with the same number of layers and heads, for pictures of the
            differences between the tokens (or words) that both have.
        times_keys: Multiply each weight by the number of keys that its query sees, hidden keys
            included: 1 is the weight of even attention.

    Raises:
        ValueError: if the stack or the quantity does not exist, `minus` does not fit, a long
            input is compared or drawn between words, or `times_keys` is given for other values than
            weights.
        TypeError: if tokens are compared with words.

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
    shown = attention.stack_maps(axes.name)
    other: StackMaps | None = None
    if minus is not None:
        if isinstance(minus, WordAttention) != isinstance(attention, WordAttention):
            raise TypeError(
                "tokens and words cannot be compared: pass `.words` of both attentions, or of none"
            )
        minus.head_maps.check_quantity(quantity)
        for compared in (maps, minus.head_maps):
            compared.refuse_long("compared")
        refuse_incomparable(maps.stacks, minus.head_maps.stacks)
        other = minus.stack_maps(axes.name)
    if shown.layers[0].is_streamed:
        with maps.reading():
            drawn = _of_long(shown, hidden, quantity, times_keys)
    else:
        drawn = _of_whole(shown, other, hidden, quantity, times_keys, maps.reading)
    return Thumbnails(
        axes.layers.spread(drawn.values, fill=0),
        axes.layers.spread(drawn.maxima, fill=0),
        axes.layers.spread(drawn.strongest, fill=-1),
    )


def _of_whole(
    shown: StackMaps,
    minus: StackMaps | None,
    hidden: Collection[str],
    quantity: str,
    times_keys: bool,
    reading: Callable[[], AbstractContextManager[None]],
) -> Thumbnails:
    """Thumbnails of layers whose maps are computed whole, or of differences from `minus`.

    The lock of `reading` is free between layers, for other threads that need the model.
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
    part = shown.part(rows, columns)
    n_layers = len(shown.layers)
    n_heads = shown.layers[0].n_heads
    if not rows or not columns:
        return _nothing(n_layers, n_heads)
    group = n_heads // shown.layers[0].n_key_heads
    step = max(1, _CELLS_AT_ONCE // (shown.cells * group)) * group
    choices = (quantity, times_keys, tuple(rows), tuple(columns))
    drawn: list[_Drawn] = []
    for layer in range(n_layers):
        # An edit changes no layer below it, and the intact attention was drawn before.
        known = _drawn.setdefault(shown.layers[layer], LatestValues(_KEPT))
        is_remembered = other is None and shown.words is None
        pictures = known.get(choices) if is_remembered else None
        if pictures is None:
            pictures = []
            with reading():
                for first in range(0, n_heads, step):
                    heads = slice(first, min(first + step, n_heads))
                    pictures.append(_of_heads(part, other, layer, heads, quantity, times_keys))
            if is_remembered:
                known.add(choices, pictures)
        drawn += pictures
        layer_done()
    shape = (n_layers, n_heads)
    all_values, maxima, places = (joined(each) for each in zip(*drawn, strict=True))
    links = np.stack((part.rows[places // len(columns)], part.columns[places % len(columns)]), -1)
    return Thumbnails(
        all_values.reshape(*shape, *all_values.shape[1:]),
        maxima.reshape(shape),
        links.astype(np.int32).reshape(*shape, 2),
    )


def _of_heads(
    part: MapPart,
    other: MapPart | None,
    layer: int,
    heads: slice,
    quantity: str,
    times_keys: bool,
) -> _Drawn:
    """Return the pixels, the largest values and the places of these of some heads of a layer."""
    maps = part(layer, heads, quantity)
    if times_keys:
        counts = part.key_counts(layer, heads)[..., None]
        maps = maps * beside(counts, maps)
    if other is None:
        sizes = maps
        small, largest = quantise(max_pool(maps))
    else:
        maps = _difference(maps, other(layer, heads, quantity))
        sizes = abs(maps)
        small, largest = quantise_signed(farthest_pool(maps))
    sizes = sizes.reshape(len(sizes), -1)
    # The first of equal places in both libraries; numpy takes a fifth of the time.
    return small, largest, (as_numpy(sizes) if is_on_cpu(sizes) else sizes).argmax(-1)


def _difference(maps: Array, others: Array) -> Array:
    """Return the difference of two attentions' maps, whose arrays may be of two libraries."""
    if library_of(maps) is library_of(others):
        return maps - beside(others, maps)
    return as_numpy(maps) - as_numpy(others)


def _common(axis: Tokens, other: Tokens, places: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of places of the common tokens of two axes, among `places` of the first."""
    kept = set(places)
    return [(i, j) for i, j in SharedAxis(axis, other).pairs if i in kept]


def _nothing(*size: int) -> Thumbnails:
    return Thumbnails(
        np.zeros((*size, 0, 0), np.uint8),
        np.zeros(size, np.float32),
        np.full((*size, 2), -1, np.int32),
    )


def _of_long(
    shown: StackMaps, hidden: Collection[str], quantity: str, times_keys: bool
) -> Thumbnails:
    """Thumbnails of streamed layers, from the maxima that the pass has kept if there are any."""
    rows, columns = (
        [i for i, kind in enumerate(axis.special) if kind not in hidden]
        for axis in (shown.query, shown.key)
    )
    shape = (len(shown.layers), shown.layers[0].n_heads)
    if not rows or not columns:
        return _nothing(*shape)
    everything = len(rows) == len(shown.query) and len(columns) == len(shown.key)
    are_kept = everything and quantity == "weights" and not times_keys
    step = -(-max(len(rows), len(columns)) // SIDE)
    values = []
    maxima = []
    strongest: list[Array] = []
    for layer in shown.layers:
        products = layer.products if are_kept else None
        if products and products.streamed:
            blocks = products.streamed.blocks
            queries = products.streamed.largest.argmax(-1)
            keys = products.row_of_each_head(queries).argmax(-1)
            strongest.append(library_of(queries).stack([queries, keys], -1))
        else:
            found = [
                pooled_places(layer, head, rows, columns, step, quantity, times_keys=times_keys)
                for head in range(shape[1])
            ]
            blocks = library_of(found[0][0]).stack([pooled for pooled, _ in found])
            strongest.append(np.array([link for _, link in found]))
        small, largest = quantise(blocks)
        values.append(small)
        maxima.append(largest)
    all_values = joined(values)
    return Thumbnails(
        all_values.reshape(*shape, *all_values.shape[1:]),
        joined(maxima).reshape(shape),
        joined(strongest).astype(np.int32).reshape(*shape, 2),
    )
