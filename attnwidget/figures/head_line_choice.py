"""Which lines of a head are drawn, and in what order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_LINES = 12_000
"""More lines in sight than this cannot be told apart."""


@dataclass(frozen=True, eq=False)
class HeadLines:
    """Lines to draw, the weakest first.

    Args:
        query: int64 [n] rows of the map.
        key: int64 [n] columns.
        level: uint8 [n] entries of the colour table.
        left_out: weaker lines in sight that are not among them.
    """

    query: NDArray[np.int64]
    key: NDArray[np.int64]
    level: NDArray[np.uint8]
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.level)


def row_cutoffs(values: NDArray[np.float64], mass: float) -> NDArray[np.float64]:
    """The value from which on each row's lines are drawn, so that they make up `mass` of the row.

    `values` is [Q, K]; returns [Q].

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.head_line_choice import row_cutoffs
        >>> row_cutoffs(np.array([[0.5, 0.3, 0.2]]), 0.7).tolist()
        [0.3]
    """
    if mass >= 1:
        return np.zeros(len(values))
    ordered = -np.sort(-np.nan_to_num(values, nan=0.0), axis=1)
    sums = ordered.cumsum(axis=1)
    wanted = mass * sums[:, -1:] * (1 - 1e-6)
    first = np.minimum((sums < wanted).sum(axis=1), values.shape[1] - 1)
    cutoffs = ordered[np.arange(len(ordered)), first]
    return np.where((mass <= 0) | (ordered[:, 0] == 0), np.inf, cutoffs)


def lines_in_sight(
    values: NDArray[np.float64],
    levels: NDArray[np.uint8],
    cutoffs: NDArray[np.float64],
    sight: range,
    focus: tuple[Sequence[int], Sequence[int]] | None = None,
) -> HeadLines:
    """The lines with at least one end in sight; with `focus`, only those of its tokens.

    `values` and `levels` are [Q, K], `cutoffs` [Q], `sight` the positions in sight on both axes;
    `focus` holds queries and keys. At most `MOST_LINES`, the strongest.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.head_line_choice import lines_in_sight
        >>> values = np.array([[0.9, 0.1], [0.4, 0.6]])
        >>> lines = lines_in_sight(values, (255 * values).astype("u1"), np.zeros(2), range(2))
        >>> lines.query.tolist(), lines.key.tolist()
        ([0, 1, 1, 0], [1, 0, 1, 0])
    """
    kept = (values > 0) & (values >= cutoffs[:, None]) & (levels > 0)
    rows, columns = (np.arange(n) for n in values.shape)
    in_sight = [(p >= sight.start) & (p < sight.stop) for p in (rows, columns)]
    kept &= in_sight[0][:, None] | in_sight[1]
    if focus is not None:
        kept &= np.isin(rows, focus[0])[:, None] | np.isin(columns, focus[1])
    query, key = np.nonzero(kept)
    order = np.argsort(levels[query, key], kind="stable")
    left_out = max(0, len(order) - MOST_LINES)
    query, key = query[order[left_out:]], key[order[left_out:]]
    return HeadLines(query, key, levels[query, key], left_out)
