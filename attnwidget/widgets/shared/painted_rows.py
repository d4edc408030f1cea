"""Rows of a query, or columns of a key, in all heads, as thumbnail bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.arrays import Float32Array
from attnwidget.text.places import Box, Span
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.shared.places import first_query, has_places
from attnwidget.widgets.wire.values import axes_in, in_unit, masked_map, to_wire

#: Token whose row or column is painted, as (side, position); the position None is the mean row.
PaintedToken = tuple[str, int | None]


def is_on_picture(tokens: Tokens) -> bool:
    """Return True if any token has a position in a picture.

    Example:
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.shared.painted_rows import is_on_picture
        >>> is_on_picture(Tokens.plain(["The", "cat"]))
        False
    """
    return any(isinstance(place, Box) for place in tokens.places)


def writes_over_sound(stack: Stack, unit: str) -> bool:
    """Return True if the queries are tokens of a decoder that attends to a sound.

    The row of such a token generates the next token, so figures label the row with the next token.

    Args:
        stack: Stack of the maps.
        unit: "tokens" or "words". The result is False for words, because a word's row is a mean
            over rows that generate several words.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.shared.painted_rows import writes_over_sound
        >>> writes_over_sound(load_model().attend("The cat sat.").stacks["self"], "tokens")
        False
    """
    is_over_sound = any(isinstance(place, Span) for place in stack.key.places)
    return stack.name == "cross" and unit == "tokens" and is_over_sound


def start_of(attention: Attention, stack: str, unit: str) -> int | None:
    """Return the query whose row figures show first; None for the mean over all queries.

    Args:
        attention: Attention of the figure.
        stack: Stack name.
        unit: "tokens" or "words".

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.shared.painted_rows import start_of
        >>> start_of(load_model().attend("The cat sat."), "self", "tokens")
        0
    """
    query, key = axes_in(attention.stacks[stack], unit)
    n_prompt = attention.n_prompt if stack == "self" and unit == "tokens" else None
    first = attention.stacks[stack].layers.nearest(0)

    def sees_others(row: int) -> bool:
        values = in_unit(attention, unit).token_values("query", row, layer=first, stack=stack)
        return bool(np.count_nonzero(~np.isnan(values[0])) > 1)

    return first_query(query, key, n_prompt, sees_others)


def painted_token(
    attention: Attention, stack: str, unit: str, locked: Sequence[tuple[str, int]]
) -> PaintedToken | None:
    """Return the token whose row or column thumbnails show on a picture or a sound.

    This is the last locked query. Without a locked query, it is the last locked key if queries have
    positions, and otherwise the query that figures show first. The result is None if keys have no
    positions, or for the mean row of a long input, which would need all maps.

    Args:
        attention: Attention of the figure.
        stack: Stack name.
        unit: "tokens" or "words".
        locked: Locked tokens, as pairs of "query" or "key" and a position.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.shared.painted_rows import painted_token
        >>> painted_token(load_model().attend("The cat sat."), "self", "tokens", [("query", 1)])
    """
    query, key = axes_in(attention.stacks[stack], unit)
    # Rows between words and mean rows are computed from whole maps.
    reads_whole_maps = not attention.is_long
    if not has_places(key) or (unit == "words" and not reads_whole_maps):
        return None
    queries = [index for side, index in locked if side == "query" and index < len(query)]
    keys = [index for side, index in locked if side == "key" and index < len(key)]
    if queries:
        return "query", queries[-1]
    if keys and has_places(query):
        return "key", keys[-1]
    start = start_of(attention, stack, unit)
    return None if start is None and not reads_whole_maps else ("query", start)


def painted_values(
    attention: Attention, stack: str, unit: str, quantity: str, token: PaintedToken
) -> Float32Array:
    """Return the row or the column of a token in every head, float32 [L, H, n], NaN where masked.

    The mean row counts masked cells as 0.

    Args:
        attention: Attention of the figure.
        stack: Stack name.
        unit: "tokens" or "words".
        quantity: "weights", "norms" or "gradients".
        token: Token, as returned by `painted_token`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.shared.painted_rows import painted_values
        >>> attention = load_model().attend("The cat sat.")
        >>> painted_values(attention, "self", "tokens", "weights", ("query", None)).shape
        (6, 12, 6)
    """
    side, position = token
    if position is not None:
        return in_unit(attention, unit).token_values(side, position, stack=stack, quantity=quantity)
    axes = attention.stacks[stack]
    indices = np.ndindex(axes.n_layers, axes.n_heads)
    heads = [Head(layer, head, stack) for layer, head in indices]
    means = [_mean_row(masked_map(attention, quantity, head, unit)) for head in heads]
    return np.stack(means).reshape(axes.n_layers, axes.n_heads, -1)


def _mean_row(values: Float32Array) -> Float32Array:
    mean: Float32Array = np.nan_to_num(values).mean(axis=0, dtype=np.float32)
    mean[np.isnan(values).all(axis=0)] = np.nan
    return mean


def rounded_rows(
    values: Float32Array, *, signed: bool = False
) -> tuple[NDArray[np.uint8], Float32Array]:
    """Return the rows of all heads as bytes [L, H, n], and the largest size of each row [L, H].

    The byte 0 means masked (NaN), and 1 to 255 are the rounded square root of value / largest. For
    differences, the byte is 128 plus or minus 127 times the square root, rounded.

    Args:
        values: Rows of all heads, float32 [L, H, n].
        signed: Whether the values are differences.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.shared.painted_rows import rounded_rows
        >>> rounded_rows(np.array([[[0.0, 0.125, 0.5, np.nan]]], "f4"))
        (array([[[  1, 128, 255,   0]]], dtype=uint8), array([[0.5]], dtype=float32))
    """
    is_visible = ~np.isnan(values)
    size = np.where(is_visible, np.abs(values), 0)
    largest: Float32Array = size.max(axis=-1, initial=0)
    share = np.sqrt(size / np.where(largest > 0, largest, 1)[..., None])
    levels = 128 + np.sign(values) * np.rint(127 * share) if signed else 1 + np.rint(254 * share)
    return np.where(is_visible, levels, 0).astype(np.uint8), largest


def strongest_positions(
    values: Float32Array, axis: Tokens
) -> tuple[Float32Array, NDArray[np.int64]]:
    """Return the value farthest from 0 among tokens with a place, and its position on the axis.

    Args:
        values: Rows or columns, float32 [..., n], NaN where masked.
        axis: Axis with the n painted tokens.

    Example:
        >>> from dataclasses import replace
        >>> import numpy as np
        >>> from attnwidget.results import Span
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.shared.painted_rows import strongest_positions
        >>> axis = replace(Tokens.plain(["a", "0.0"]), places=(None, Span(0, 0, 0.1)))
        >>> strongest_positions(np.array([[0.8, 0.2]], np.float32), axis)
        (array([0.2], dtype=float32), array([1]))
    """
    has_place = np.array([place is not None for place in axis.places])
    finite_values = np.nan_to_num(values)
    positions = np.where(has_place, np.abs(finite_values), -1).argmax(axis=-1)
    farthest: Float32Array = np.take_along_axis(finite_values, positions[..., None], -1)[..., 0]
    return farthest, positions


def strongest_of_rows(
    values: Float32Array, token: PaintedToken, axis: Tokens
) -> tuple[Float32Array, NDArray[np.int32]]:
    """Return the value farthest from 0 among tokens with a place, [L, H], and its pair [L, H, 2].

    The pair is (query, key). The query of the mean row is -1.

    Args:
        values: Rows or columns of all heads, float32 [L, H, n].
        token: Token of the rows or columns.
        axis: Axis with the painted tokens.

    Example:
        >>> from dataclasses import replace
        >>> import numpy as np
        >>> from attnwidget.results import Span
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.shared.painted_rows import strongest_of_rows
        >>> axis = Tokens.plain(["0.0", "0.1"])
        >>> axis = replace(axis, places=(Span(0, 0, 0.1), Span(0, 0.1, 0.2)))
        >>> strongest_of_rows(np.array([[[0.2, 0.8]]], np.float32), ("query", 0), axis)
        (array([[0.8]], dtype=float32), array([[[0, 1]]], dtype=int32))
    """
    side, token_position = token
    farthest, positions = strongest_positions(values, axis)
    pair = np.stack(
        [np.full_like(positions, -1 if token_position is None else token_position), positions],
        axis=-1,
    )
    return farthest, (pair if side == "query" else pair[..., ::-1]).astype(np.int32)


def painted_to_wire(
    values: Float32Array, token: PaintedToken, *, signed: bool = False
) -> dict[str, Any]:
    """Return the painted rows of all heads with their token, for the page.

    Args:
        values: Rows or columns of all heads, float32 [L, H, n].
        token: Token of the rows or columns.
        signed: Whether the values are differences.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.shared.painted_rows import painted_to_wire
        >>> painted_to_wire(np.ones((1, 2, 3), "f4"), ("query", 0))["values"]["shape"]
        [1, 2, 3]
    """
    levels, largest = rounded_rows(values, signed=signed)
    return {
        "side": token[0],
        "of": token[1],
        "values": to_wire(levels),
        "largest": to_wire(largest),
    }
