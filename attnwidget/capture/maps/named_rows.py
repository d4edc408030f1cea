"""Rows of maps for tokens or words that a caller names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.tapping.head import Head, HeadName, layer_of_name, names_layer
from attnwidget.kernels.arrays import Float32Array
from attnwidget.text.place_of_token import listed_tokens, place_of_token
from attnwidget.text.whole_number import is_whole_number

if TYPE_CHECKING:
    from attnwidget.capture.maps.head_maps import HeadMaps

#: Calls about one token, for the hints of tables.
ROWS_OF_A_TOKEN = "rows(head, query=...) or top_links(head, query=...)"


def named_rows(
    head_maps: HeadMaps,
    stacks: Mapping[str, Stack],
    rows_of_head: Callable[[Head, list[int]], Float32Array],
    layer: int | HeadName | None,
    head: int | None,
    query: Any,
    key: Any,
    stack: str | None,
) -> Float32Array:
    """Return rows of a head, [K] for one query or [n, K] for n queries, or their weights to keys.

    For a layer, the first axis of the result is the heads of the layer; without layer and head, the
    first axes are all layers and their heads.

    Args:
        head_maps: Maps that resolve the names of heads.
        stacks: Stacks with the tokens, or the words, of both axes.
        rows_of_head: Function that returns rows of a head by their positions, [n, K].
        layer: Layer, or the name of a head or of a layer; None for all layers.
        head: Head; None if `layer` is a name, or for all heads of the layer.
        query: Token by number or word, or a list of these.
        key: Attended token or tokens; None for all keys.
        stack: Stack, needed only if there are several.

    Raises:
        TypeError: There is no query.
        ValueError: The layer, head, stack or a token does not exist, or a layer has a name and a
            head.
    """
    if names_layer(layer) and head is not None:
        raise ValueError(
            f"{layer!r} is a layer, and {head!r} follows it: rows({layer!r}, query={head!r}) reads "
            "all heads of the layer, and rows('L1 H3', 'he') reads one head"
        )
    if query is None:
        raise TypeError("rows has no query: name the attending word, as in rows('L1 H3', 'he')")
    number = layer_of_name(layer)
    is_layer = head is None and is_whole_number(number)
    is_all = layer is None and head is None
    named = None if is_all else head_maps.head_in(stack, number, 0 if is_layer else head)
    axes = stacks[head_maps.stack(stack).name if named is None else named.stack]
    queries, is_one = listed_tokens(query)
    positions = [place_of_token("query", token, axes.query, repr(axes.name)) for token in queries]
    columns: Any = ...
    if key is not None:
        keys, is_one_key = listed_tokens(key)
        places = [place_of_token("key", token, axes.key, repr(axes.name)) for token in keys]
        columns = places[0] if is_one_key else places

    def rows_of(one: Head) -> Float32Array:
        rows: Float32Array = rows_of_head(one, positions)[:, columns]
        return rows[0] if is_one else rows

    def rows_of_layer(index: int) -> Float32Array:
        heads = (Head(index, head, axes.name) for head in range(axes.n_heads))
        return np.stack([rows_of(one) for one in heads])

    if named is None:
        return axes.layers.spread(np.stack([rows_of_layer(i) for i in axes.layers.numbers]))
    return rows_of_layer(named.layer) if is_layer else rows_of(named)
