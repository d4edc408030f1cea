"""Outlying heads of a chart over layers, whose points are labeled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from attnwidget.charts.frame_columns import row_names
from attnwidget.charts.theme import LABEL, text_width

_FENCE = 1.5
"""Minimum distance of an outlier from the quartiles, in interquartile ranges (Tukey)."""
_LEAST = 0.25
"""Minimum distance of an outlier from its series' median, as a share of the axis."""
_MOST = 8
"""Maximum number of names in a chart."""
_MOST_IN_SERIES = 3
_GAP = 2
"""Gap between two names in pixels."""


def outstanding_heads(
    table: pd.DataFrame,
    span: Sequence[float],
    *,
    width: float,
    height: float,
    above: float | None = None,
) -> pd.DataFrame:
    """Return the heads whose values are outliers in their series, with their names.

    A value is an outlier if it is more than 1.5 interquartile ranges beyond the quartiles of its
    series, and at least a quarter of the axis from the median. The most distant values come first.
    A name that would touch an earlier name is left out.

    Args:
        table: Table with the columns layer, head, series and value.
        span: Lowest and highest value of the axis.
        width: Width of the plot in pixels.
        height: Height of the plot in pixels.
        above: Value above which every head counts as outlying; None = no such value.

    Returns:
        Rows of the table with two further columns: name, and is_right, which is True in the left
        half of the plot, where the name is to the right of its point. A name above `above` that
        would touch another one is on the other side of its point, if there is space.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.outstanding_heads import outstanding_heads
        >>> values = [0.1, 0.12, 0.11, 0.9]
        >>> table = pd.DataFrame({"layer": 0, "head": range(4), "series": "a", "value": values})
        >>> outstanding_heads(table, (0, 1), width=500, height=200)["name"].tolist()
        ['L0 H3']
    """
    groups = table.groupby("series", sort=False)["value"]
    lower_quartile, median, upper_quartile = (
        groups.transform("quantile", share) for share in (0.25, 0.5, 0.75)
    )
    fence = _FENCE * (upper_quartile - lower_quartile)
    distance = (table["value"] - median).abs()
    low, high = span
    stands_out = (table["value"] > upper_quartile + fence) | (
        table["value"] < lower_quartile - fence
    )
    stands_out &= distance >= _LEAST * (high - low)
    is_above = table["value"] > (np.inf if above is None else above)
    outliers = table.assign(away=distance, is_above=is_above)
    rank = (
        outliers[stands_out]
        .groupby("series", sort=False)["away"]
        .rank(method="first", ascending=False)
    )
    is_first = (rank <= _MOST_IN_SERIES).reindex(outliers.index, fill_value=False)
    outliers = outliers[is_first | is_above]
    outliers = outliers.sort_values(["is_above", "away"], ascending=False, kind="stable")
    outliers = outliers.drop(columns="away")
    outliers = outliers.assign(name=row_names(outliers))
    layers = sorted(table["layer"].unique())
    layer_width = width / max(1, len(layers))
    boxes: list[tuple[float, float, float]] = []
    sides: list[bool | None] = []
    for layer, value, name, must in zip(
        *(outliers[column] for column in ("layer", "value", "name", "is_above")), strict=True
    ):
        x = (layers.index(layer) + 0.5) * layer_width
        y = height * (high - value) / ((high - low) or 1.0)
        name_width = text_width(name, LABEL)
        is_right = x < width / 2
        side = None
        for to_right in (is_right, not is_right) if must else (is_right,):
            left = x if to_right else x - name_width
            box = left, left + name_width, y
            is_free = all(
                box[0] > end + _GAP or box[1] < start - _GAP or abs(y - other) > LABEL
                for start, end, other in boxes
            )
            if is_free and (must or len(boxes) < _MOST):
                side = to_right
                boxes.append(box)
                break
        sides.append(side)
    is_named = np.array([side is not None for side in sides], bool)
    named_heads = outliers[is_named].drop(columns="is_above")
    return named_heads.assign(is_right=[side for side in sides if side is not None])
