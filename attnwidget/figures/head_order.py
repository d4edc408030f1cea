"""Which head stands in which cell of a grid of heads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.figures.printed import figures


@dataclass(frozen=True, eq=False)
class HeadMetric:
    """A number of each head, the order that it gives and the heads that it filters out.

    Args:
        title: its name.
        values: float32 [L, H].
        sort: "none", "rows" (the heads of each layer) or "all".
        descending: the largest first.
        filter: smallest and largest value of the heads that pass; None for all.
        outside: what becomes of the others: "dim" or "remove".
    """

    title: str
    values: NDArray[np.float32]
    sort: str = "none"
    descending: bool = True
    filter: tuple[float, float] | None = None
    outside: str = "dim"

    @property
    def passes(self) -> NDArray[np.bool_]:
        """[L, H] True where a head passes the filter, compared in float32 as on the page."""
        if self.filter is None:
            return np.ones(self.values.shape, dtype=bool)
        low, high = map(np.float32, self.filter)
        inside: NDArray[np.bool_] = (self.values >= low) & (self.values <= high)
        return inside

    @property
    def range(self) -> tuple[float, float]:
        """The two ends of the bars: 0 and the farthest value, or both where signs differ."""
        return min(0.0, float(self.values.min())), max(0.0, float(self.values.max()))

    @property
    def sorting(self) -> str:
        """How heads are sorted, in words; "" where they are not."""
        return "" if self.sort == "none" else f"{self.title}, {self._first} first →"

    @property
    def _first(self) -> str:
        return "largest" if self.descending else "smallest"

    def notes(self) -> list[str]:
        """What a caption says of the metric: its bars, the order and the filter."""
        low, high = self.range
        notes = [f"bars: {self.title}, {figures(low)} to {figures(high)}"]
        if self.sort != "none":
            heads = "all heads" if self.sort == "all" else "heads of each layer"
            notes.append(f"{heads} by {self.title}, {self._first} first")
        if self.filter is not None:
            low, high = self.filter
            others = "dimmed" if self.outside == "dim" else "removed"
            kept = f"{int(self.passes.sum())} of {self.values.size} heads"
            notes.append(f"{kept} have {figures(low)} to {figures(high)}, the others {others}")
        return notes


def ordered_heads(shape: tuple[int, int], metric: HeadMetric | None) -> NDArray[np.int64]:
    """The head in each cell as layer * H + head, int64 [rows, H]; -1 in an empty cell.

    `shape` is (L, H). Of heads with equal values the first comes first.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.head_order import HeadMetric, ordered_heads
        >>> metric = HeadMetric("entropy", np.array([[1, 3], [2, 0]], np.float32), sort="all")
        >>> ordered_heads((2, 2), metric).tolist()
        [[1, 2], [0, 3]]
    """
    n_layers, n_heads = shape
    heads = np.arange(n_layers * n_heads)
    if metric is None:
        return heads.reshape(shape)
    stays = metric.passes.ravel() | (metric.outside == "dim")
    if metric.sort == "none":
        return np.where(stays, heads, -1).reshape(shape)
    keys = metric.values.ravel().astype(np.float64) * (-1 if metric.descending else 1)
    rows = []
    for group in [heads] if metric.sort == "all" else list(heads.reshape(shape)):
        kept = group[stays[group]]
        kept = kept[np.argsort(keys[kept], kind="stable")]
        n_cells = -(-len(kept) // n_heads) or int(metric.sort == "rows")
        rows.append(np.pad(kept, (0, n_cells * n_heads - len(kept)), constant_values=-1))
    return np.concatenate(rows).reshape(-1, n_heads)
