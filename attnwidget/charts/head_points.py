"""Values of the heads of a layer as points, with one row per quantity."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import colors, legend_columns, ordered
from attnwidget.charts.theme import WIDTH, fitted, publication, text_width

_LINE = 12
"""Height of the points of one series in pixels."""
_GAP = 6
"""Gap between two rows in pixels."""
_MEAN = "M0,-1V1"
"""SVG path of the vertical stroke of a mean."""


def head_points(
    frame: pd.DataFrame, *, title: str, value_title: str, width: int = WIDTH
) -> alt.LayerChart:
    """Draw one row per quantity, with a point per head and a stroke at the mean of each series.

    This is Kovaleva et al. 2019, Figure 7, for several series, such as before and after
    fine-tuning. A point per head shows whether all heads changed or a single one.

    Args:
        frame: Table with the columns row (the quantity), series, layer and head (from 0), and
            value; rows without a value are left out.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit of the values.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing, or if there are more series than colors.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.head_points import head_points
        >>> frame = pd.DataFrame({"row": "NOUN", "series": ["before", "after"], "layer": 5,
        ...                       "head": 0, "value": [0.2, 0.3]})
        >>> len(head_points(frame, title="Nouns", value_title="weight").layer)
        2
    """
    table = checked(frame, ["row", "series", "layer", "head", "value"], "head_points")
    names = ordered(table["series"])
    series = colors(names, "head_points", lines=True)
    labels = max(map(text_width, table["row"]))
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=legend_columns(names, width - labels),
    )
    rows = list(dict.fromkeys(table["row"]))
    y = alt.Y("row:N", sort=rows, title=None, axis=alt.Axis(ticks=False, grid=True, labelPadding=8))
    offset = alt.YOffset("series:N", scale=alt.Scale(domain=names))
    x = alt.X("value:Q", title=value_title, axis=alt.Axis(grid=False))
    color = alt.Color("series:N", scale=series, legend=legend)
    means = table.groupby(["row", "series"], sort=False, as_index=False).agg(
        value=("value", "mean")
    )
    points = alt.Chart(inline(table.assign(name=row_names(table)))).mark_point(
        filled=True, size=22, opacity=0.7
    )
    tooltip = [alt.Tooltip("row:N"), alt.Tooltip("series:N")]
    value = alt.Tooltip("value:Q", title=value_title, format=NUMBER)
    points = points.encode(
        x=x,
        y=y,
        yOffset=offset,
        color=color,
        tooltip=[alt.Tooltip("name:N", title="head"), *tooltip, value],
    )
    strokes = alt.Chart(inline(means)).mark_point(
        shape=_MEAN, size=180, strokeWidth=2.5, opacity=1, filled=False
    )
    strokes = strokes.encode(x=x, y=y, yOffset=offset, color=color, tooltip=[*tooltip, value])
    chart = alt.LayerChart(layer=[points, strokes])
    sized = fitted(chart, width, len(rows) * (_LINE * len(names) + _GAP))
    return offline(publication(sized, title, width))
