"""Change of an answer by window of layers, one line with its interval per group of links."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.layer_curves import layer_axis
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import colors, dashes, legend_columns, ordered
from attnwidget.charts.theme import HEIGHT, LIGHT, WIDTH, fitted, publication


def knockout_curves(
    frame: pd.DataFrame, *, title: str, value_title: str, percent: bool, width: int = WIDTH
) -> alt.LayerChart:
    """Draw one line per group of links over the middle layers of the windows.

    Args:
        frame: Table with the columns layer (the middle of the window), series (the group), value,
            low and high. Rows without an interval are drawn without a band.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit of the values.
        percent: Whether values are shares.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing, or if there are more groups than colors.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.knockout_curves import knockout_curves
        >>> frame = pd.DataFrame({"layer": [0, 1], "series": "subject", "value": [-0.2, -0.1],
        ...                       "low": [-0.3, -0.2], "high": [-0.1, 0.0]})
        >>> chart = knockout_curves(frame, title="Cut", value_title="change", percent=True)
        >>> len(chart.layer)
        4
    """
    table = checked(frame, ["layer", "series", "value"], "knockout_curves")
    has_value = frame["value"].notna()
    for name in ("low", "high"):
        table[name] = frame.loc[has_value, name].astype(float).to_numpy()
    names = ordered(table["series"])
    series = colors(names, "knockout_curves", lines=True)
    legend = alt.Legend(
        title=None, orient="top", direction="horizontal", columns=legend_columns(names, width)
    )
    number = ".1%" if percent else ".3~g"
    signed = "datum.value == 0 ? '0%' : format(datum.value, '+.0%')"
    axis = alt.Axis(labelExpr=signed) if percent else alt.Axis()
    value = alt.Y("value:Q", title=value_title, axis=axis)
    color = alt.Color("series:N", scale=series, legend=legend)
    base = alt.Chart(inline(table)).encode(
        x=layer_axis().title("middle layer of the window"), color=color
    )
    tooltip = [
        alt.Tooltip("series:N", title="links to"),
        alt.Tooltip("layer:O", title="middle layer"),
        alt.Tooltip("value:Q", title=value_title, format=number),
        alt.Tooltip("low:Q", format=number),
        alt.Tooltip("high:Q", format=number),
    ]
    bands = base.transform_filter("isValid(datum.low)").mark_area(opacity=0.15)
    lines = base.mark_line(strokeWidth=1.5).encode(
        y=value,
        strokeDash=alt.StrokeDash("series:N", scale=dashes(names), legend=legend),
    )
    points = base.mark_point(filled=True, size=22, opacity=1).encode(y=value, tooltip=tooltip)
    zero = alt.Chart(alt.InlineData(values=[{"value": 0.0}])).mark_rule(color=LIGHT.muted)
    layers = [
        zero.encode(y=value),
        bands.encode(y=alt.Y("low:Q", title=value_title), y2="high:Q"),
        lines,
        points,
    ]
    chart = fitted(alt.LayerChart(layer=layers), width, HEIGHT)
    return offline(publication(chart, title, width))
