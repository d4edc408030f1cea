"""Heat map of values between tokens."""

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
from attnwidget.charts.theme import WIDTH, ink_scale, publication


def token_heatmap(
    values: ArrayLike,
    query: Sequence[str],
    key: Sequence[str],
    *,
    title: str,
    value_title: str,
    row_title: str = "attending token",
    column_title: str = "attended token",
    width: int = WIDTH,
) -> alt.Chart:
    """Draw non-negative values between tokens, with one row per query and one column per key.

    Values are shaded from 0, which has the background color. Cells shrink with the number of
    tokens. If cells are too small for labels, tokens are shown only in tooltips.

    Args:
        values: Values of the cells, [Q, K].
        query: Tokens of the Q rows.
        key: Tokens of the K columns.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit, above the color bar.
        row_title: Meaning of the rows.
        column_title: Meaning of the columns.
        width: Figure width in pixels.

    Raises:
        ValueError: If `values` is not [Q, K], or has a negative or infinite value or NaN.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.token_heatmap import token_heatmap
        >>> chart = token_heatmap(np.eye(1), ["a"], ["a"], title="One", value_title="weight")
        >>> chart.mark.type
        'rect'
    """
    cells = np.asarray(values, dtype=np.float64)
    if cells.shape != (len(query), len(key)) or not cells.size:
        raise ValueError(
            f"token_heatmap takes one number a query and key, [{len(query)}, {len(key)}], not "
            f"{list(cells.shape)}"
        )
    if not np.isfinite(cells).all() or (cells < 0).any():
        raise ValueError("token_heatmap takes finite values of 0 or more")
    row, column = (index.ravel() for index in np.indices(cells.shape))
    table = pd.DataFrame({"row": row, "column": column, "value": cells.ravel()})
    table["query"] = np.asarray(query, dtype=object)[row]
    table["key"] = np.asarray(key, dtype=object)[column]
    step = cell_size(cells.shape, query, value_title, width)
    chart = (
        alt.Chart(inline(table))
        .mark_rect(strokeWidth=0)
        .encode(
            x=alt.X(
                "column:O",
                axis=named_axis(key, step, column_title, labelAngle=-90, orient="top"),
            ),
            y=alt.Y("row:O", axis=named_axis(query, step, row_title)),
            color=alt.Color(
                "value:Q",
                scale=ink_scale(float(cells.max())),
                legend=color_bar(value_title),
            ),
            tooltip=["query:N", "key:N", alt.Tooltip("value:Q", title=value_title, format=NUMBER)],
        )
    )
    return offline(
        publication(chart.properties(width=alt.Step(step), height=alt.Step(step)), title, width)
    )
