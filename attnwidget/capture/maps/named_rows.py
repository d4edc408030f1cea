"""Rows of a head's map for tokens or words that a caller names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.tapping.head import names_layer
from attnwidget.kernels.arrays import Float32Array
from attnwidget.text.place_of_token import listed_tokens, place_of_token


def named_rows(
    axes: Stack, rows_of: Callable[[list[int]], Float32Array], query: Any, key: Any
) -> Float32Array:
    """Return rows of a map, [K] for one query or [n, K] for n queries, or their weights to keys.

    Args:
        axes: Stack with the tokens or words of both axes.
        rows_of: Function that returns the rows of query positions, [n, K].
        query: Token by number or word, or a list of these.
        key: Attended token or tokens; None for all keys.

    Raises:
        ValueError: A token does not exist.
    """
    queries, is_one = listed_tokens(query)
    positions = [place_of_token("query", token, axes.query, repr(axes.name)) for token in queries]
    columns: Any = ...
    if key is not None:
        keys, is_one_key = listed_tokens(key)
        places = [place_of_token("key", token, axes.key, repr(axes.name)) for token in keys]
        columns = places[0] if is_one_key else places
    rows: Float32Array = rows_of(positions)[:, columns]
    return rows[0] if is_one else rows


def refuse_layer_name(layer: object) -> None:
    """Raise ValueError for the name of a layer in place of a head.

    Args:
        layer: First argument of `rows`.
    """
    if names_layer(layer):
        raise ValueError(
            f"rows reads one head, such as 'L1 H3', got the layer {layer!r}: for all heads of the "
            f"layer use weights({layer!r}), or top_links({layer!r}, query='he', key='captain')"
        )
