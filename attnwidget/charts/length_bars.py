"""Bar chart of the mean length of tree edges by relation."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LABEL, LIGHT, WIDTH, panel_width, publication, text_width

_ROW = 18
_BESIDE = 90
"""Width of the ticks and the number after a bar, in pixels."""


def length_bars(
    frame: pd.DataFrame, *, title: str, value_title: str, width: int = WIDTH
) -> alt.VConcatChart:
    """Draw one bar per relation with its interval, and a dashed line at the length 1.

    Args:
        frame: Table with the columns relation, n (edges), length, low and high; one row per bar.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.length_bars import length_bars
        >>> frame = pd.DataFrame({"relation": ["flat", "obj"], "n": [31, 52],
        ...                       "length": [1.1, 1.5], "low": [1.0, 1.4], "high": [1.2, 1.6]})
        >>> len(length_bars(frame, title="Edges", value_title="length").vconcat)
        1
    """
    table = checked(frame, ["relation", "n", "length", "low", "high"], "length_bars")
    table = table.astype({"n": int, "low": float, "high": float})
    table["name"] = [f"{row.relation} ({row.n:,})" for row in table.itertuples()]
    table["end"] = table["high"].fillna(table["length"])
    names = list(table["name"])
    plot = panel_width(width, 1, gap=0, axis=max(map(text_width, names)) + _BESIDE)
    base = alt.Chart(inline(table)).encode(y=alt.Y("name:N", title=None, sort=names))
    tooltip = [
        alt.Tooltip("relation:N"),
        alt.Tooltip("n:Q", title="edges", format=","),
        *(alt.Tooltip(f"{column}:Q", format=".2f") for column in ("length", "low", "high")),
    ]
    axis = alt.Axis(grid=True, tickCount=5)
    bars = base.mark_bar(height=_ROW - 6, color=LIGHT.accent).encode(
        x=alt.X("length:Q", title=value_title, axis=axis, scale=alt.Scale(zero=True)),
        tooltip=tooltip,
    )
    ends = base.mark_rule(color=LIGHT.text, strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    numbers = base.mark_text(align="left", dx=6, fontSize=LABEL, color=LIGHT.text).encode(
        x="end:Q", text=alt.Text("length:Q", format=".2f")
    )
    one = alt.Chart(alt.InlineData(values=[{"length": 1.0}]))
    line = one.mark_rule(color=LIGHT.text, strokeDash=[4, 3]).encode(x="length:Q")
    chart = alt.LayerChart(layer=[bars, line, ends, numbers])
    panel = chart.properties(width=plot, height=_ROW * len(names))
    return offline(publication(alt.vconcat(panel), title, width))
