"""One head's map as it is shown: the tokens left in, the marks on them, the scale."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from attnwidget.figures.levels import levels
from attnwidget.figures.map_numbers import printer

FILTERS = {"aa": "A → A", "ab": "A → B", "ba": "B → A", "bb": "B → B"}
"""Names of the filters by sentence: from which one, to which one."""


@dataclass(frozen=True)
class MapAxis:
    """One axis of a map: an entry a token (or word).

    Args:
        labels: what is printed.
        special: "cls", "sep", "first", "other" or "".
        segments: 0 for sentence A, 1 for B.
    """

    labels: tuple[str, ...]
    special: tuple[str, ...]
    segments: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def only(self, kept: Sequence[int]) -> MapAxis:
        """The axis with some of its entries."""
        return MapAxis(
            tuple(self.labels[i] for i in kept),
            tuple(self.special[i] for i in kept),
            tuple(self.segments[i] for i in kept),
        )

    def turns(self) -> list[int]:
        """Where another sentence begins."""
        return [i for i in range(1, len(self)) if self.segments[i] != self.segments[i - 1]]


@dataclass(frozen=True, eq=False)
class VisibleMap:
    """The part of a map that is shown, and what was left out of it.

    Args:
        values: float64 [rows, columns]; NaN where masked.
        query: the axis of the rows.
        key: the axis of the columns.
        rows: the rows on the full axis.
        columns: the columns on the full axis.
        hidden_share: share of the shown rows' weight that goes to hidden tokens.
        filtered_share: share of it that goes to the sentence filtered out.
        renormalised: whether rows were made to sum to 1 again.
    """

    values: NDArray[np.float64]
    query: MapAxis
    key: MapAxis
    rows: list[int]
    columns: list[int]
    hidden_share: float = 0.0
    filtered_share: float = 0.0
    renormalised: bool = False

    @property
    def maximum(self) -> float:
        """The largest value, 0 where there is none."""
        positive = self.values[self.values > 0]
        return float(positive.max()) if positive.size else 0.0

    def strongest(
        self, count: int, *, query: int | None = None, key: int | None = None
    ) -> list[tuple[int, int, float]]:
        """Row, column and value of the largest values, of one row or column if it is named."""
        values = np.nan_to_num(self.values, nan=0.0)
        kept = np.ones(values.shape, dtype=bool)
        if query is not None:
            kept &= (np.arange(len(values)) == query)[:, None]
        if key is not None:
            kept &= np.arange(values.shape[1]) == key
        flat = np.where(kept, values, 0.0).ravel()
        # Only what can be among them is sorted.
        least = np.partition(flat, -count)[-count] if flat.size > count else 0.0
        places = np.flatnonzero((flat >= least) & (flat > 0))
        places = places[np.argsort(-flat[places], kind="stable")][:count]
        width = values.shape[1]
        return [(int(i // width), int(i % width), float(flat[i])) for i in places]


@dataclass(frozen=True, eq=False)
class OneHead:
    """All that a figure of one head draws.

    Args:
        map: the part of the head's map that is shown.
        scale: "linear", "sqrt" or "log".
        quantity: what the values are, for their numbers.
        top_mass: lines that make up this share of each row are drawn.
        locked: positions of locked tokens on the visible axes, by "query" and "key".
        lit: positions of highlighted tokens, likewise.
    """

    map: VisibleMap
    scale: str = "sqrt"
    quantity: str = "weights"
    top_mass: float = 1.0
    locked: dict[str, list[int]] = field(default_factory=lambda: {"query": [], "key": []})
    lit: dict[str, list[int]] = field(default_factory=lambda: {"query": [], "key": []})

    @property
    def is_lit(self) -> bool:
        """Whether any token is highlighted."""
        return bool(self.lit["query"] or self.lit["key"])

    def lead(self, side: str) -> int | None:
        """The token of a side whose values stand beside the other side: the last locked."""
        return self.locked[side][-1] if self.locked[side] else None

    def levels(self) -> NDArray[np.uint8]:
        """The entry of the colour table of each value, uint8 [rows, columns]."""
        return levels(self.map.values, self.map.maximum, self.scale)

    def printed(self, value: float) -> str:
        """A value as it is printed."""
        return "masked" if np.isnan(value) else printer(self.quantity)(value)

    def readout(self) -> str:
        """The locked pair with its value, or the locked token with its three largest; else ""."""
        query, key = self.lead("query"), self.lead("key")
        if query is None and key is None:
            return ""
        rows, columns = self.map.query.labels, self.map.key.labels
        if query is not None and key is not None:
            value = float(self.map.values[query, key])
            return f"{rows[query]} → {columns[key]} {self.printed(value)}"
        pairs = self.map.strongest(3, query=query, key=key)
        if query is not None:
            others = [f"{columns[c]} {self.printed(value)}" for _, c, value in pairs]
            return f"{rows[query]} → {' · '.join(others) or 'nothing'}"
        assert key is not None
        others = [f"{rows[r]} {self.printed(value)}" for r, _, value in pairs]
        return f"{columns[key]} ← {' · '.join(others) or 'nothing'}"


def two_sentences(query: MapAxis, key: MapAxis) -> bool:
    """Whether both axes hold both sentences of a pair.

    Example:
        >>> from attnwidget.figures.one_head import MapAxis, two_sentences
        >>> axis = MapAxis(("a", "b"), ("", ""), (0, 1))
        >>> two_sentences(axis, axis)
        True
    """
    return all({0, 1} <= set(axis.segments) for axis in (query, key))


def visible_map(
    values: NDArray[np.float32],
    query: MapAxis,
    key: MapAxis,
    *,
    hidden: Collection[str] = (),
    sentences: str = "all",
    renormalise: bool = False,
) -> VisibleMap:
    """A head's map without hidden tokens, of the sentences chosen, renormalised if asked.

    `values` is [Q, K] with NaN where a query may not see a key; `hidden` names kinds of special
    tokens; `sentences` is "all", or "ab" from A to B and so on, which only a pair has.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.one_head import MapAxis, visible_map
        >>> axis = MapAxis(("[CLS]", "a", "b"), ("cls", "", ""), (0, 0, 0))
        >>> shown = visible_map(np.full((3, 3), 1 / 3, np.float32), axis, axis, hidden=["cls"])
        >>> shown.values.shape, round(shown.hidden_share, 2)
        ((2, 2), 0.33)
    """
    of_pair = sentences != "all" and two_sentences(query, key)
    wanted = ["ab".index(letter) for letter in sentences] if of_pair else [None, None]
    rows, columns = (
        [
            i
            for i in range(len(axis))
            if axis.special[i] not in hidden and segment in (None, axis.segments[i])
        ]
        for axis, segment in zip((query, key), wanted, strict=True)
    )
    full = np.where(values > 0, values, 0).astype(np.float64)[rows]
    total = float(full.sum())
    gone = [i for i in range(len(key)) if key.special[i] in hidden]
    lost, sums = float(full[:, gone].sum()), full[:, columns].sum(axis=1, keepdims=True)
    renormalised = renormalise and len(columns) < len(key)
    shown = values[np.ix_(rows, columns)].astype(np.float64)
    if renormalised:
        # As the page, which keeps what it divides in float32.
        shown = (shown / np.where(sums > 0, sums, 1)).astype(np.float32).astype(np.float64)
    return VisibleMap(
        shown,
        query.only(rows),
        key.only(columns),
        rows,
        columns,
        hidden_share=lost / total if total > 0 else 0.0,
        filtered_share=max(0.0, total - lost - float(sums.sum())) / total if total > 0 else 0.0,
        renormalised=renormalised,
    )


def row_sum_range(values: NDArray[np.float32]) -> tuple[float, float]:
    """The smallest and the largest sum of a row, over rows that see any key; NaN is masked.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.one_head import row_sum_range
        >>> row_sum_range(np.array([[0.5, 0.25], [1.0, np.nan]], np.float32))
        (0.75, 1.0)
    """
    seen = ~np.isnan(values).all(axis=1)
    sums = np.nansum(values.astype(np.float64), axis=1)[seen]
    return (float(sums.min()), float(sums.max())) if sums.size else (np.inf, 0.0)


def mask_name(values: NDArray[np.float32]) -> str:
    """What a figure calls the masked cells, NaN, of a full map; "" without any.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.one_head import mask_name
        >>> mask_name(np.array([[1, np.nan], [0.5, 0.5]], np.float32))
        'causal mask'
    """
    masked = np.isnan(values)
    ahead = np.triu(np.ones(values.shape, dtype=bool), 1)
    later, earlier = bool((masked & ahead).any()), bool((masked & ~ahead).any())
    if not later and not earlier:
        return ""
    if later and not (~masked & ahead).any():
        return "causal mask, windowed" if earlier else "causal mask"
    return "masked cells hatched"
