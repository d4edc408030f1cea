"""The heads of a chart over layers that are named at their points: those far from the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from attnwidget.charts.frame_columns import row_names
from attnwidget.charts.theme import LABEL, text_width

_FENCE = 1.5
"""Interquartile ranges beyond the quartiles from which a value stands out (Tukey)."""
_LEAST = 0.25
"""Least distance of a named value from the median of its series, as a share of the axis."""
_MOST = 8
"""Names in a chart."""
_MOST_IN_SERIES = 3
_GAP = 2
"""Pixels between two names."""


def outstanding_heads(
    table: pd.DataFrame, span: Sequence[float], *, width: float, height: float
) -> pd.DataFrame:
    """Return the heads whose values stand out in their series, with a name each.

    A value stands out if it is more than 1.5 interquartile ranges beyond the quartiles of its
    series, and at least a quarter of the axis from the median. The values that are furthest away
    come first. A name that would touch an earlier name is left out.

    Args:
        table: Columns layer, head, series and value.
        span: Lowest and highest value of the axis.
        width: Pixels of the plot.
        height: Pixels of the plot.

    Returns:
        Rows of the table with the further columns name and is_right: whether the name stands to the
        right of its point, which it does in the left half of the plot.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.outstanding_heads import outstanding_heads
        >>> values = [0.1, 0.12, 0.11, 0.9]
        >>> table = pd.DataFrame({"layer": 0, "head": range(4), "series": "a", "value": values})
        >>> outstanding_heads(table, (0, 1), width=500, height=200)["name"].tolist()
        ['L0 H3']
    """
    groups = table.groupby("series", sort=False)["value"]
    quarter, middle, three = (groups.transform("quantile", share) for share in (0.25, 0.5, 0.75))
    reach = _FENCE * (three - quarter)
    away = (table["value"] - middle).abs()
    low, high = span
    stands_out = (table["value"] > three + reach) | (table["value"] < quarter - reach)
    stands_out &= away >= _LEAST * (high - low)
    found = table.assign(away=away)[stands_out]
    found = found.sort_values("away", ascending=False, kind="stable").drop(columns="away")
    found = found.groupby("series", sort=False).head(_MOST_IN_SERIES)
    found = found.assign(name=row_names(found))
    layers = sorted(table["layer"].unique())
    across = width / max(1, len(layers))
    boxes: list[tuple[float, float, float]] = []
    kept = []
    for layer, value, name in zip(found["layer"], found["value"], found["name"], strict=True):
        x = (layers.index(layer) + 0.5) * across
        y = height * (high - value) / ((high - low) or 1.0)
        room = text_width(name, LABEL)
        left = x if x < width / 2 else x - room
        box = left, left + room, y
        is_free = all(
            box[0] > end + _GAP or box[1] < start - _GAP or abs(y - other) > LABEL
            for start, end, other in boxes
        )
        kept.append(is_free and len(boxes) < _MOST)
        if kept[-1]:
            boxes.append(box)
    shown = found.loc[np.array(kept, bool)]
    middles = [(layers.index(layer) + 0.5) * across for layer in shown["layer"]]
    return shown.assign(is_right=[middle < width / 2 for middle in middles])
