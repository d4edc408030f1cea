"""Maps that a view of a long input draws, and the parts that are sent to its page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnwidget.capture.maps.tiles import IndexRange
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.arrays import Float32Array
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.head_view.map_cells import CellPlaces
from attnwidget.widgets.head_view.parted_map import CellValue, MapWindow, PartedMap
from attnwidget.widgets.wire.values import to_wire

#: Cells a side that a tile has at most, of a few maps and of many, and those of an overview.
TILE = 256
TILE_OF_MANY = 128
OVERVIEW = 128
# More maps than these have smaller tiles.
_FEW = 3
# Maxima that the row of one query has at most.
_ROW = 1024
# Number of strongest links in the list, drawn as lines, and in one row.
_LISTED = 20
_DRAWN = 300
_OF_ROW = 8
# Cells of a map that are summed at a time.
_MEAN_CELLS = 2**20
# Tokens beside the one that was jumped to.
_AROUND = 32
# A causal model gives large weights in the first rows, which have few keys: their links are left
# out of lists.
_FIRST = 16


@dataclass(frozen=True, eq=False)
class LongMaps:
    """Maps of one size: of a head, of several heads, or of a head in two attentions.

    What crosses to the page counts the shown queries and keys from 0. The first key of all, whose
    weights are large in most heads, is left out of blocks, and crosses beside them as `first`;
    where it is hidden `first` is None.

    Attributes:
        heads: whose maps they are.
        maps: one of each head; of two attentions both, and their difference.
        rows: the shown queries.
        columns: the shown keys.
        is_cross: whether queries and keys are of two texts, so that no token attends to itself.
        quantity: "weights" or "norms".
        unit: "tokens" or "words".
    """

    heads: Sequence[Head]
    maps: Sequence[PartedMap]
    rows: CellPlaces
    columns: CellPlaces
    is_cross: bool
    quantity: str = "weights"
    unit: str = "tokens"

    @property
    def size(self) -> tuple[int, int]:
        """Shown queries and keys."""
        return len(self.rows), len(self.columns)

    @property
    def _apart(self) -> bool:
        """Whether the first key of all is shown, and apart."""
        return bool(len(self.columns) > 1 and self.columns[0] == 0)

    def part_of(self, window: MapWindow | None) -> MapWindow:
        """The shown queries and keys in a window on the whole axes; all without one of them."""
        whole = (0, len(self.rows), 0, len(self.columns))
        if window is None:
            return whole
        q0, q1 = (int(at) for at in np.searchsorted(self.rows, window[:2]))
        k0, k1 = (int(at) for at in np.searchsorted(self.columns, window[2:]))
        return (q0, q1, k0, k1) if q0 < q1 and k0 < k1 else whole

    def overview_to_wire(self) -> dict[str, Any]:
        """The maps as a whole: values of at most 128 x 128 blocks, and the strongest links."""
        n_query, n_key = self.size
        step = _step((0, n_query), (0, n_key), OVERVIEW)
        blocks = [_without_first(one, (0, n_query), (0, n_key), step, self) for one in self.maps]
        return {
            "complete": False,
            "heads": [list(head) for head in self.heads],
            "stack": self.heads[-1].stack,
            "n_query": n_query,
            "n_key": n_key,
            "step": step,
            **self._stacked(blocks),
            "maxima": [_largest(values) for values, _ in blocks],
            "links": [self._links(one, (0, n_query, 0, n_key), _LISTED) for one in self.maps],
            "shares": [float(np.mean(share)) for share in zip(*self._shares(), strict=True)],
        }

    def _shares(self) -> list[tuple[float, float]]:
        # The third of two attentions is a difference.
        return [one.shares for one in self.maps[: len(self.heads)]]

    def tile_to_wire(self, window: MapWindow | None, *, lines: bool) -> dict[str, Any]:
        """Return the visible part, widened on all sides to at most 256 x 256 cells.

        Cells are blocks of `step` queries and keys, a power of two; with a step of 1 all weights
        are there. With `lines`, the result has the strongest visible links.
        """
        part = q0, q1, k0, k1 = self.part_of(window)
        most = TILE if len(self.maps) <= _FEW else TILE_OF_MANY
        step = _step((q0, q1), (k0, k1), most)
        queries = _widened(q0, q1, len(self.rows), step, most)
        keys = _widened(k0, k1, len(self.columns), step, most)
        blocks = [_without_first(one, queries, keys, step, self) for one in self.maps]
        links = [self._links(one, part, _DRAWN) for one in self.maps] if lines else None
        return {
            "heads": [list(head) for head in self.heads],
            "stack": self.heads[-1].stack,
            "quantity": self.quantity,
            "unit": self.unit,
            "exact": True,
            "asked": window,
            "part": part,
            "step": step,
            "queries": queries,
            "keys": keys,
            **self._stacked(blocks),
            "links": links,
        }

    def _stacked(
        self, blocks: Sequence[tuple[Float32Array, Float32Array | None]]
    ) -> dict[str, Any]:
        """Blocks of all maps [maps, rows, columns], and their first keys [maps, rows]."""
        firsts = [first for _, first in blocks if first is not None]
        return {
            "values": to_wire(np.stack([values for values, _ in blocks])),
            "first": to_wire(np.stack(firsts)) if firsts else None,
        }

    def row_to_wire(self, index: int) -> dict[str, Any] | None:
        """A query's values to all keys, as at most 1,024 maxima; None where it is not shown."""
        query = int(np.searchsorted(self.rows, index))
        if query == len(self.rows) or self.rows[query] != index:
            return None
        n_key = len(self.columns)
        step = -(-n_key // _ROW)
        pooled = []
        firsts = []
        links = []
        for one in self.maps:
            row = one.blocks((query, query + 1), (0, n_key), 1)[0].copy()
            if self._apart:
                firsts.append(float(np.nan_to_num(row[0])))
                row[0] = np.nan
            sizes = np.abs(np.nan_to_num(row))
            order = np.argsort(-sizes, kind="stable")[:_OF_ROW]
            pooled.append(_pooled(row, step))
            links.append([[int(key), float(row[key])] for key in order if sizes[key] > 0])
        return {
            "heads": [list(head) for head in self.heads],
            "side": "query",
            "at": query,
            "step": step,
            "values": to_wire(np.stack(pooled)),
            "first": firsts if self._apart else None,
            "links": links,
        }

    def exact_to_wire(self, side: str, index: int | None) -> dict[str, Any] | None:
        """Return one row or one column of each map with all values, float32 [maps, n].

        On the axis of a picture, a row of patches follows the row above. Maxima of neighboring
        keys would mix the end of a row of patches with the start of the next row.

        Args:
            side: "query" for the row of a query, "key" for the column of a key.
            index: The token on the whole axis; None for the mean over all queries, in which masked
                cells count as 0.

        Returns:
            The values, or None for a token that is not shown.
        """
        n_query, n_key = self.size
        if 0 in self.size:
            return None
        position: int | None = None
        if index is None:
            values = [self._mean_row(one) for one in self.maps]
        else:
            shown = self.rows if side == "query" else self.columns
            position = int(np.searchsorted(shown, index))
            if position == len(shown) or shown[position] != index:
                return None
            token = (position, position + 1)
            ranges = (token, (0, n_key)) if side == "query" else ((0, n_query), token)
            values = [one.blocks(*ranges, 1).reshape(-1) for one in self.maps]
        return {
            "heads": [list(head) for head in self.heads],
            "side": side,
            "at": position,
            "step": 1,
            "values": to_wire(np.stack(values)),
            "first": None,
            "links": None,
        }

    def _mean_row(self, one: PartedMap) -> Float32Array:
        n_query, n_key = self.size
        sums = np.zeros(n_key, np.float64)
        rows = max(1, _MEAN_CELLS // n_key)
        for start in range(0, n_query, rows):
            part = one.blocks((start, min(n_query, start + rows)), (0, n_key), 1)
            sums += np.nan_to_num(part).sum(axis=0, dtype=np.float64)
        mean: Float32Array = (sums / n_query).astype(np.float32)
        return mean

    def window_to(self, side: str, index: int) -> MapWindow:
        """Where a token is read: round it, and round the strongest of its other side.

        A window on the whole axes.
        """
        n_query, n_key = self.size
        one = self.maps[0]
        if side == "query":
            query = int(np.searchsorted(self.rows, index))
            row = np.abs(np.nan_to_num(one.blocks((query, query + 1), (0, n_key), 1)[0]))
            if self._apart:
                row[0] = 0
            key = int(row.argmax())
        else:
            key = int(np.searchsorted(self.columns, index))
            column = one.blocks((0, n_query), (key, key + 1), 1)[:, 0]
            query = int(np.abs(np.nan_to_num(column)).argmax())
        q0, q1 = _round(query, n_query)
        k0, k1 = _round(key, n_key)
        rows, columns = self.rows, self.columns
        return int(rows[q0]), int(rows[q1 - 1]) + 1, int(columns[k0]), int(columns[k1 - 1]) + 1

    def _links(self, one: PartedMap, within: MapWindow, count: int) -> list[CellValue]:
        """The strongest links of a part.

        Links to the first key, links of the first queries, and links of a token to itself are left
        out, as far as the part has others. Such links are strong in most heads and say little about
        a head.
        """
        if 0 in self.size:
            return []
        q0, q1, k0, k1 = within
        first = 1 if self._apart else 0
        part = (max(q0, min(_FIRST, q1 - 1)), q1, max(k0, min(first, k1 - 1)), k1)
        return one.links(part, count, diagonal=self.is_cross)


def shown_places(
    axes: tuple[Tokens, Tokens], hidden: Collection[str], sentences: str
) -> tuple[CellPlaces, CellPlaces, CellPlaces]:
    """The queries and keys that are shown, and the keys that are hidden.

    `hidden` are kinds of special tokens; `sentences` is "all", or as "ab" from A to B.

    Example:
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.head_view.long_maps import shown_places
        >>> axis = Tokens.plain(["[CLS]", "who", "[SEP]"])
        >>> rows, columns, hidden = shown_places((axis, axis), ["cls"], "all")
        >>> rows.tolist(), hidden.tolist()
        ([1, 2], [0])
    """
    filtered = sentences != "all" and all({0, 1} <= {*axis.segments} for axis in axes)
    hides = [np.array([kind in hidden for kind in axis.special], bool) for axis in axes]
    shown = [~of for of in hides]
    if filtered:
        for at, axis, sentence in zip(shown, axes, sentences, strict=True):
            at &= np.array(axis.segments) == "ab".index(sentence)
    rows, columns = (np.flatnonzero(at) for at in shown)
    return rows, columns, np.flatnonzero(hides[1])


def places_of(tokens: Tokens, text: str) -> list[int]:
    """Return the position of a token or word with this text in any case, or containing this text.

    Example:
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.head_view.long_maps import places_of
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


def _round(place: int, count: int) -> IndexRange:
    start = max(0, min(count - _AROUND, place - _AROUND // 2))
    return start, min(count, start + _AROUND)


def _is(text: str, wanted: str) -> bool:
    return text.strip().casefold().removeprefix("##") == wanted


def _step(queries: IndexRange, keys: IndexRange, cells: int) -> int:
    """The smallest power of two of which no more than so many blocks are touched."""
    step = 1
    while any(-(-end // step) - start // step > cells for start, end in (queries, keys)):
        step *= 2
    return step


def _widened(start: int, end: int, count: int, step: int, most: int) -> IndexRange:
    """Return whole blocks, with as many neighbors as a tile can hold for panning."""
    first = start // step
    last = -(-end // step)
    every = -(-count // step)
    first = max(0, min(first - (most - (last - first)) // 2, every - most))
    return first * step, min(count, min(every, first + most) * step)


def _without_first(
    one: PartedMap, queries: IndexRange, keys: IndexRange, step: int, of: LongMaps
) -> tuple[Float32Array, Float32Array | None]:
    """Blocks [rows, columns], and the first key [rows], which blocks of more than 1 leave out."""
    if 0 in of.size:
        return np.zeros(of.size, np.float32), None
    values = one.blocks(queries, keys, step)
    if not of._apart:
        return values, None
    first = one.blocks(queries, (0, 1), 1)[:, 0]
    if step > 1 and keys[0] == 0:
        # The first block without its first key: keys 1, 2-3, 4-7, … are blocks too.
        rest = np.full(len(values), np.nan, np.float32)
        size = 1
        while size < min(step, keys[1]):
            part = (size, min(2 * size, keys[1]))
            column = one.blocks(queries, part, size)[:, 0]
            rest = _farther(rest, _pooled(column, step // size))
            size *= 2
        values = np.concatenate([rest[:, None], values[:, 1:]], axis=1)
    return values, _pooled(first, step)


def _pooled(values: Float32Array, step: int) -> Float32Array:
    """The values of blocks farthest from 0; NaN where all of one is masked."""
    starts = range(0, len(values), step)
    return _farther(np.fmax.reduceat(values, starts), np.fmin.reduceat(values, starts))


def _farther(first: Float32Array, second: Float32Array) -> Float32Array:
    """Of two values the one farther from 0."""
    is_second = np.isnan(first) | (np.abs(second) > np.abs(first))
    farther: Float32Array = np.where(is_second, second, first)
    return farther


def _largest(values: Float32Array) -> float:
    """How far values are from 0; 0 where all are masked."""
    return float(np.abs(np.nan_to_num(values)).max(initial=0))
