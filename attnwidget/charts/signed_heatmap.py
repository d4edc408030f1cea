"""Heat map of signed values on a scale that diverges from 0."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attnwidget.charts.color_bar import color_bar
from attnwidget.charts.frame_columns import inline
from attnwidget.charts.grid_cells import cell_size, named_axis
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, publication


def signed_heatmap(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    value_title: str,
    row_title: str,
    column_title: str,
    width: int = WIDTH,
) -> alt.Chart:
    """Draw values in named rows and columns, shaded by sign and size; 0 is neutral gray.

    Args:
        values: Values of the cells, [R, C]; cells with NaN stay empty.
        rows: Names of the R rows.
        columns: Names of the C columns.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit, above the color bar.
        row_title: Meaning of the rows.
        column_title: Meaning of the columns.
        width: Figure width in pixels.

    Raises:
        ValueError: If `values` is not [R, C], has no finite value, or has an infinite value.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.signed_heatmap import signed_heatmap
        >>> chart = signed_heatmap(np.array([[1.0, -1.0]]), ["a"], ["b", "c"], title="Two",
        ...                        value_title="score", row_title="query", column_title="key")
        >>> chart.mark.type
        'rect'
    """
    cells = np.asarray(values, dtype=np.float64)
    if cells.shape != (len(rows), len(columns)):
        raise ValueError(
            f"signed_heatmap takes one number a cell, [{len(rows)}, {len(columns)}], not "
            f"{list(cells.shape)}"
        )
    if np.isinf(cells).any() or not np.isfinite(cells).any():
        raise ValueError("signed_heatmap takes finite values, at least one")
    row, column = (indices.ravel() for indices in np.indices(cells.shape))
    table = pd.DataFrame({"row": row, "column": column, "value": cells.ravel()})
    table["down"] = np.asarray(rows, dtype=object)[row]
    table["across"] = np.asarray(columns, dtype=object)[column]
    limit = float(np.nanmax(np.abs(cells))) or 1.0
    anchors = LIGHT.diverging
    domain = list(np.linspace(-limit, limit, len(anchors)))
    step = cell_size(cells.shape, rows, value_title, width)
    chart = alt.Chart(inline(table.dropna())).mark_rect(strokeWidth=0)
    chart = chart.encode(
        x=alt.X(
            "column:O",
            axis=named_axis(columns, step, column_title, labelAngle=-90, orient="top"),
            scale=alt.Scale(domain=list(range(len(columns)))),
        ),
        y=alt.Y(
            "row:O",
            axis=named_axis(rows, step, row_title),
            scale=alt.Scale(domain=list(range(len(rows)))),
        ),
        color=alt.Color(
            "value:Q",
            legend=color_bar(value_title),
            scale=alt.Scale(domain=domain, range=list(anchors), interpolate="rgb"),
        ),
        tooltip=[
            alt.Tooltip("down:N", title=row_title),
            alt.Tooltip("across:N", title=column_title),
            alt.Tooltip("value:Q", title=value_title, format=NUMBER),
        ],
    )
    chart = chart.properties(width=alt.Step(step), height=alt.Step(step))
    return offline(publication(chart, title, width))
