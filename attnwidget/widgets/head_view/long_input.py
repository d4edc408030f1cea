"""The data of a head in a long input: an overview, a tile of the visible part, one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.arrays import Float32Array
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.wire.values import axis_to_wire, to_wire

#: (query from, query to, key from, key to), ends excluded.
Part = tuple[int, int, int, int]

#: Cells a side that a tile has at most, and those of an overview.
TILE = 256
OVERVIEW = 128
# Maxima that the row of one query has at most.
_ROW = 1024
# Number of strongest links in the list, drawn as lines, and in one row.
_LISTED = 20
_DRAWN = 300
_OF_ROW = 8
# Tokens beside the one that was jumped to.
_AROUND = 32
# A causal model gives large weights in the first rows, which have few keys: their links are left
# out of lists.
_FIRST = 16


def whole(attention: Attention, stack: str) -> Part:
    """All queries and keys of a stack."""
    axes = attention.stacks[stack]
    return 0, len(axes.query), 0, len(axes.key)


def head_to_wire(attention: Attention, head: Head) -> dict[str, Any]:
    """A head as a whole: maxima of blocks, and its strongest links as `_links` chooses them.

    `values` are float32 with at most 128 rows and columns, without the first key, whose column is
    `first`; `maximum` is the largest of `values`.
    """
    _, n_query, _, n_key = whole(attention, head.stack)
    step = _step((0, n_query), (0, n_key), OVERVIEW)
    values, first = _without_first(attention, head, (0, n_query), (0, n_key), step)
    return {
        **head._asdict(),
        "n_query": n_query,
        "n_key": n_key,
        "step": step,
        "values": to_wire(values),
        "first": to_wire(first),
        "first_text": attention.stacks[head.stack].key.text[0],
        "maximum": _largest(values),
        "links": _links(attention, head, (0, n_query, 0, n_key), _LISTED),
    }


def tile_to_wire(
    attention: Attention, head: Head, window: Part | None, *, lines: bool
) -> dict[str, Any]:
    """What is in sight, as at most 256 x 256 cells and as much beside it as these have room for.

    Cells are blocks of `step` queries and keys, a power of two. Of blocks the first key is left out
    as in `head_to_wire`; with a step of 1 all weights are there, and the tokens. With `lines` the
    strongest links in sight come with it.
    """
    q0, q1, k0, k1 = window or whole(attention, head.stack)
    axes = attention.stacks[head.stack]
    step = _step((q0, q1), (k0, k1), TILE)
    queries = _widened(q0, q1, len(axes.query), step)
    keys = _widened(k0, k1, len(axes.key), step)
    values, first = _without_first(attention, head, queries, keys, step)
    seen = {"query": (axes.query, queries), "key": (axes.key, keys)}
    return {
        **head._asdict(),
        "window": window,
        "step": step,
        "queries": queries,
        "keys": keys,
        "values": to_wire(values),
        "first": to_wire(first),
        "axes": {side: axis_to_wire(_part(axis, *of)) for side, (axis, of) in seen.items()}
        if step == 1
        else None,
        "links": _links(attention, head, (q0, q1, k0, k1), _DRAWN) if lines else None,
    }


def row_to_wire(attention: Attention, head: Head, query: int) -> dict[str, Any]:
    """One query's weights to all keys, as at most 1,024 maxima; the first key apart."""
    axes = attention.stacks[head.stack]
    row = row_of(attention, head, query)
    first, row[0] = row[0], np.nan
    step = -(-len(row) // _ROW)
    order = np.argsort(-np.nan_to_num(row), kind="stable")[:_OF_ROW]
    return {
        **head._asdict(),
        "query": query,
        "text": axes.query.text[query],
        "step": step,
        "values": to_wire(np.fmax.reduceat(row, range(0, len(row), step))),
        "first": float(np.nan_to_num(first)),
        "links": [[int(k), float(row[k]), axes.key.text[k]] for k in order if row[k] > 0],
    }


def row_of(attention: Attention, head: Head, query: int) -> Float32Array:
    """Weights [K] of one query, NaN where masked."""
    layer, number, stack = head
    keys = (0, len(attention.stacks[stack].key))
    return attention.tile(layer, number, (query, query + 1), keys, stack=stack)[0].copy()


def places_of(tokens: Tokens, text: str) -> list[int]:
    """Return the position of a token or word with this text in any case, or containing this text.

    Example:
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.head_view.long_input import places_of
        >>> tokens = Tokens.plain(["The", "cat", "scat", "##ters", "the", "cats"])
        >>> places_of(tokens, "the"), places_of(tokens, "scatters"), places_of(tokens, "at")
        ([0, 4], [2], [1, 2, 5])
    """
    wanted = text.strip().casefold()
    if not wanted:
        return []
    groups = tokens.word_groups()
    words = tokens.to_words().text
    starts = {group[0] for group, word in zip(groups, words, strict=True) if _is(word, wanted)}
    exact = starts | {i for i, token in enumerate(tokens.text) if _is(token, wanted)}
    within = (i for i, token in enumerate(tokens.text) if wanted in token.casefold())
    return sorted(exact) or list(within)


def next_of(places: Sequence[int], after: int, step: int) -> int:
    """The place after, or before, another one; from the end on to the beginning."""
    beyond = [place for place in places if (place - after) * step > 0]
    candidates = beyond or places
    return candidates[0] if step > 0 else candidates[-1]


def window_to(attention: Attention, head: Head, side: str, index: int) -> Part:
    """Where a token is read: round it, and round the strongest of its other side."""
    axes = attention.stacks[head.stack]
    n_query = len(axes.query)
    n_key = len(axes.key)
    if side == "query":
        row = np.nan_to_num(row_of(attention, head, index))
        row[0] = 0
        query = index
        key = int(row.argmax())
    else:
        layer, number, stack = head
        part = attention.tile(layer, number, (0, n_query), (index, index + 1), stack=stack)
        query = int(np.nan_to_num(part[:, 0]).argmax())
        key = index
    return *_round(query, n_query), *_round(key, n_key)


def _round(place: int, count: int) -> tuple[int, int]:
    start = max(0, min(count - _AROUND, place - _AROUND // 2))
    return start, min(count, start + _AROUND)


def _is(text: str, wanted: str) -> bool:
    return text.strip().casefold().removeprefix("##") == wanted


def _step(queries: tuple[int, int], keys: tuple[int, int], cells: int) -> int:
    """The smallest power of two of which no more than so many blocks are touched."""
    step = 1
    while any(-(-end // step) - start // step > cells for start, end in (queries, keys)):
        step *= 2
    return step


def _widened(start: int, end: int, count: int, step: int) -> tuple[int, int]:
    """Return whole blocks, with as many neighbours as a tile can hold for panning."""
    first = start // step
    last = -(-end // step)
    every = -(-count // step)
    first = max(0, min(first - (TILE - (last - first)) // 2, every - TILE))
    return first * step, min(count, min(every, first + TILE) * step)


def _without_first(
    attention: Attention, head: Head, queries: tuple[int, int], keys: tuple[int, int], step: int
) -> tuple[Float32Array, Float32Array]:
    """A tile [rows, columns], and the first key [rows], which blocks of the tile leave out."""
    layer, number, stack = head
    values = attention.tile(layer, number, queries, keys, step=step, stack=stack)
    first = attention.tile(layer, number, queries, (0, 1), stack=stack)[:, 0]
    if step > 1 and keys[0] == 0:
        # The first block without its first key: keys 1, 2-3, 4-7, … are blocks too.
        rest = np.full(len(values), np.nan, np.float32)
        size = 1
        while size < min(step, keys[1]):
            part = (size, min(2 * size, keys[1]))
            column = attention.tile(layer, number, queries, part, step=size, stack=stack)[:, 0]
            rest = np.fmax(rest, _pooled(column, step // size))
            size *= 2
        values = np.concatenate([rest[:, None], values[:, 1:]], axis=1)
    return values, _pooled(first, step)


def _pooled(values: Float32Array, step: int) -> Float32Array:
    """Maxima of blocks; NaN where all of one is masked."""
    pooled: Float32Array = np.fmax.reduceat(values, range(0, len(values), step))
    return pooled


def _largest(values: Float32Array) -> float:
    """The largest value; 0 where all are masked."""
    return float(np.nan_to_num(values).max(initial=0))


def _links(attention: Attention, head: Head, within: Part, count: int) -> list[list[Any]]:
    """[query, key, weight, from, to] of the strongest links of a part.

    Links to the first key, links of the first queries, and links of a token to itself are left out,
    as far as the part has others. Such links are strong in most heads and say little about a head.
    """
    layer, number, stack = head
    axes = attention.stacks[stack]
    q0, q1, k0, k1 = within
    part = (max(q0, min(_FIRST, q1 - 1)), q1, max(k0, min(1, k1 - 1)), k1)
    diagonal = stack == "cross"
    links = attention.top_links(layer, number, count, stack=stack, within=part, diagonal=diagonal)
    return [[q, k, w, axes.query.text[q], axes.key.text[k]] for q, k, w in links]


def _part(tokens: Tokens, start: int, end: int) -> Tokens:
    """Some tokens of an axis."""
    at = slice(start, end)
    return Tokens(
        text=tokens.text[at],
        raw=tokens.raw[at],
        ids=tokens.ids[at],
        special=tokens.special[at],
        segments=tokens.segments[at],
        words=tokens.words[at],
    )
