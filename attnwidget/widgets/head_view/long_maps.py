"""Maps of a long input, and the parts of them that the page receives."""

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

#: Maximum number of cells per side: in a tile of a few maps, in a tile of many maps, and in an
#: overview.
TILE = 256
TILE_OF_MANY = 128
OVERVIEW = 128
# Maximum number of maps with large tiles.
_FEW = 3
# Maximum number of values in a query's row.
_ROW = 1024
# Number of strongest links in the list, drawn as lines, and in one row.
_LISTED = 20
_DRAWN = 300
_OF_ROW = 8
# Number of cells that are summed at a time.
_MEAN_CELLS = 2**20
# Number of tokens in the window around a search match.
_AROUND = 32
# Number of first queries whose links are not listed. In a causal model these queries see few
# keys, so that their weights are always large.
_FIRST = 16


@dataclass(frozen=True, eq=False)
class LongMaps:
    """Maps of equal size: of one head, of several heads, or of one head in two attentions.

    Messages to the page count the visible queries and keys from 0. The first key of the input has
    large weights in most heads. It is therefore left out of blocks and is sent separately as
    `first`, which is None if the first key is hidden.

    Attributes:
        heads: Heads of the maps.
        maps: One map per head; for two attentions, both maps and their difference.
        rows: Positions of the visible queries.
        columns: Positions of the visible keys.
        is_cross: Whether queries and keys come from different texts, so that no token attends to
            itself.
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
        """Numbers of visible queries and keys."""
        return len(self.rows), len(self.columns)

    @property
    def _apart(self) -> bool:
        """True if the first key of the input is visible and is sent separately."""
        return bool(len(self.columns) > 1 and self.columns[0] == 0)

    def part_of(self, window: MapWindow | None) -> MapWindow:
        """Return the visible queries and keys in a window on the whole axes; all if it is empty."""
        whole_map = (0, len(self.rows), 0, len(self.columns))
        if window is None:
            return whole_map
        q0, q1 = (int(index) for index in np.searchsorted(self.rows, window[:2]))
        k0, k1 = (int(index) for index in np.searchsorted(self.columns, window[2:]))
        return (q0, q1, k0, k1) if q0 < q1 and k0 < k1 else whole_map

    def overview_to_wire(self) -> dict[str, Any]:
        """Return an overview: values of at most 128 x 128 blocks, and the strongest links."""
        n_query, n_key = self.size
        step = _step((0, n_query), (0, n_key), OVERVIEW)
        blocks = [
            _without_first(one_map, (0, n_query), (0, n_key), step, self) for one_map in self.maps
        ]
        return {
            "complete": False,
            "heads": [list(head) for head in self.heads],
            "stack": self.heads[-1].stack,
            "n_query": n_query,
            "n_key": n_key,
            "step": step,
            **self._stacked(blocks),
            "maxima": [_largest(values) for values, _ in blocks],
            "links": [
                self._links(one_map, (0, n_query, 0, n_key), _LISTED) for one_map in self.maps
            ],
            "shares": [float(np.mean(share)) for share in zip(*self._shares(), strict=True)],
        }

    def _shares(self) -> list[tuple[float, float]]:
        # The third map of two attentions is their difference, which has no shares.
        return [one_map.shares for one_map in self.maps[: len(self.heads)]]

    def tile_to_wire(self, window: MapWindow | None, *, lines: bool) -> dict[str, Any]:
        """Return the visible part, extended on all sides to at most 256 x 256 cells.

        A cell is a block of `step` x `step` queries and keys, where `step` is a power of two. With
        a step of 1, the tile has all weights.

        Args:
            window: Visible part on the whole axes; None = the whole map.
            lines: Whether to add the strongest visible links.
        """
        part = q0, q1, k0, k1 = self.part_of(window)
        max_cells = TILE if len(self.maps) <= _FEW else TILE_OF_MANY
        step = _step((q0, q1), (k0, k1), max_cells)
        queries = _widened(q0, q1, len(self.rows), step, max_cells)
        keys = _widened(k0, k1, len(self.columns), step, max_cells)
        blocks = [_without_first(one_map, queries, keys, step, self) for one_map in self.maps]
        links = [self._links(one_map, part, _DRAWN) for one_map in self.maps] if lines else None
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
        """Return the blocks [maps, rows, columns] and the first keys [maps, rows] of all maps."""
        firsts = [first for _, first in blocks if first is not None]
        return {
            "values": to_wire(np.stack([values for values, _ in blocks])),
            "first": to_wire(np.stack(firsts)) if firsts else None,
        }

    def row_to_wire(self, index: int) -> dict[str, Any] | None:
        """Return a query's values to all keys as at most 1,024 maxima; None if it is hidden."""
        query = int(np.searchsorted(self.rows, index))
        if query == len(self.rows) or self.rows[query] != index:
            return None
        n_key = len(self.columns)
        step = -(-n_key // _ROW)
        pooled = []
        firsts = []
        links = []
        for one_map in self.maps:
            row = one_map.blocks((query, query + 1), (0, n_key), 1)[0].copy()
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

        The values are not pooled, because rows of patches follow each other on the axis of a
        picture. Maxima of neighboring keys would mix the end of one row with the start of the next.

        Args:
            side: "query" for a query's row, "key" for a key's column.
            index: Position of the token on the whole axis; None = the mean over all queries, in
                which masked cells count as 0.

        Returns:
            The values, or None if the token is hidden.
        """
        n_query, n_key = self.size
        if 0 in self.size:
            return None
        position: int | None = None
        if index is None:
            values = [self._mean_row(one_map) for one_map in self.maps]
        else:
            visible = self.rows if side == "query" else self.columns
            position = int(np.searchsorted(visible, index))
            if position == len(visible) or visible[position] != index:
                return None
            token = (position, position + 1)
            ranges = (token, (0, n_key)) if side == "query" else ((0, n_query), token)
            values = [one_map.blocks(*ranges, 1).reshape(-1) for one_map in self.maps]
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
        """Return a window around a token and around its strongest link on the other side.

        Args:
            side: "query" or "key".
            index: Position of the token on the whole axis.

        Returns:
            The window on the whole axes.
        """
        n_query, n_key = self.size
        first_map = self.maps[0]
        if side == "query":
            query = int(np.searchsorted(self.rows, index))
            row = np.abs(np.nan_to_num(first_map.blocks((query, query + 1), (0, n_key), 1)[0]))
            if self._apart:
                row[0] = 0
            key = int(row.argmax())
        else:
            key = int(np.searchsorted(self.columns, index))
            column = first_map.blocks((0, n_query), (key, key + 1), 1)[:, 0]
            query = int(np.abs(np.nan_to_num(column)).argmax())
        q0, q1 = _round(query, n_query)
        k0, k1 = _round(key, n_key)
        rows, columns = self.rows, self.columns
        return int(rows[q0]), int(rows[q1 - 1]) + 1, int(columns[k0]), int(columns[k1 - 1]) + 1

    def _links(self, one: PartedMap, within: MapWindow, count: int) -> list[CellValue]:
        """Return the strongest links of a part.

        Links to the first key, from the first queries and from a token to itself are left out if
        the part has other links. They are strong in most heads and say little about a head.
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
    """Return the positions of the visible queries, visible keys and hidden keys.

    Args:
        axes: Queries and keys.
        hidden: Kinds of special tokens that are hidden.
        sentences: "all", or for example "ab" for attention from sentence A to sentence B.

    Example:
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.head_view.long_maps import shown_places
        >>> axis = Tokens.plain(["[CLS]", "who", "[SEP]"])
        >>> rows, columns, hidden = shown_places((axis, axis), ["cls"], "all")
        >>> rows.tolist(), hidden.tolist()
        ([1, 2], [0])
    """
    filtered = sentences != "all" and all({0, 1} <= {*axis.segments} for axis in axes)
    is_hidden = [np.array([kind in hidden for kind in axis.special], bool) for axis in axes]
    is_visible = [~mask for mask in is_hidden]
    if filtered:
        for mask, axis, sentence in zip(is_visible, axes, sentences, strict=True):
            mask &= np.array(axis.segments) == "ab".index(sentence)
    rows, columns = (np.flatnonzero(mask) for mask in is_visible)
    return rows, columns, np.flatnonzero(is_hidden[1])


def places_of(tokens: Tokens, text: str) -> list[int]:
    """Return the positions of tokens or words that equal a text, or else contain it.

    Args:
        tokens: Tokens to search.
        text: Text to look for; upper and lower case are the same.

    Example:
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.head_view.long_maps import places_of
        >>> tokens = Tokens.plain(["The", "cat", "scat", "##ters", "the", "cats"])
        >>> places_of(tokens, "the"), places_of(tokens, "scatters"), places_of(tokens, "at")
        ([0, 4], [2], [1, 2, 5])
    """
    query = text.strip().casefold()
    if not query:
        return []
    groups = tokens.word_groups()
    words = tokens.to_words().text
    starts = {group[0] for group, word in zip(groups, words, strict=True) if _is(word, query)}
    exact = starts | {i for i, token in enumerate(tokens.text) if _is(token, query)}
    partial = (i for i, token in enumerate(tokens.text) if query in token.casefold())
    return sorted(exact) or list(partial)


def next_of(places: Sequence[int], after: int, step: int) -> int:
    """Return the next or previous place, and wrap around at the end.

    Args:
        places: Places in ascending order.
        after: Place to start from.
        step: 1 for the next place, -1 for the previous one.
    """
    beyond = [place for place in places if (place - after) * step > 0]
    candidates = beyond or places
    return candidates[0] if step > 0 else candidates[-1]


def _round(place: int, count: int) -> IndexRange:
    start = max(0, min(count - _AROUND, place - _AROUND // 2))
    return start, min(count, start + _AROUND)


def _is(text: str, wanted: str) -> bool:
    return text.strip().casefold().removeprefix("##") == wanted


def _step(queries: IndexRange, keys: IndexRange, cells: int) -> int:
    """Return the smallest power of two with which at most `cells` blocks per side are touched."""
    step = 1
    while any(-(-end // step) - start // step > cells for start, end in (queries, keys)):
        step *= 2
    return step


def _widened(start: int, end: int, count: int, step: int, most: int) -> IndexRange:
    """Return a range of whole blocks, extended to tile size for panning."""
    first = start // step
    last = -(-end // step)
    n_blocks = -(-count // step)
    first = max(0, min(first - (most - (last - first)) // 2, n_blocks - most))
    return first * step, min(count, min(n_blocks, first + most) * step)


def _without_first(
    one: PartedMap, queries: IndexRange, keys: IndexRange, step: int, of: LongMaps
) -> tuple[Float32Array, Float32Array | None]:
    """Return blocks [rows, columns] and the first key [rows], which large blocks leave out."""
    if 0 in of.size:
        return np.zeros(of.size, np.float32), None
    values = one.blocks(queries, keys, step)
    if not of._apart:
        return values, None
    first = one.blocks(queries, (0, 1), 1)[:, 0]
    if step > 1 and keys[0] == 0:
        # Combine the first block without its first key from the blocks of keys 1, 2-3, 4-7, …
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
    """Return the value farthest from 0 in each block; NaN if the whole block is masked."""
    starts = range(0, len(values), step)
    return _farther(np.fmax.reduceat(values, starts), np.fmin.reduceat(values, starts))


def _farther(first: Float32Array, second: Float32Array) -> Float32Array:
    """Return the value that is farther from 0, for each pair of values."""
    is_second = np.isnan(first) | (np.abs(second) > np.abs(first))
    farther: Float32Array = np.where(is_second, second, first)
    return farther


def _largest(values: Float32Array) -> float:
    """Return the largest distance from 0; 0 if all values are masked."""
    return float(np.abs(np.nan_to_num(values)).max(initial=0))
