"""Rows of maps for tokens or words that a caller names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.tapping.head import Head, HeadName, layer_of_name, names_layer
from attnwidget.kernels.arrays import Float32Array
from attnwidget.text.place_of_token import listed_tokens, place_of_token

if TYPE_CHECKING:
    from attnwidget.capture.maps.head_maps import HeadMaps


def named_rows(
    head_maps: HeadMaps,
    stacks: Mapping[str, Stack],
    rows_of_head: Callable[[Head, list[int]], Float32Array],
    layer: int | HeadName,
    head: int | None,
    query: Any,
    key: Any,
    stack: str | None,
) -> Float32Array:
    """Return rows of a head, [K] for one query or [n, K] for n queries, or their weights to keys.

    For the name of a layer, the first axis of the result is the heads of the layer.

    Args:
        head_maps: Maps that resolve the names of heads.
        stacks: Stacks with the tokens, or the words, of both axes.
        rows_of_head: Function that returns rows of a head by their positions, [n, K].
        layer: Layer, or the name of a head or of a layer.
        head: Head; None if `layer` is a name.
        query: Token by number or word, or a list of these.
        key: Attended token or tokens; None for all keys.
        stack: Stack, needed only if there are several.

    Raises:
        TypeError: There is no query.
        ValueError: The layer, head, stack or a token does not exist, or a layer has a name and a
            head.
    """
    is_layer = names_layer(layer)
    if is_layer and head is not None:
        raise ValueError(
            f"{layer!r} is a layer, and {head!r} follows it: rows({layer!r}, query={head!r}) reads "
            "all heads of the layer, and rows('L1 H3', 'he') reads one head"
        )
    if query is None:
        raise TypeError("rows has no query: name the attending word, as in rows('L1 H3', 'he')")
    named = head_maps.head_in(stack, layer_of_name(layer), 0 if is_layer else head)
    axes = stacks[named.stack]
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

    if not is_layer:
        return rows_of(named)
    return np.stack([rows_of(named._replace(head=number)) for number in range(axes.n_heads)])
