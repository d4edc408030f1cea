"""Bar chart of several predictors' accuracies on the same tasks, with intervals."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LABEL, LIGHT, WIDTH, panel_width, publication, text_width

_ROW = 22
_BESIDE = 60
"""Width of the ticks and the number after a bar, in pixels."""


def accuracy_bars(frame: pd.DataFrame, *, title: str, width: int = WIDTH) -> alt.VConcatChart:
    """Draw one panel per task and one bar per predictor.

    A line shows the interval. Only the first bar has a color.

    Args:
        frame: Table with the columns task (the title of the axis), predictor, value, low and high,
            with shares from 0 to 1; rows without a value are left out.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.accuracy_bars import accuracy_bars
        >>> frame = pd.DataFrame({"task": "accuracy", "predictor": ["attention", "offset"],
        ...                       "value": [0.8, 0.7], "low": [0.7, 0.6], "high": [0.9, 0.8]})
        >>> len(accuracy_bars(frame, title="Pairs").vconcat)
        1
    """
    table = checked(frame, ["task", "predictor", "value", "low", "high"], "accuracy_bars")
    table = table.astype({"low": float, "high": float})
    # Put the number after the interval, or after the bar if there is no interval.
    table["end"] = table["high"].fillna(table["value"])
    label_width = max(map(text_width, table["predictor"]))
    plot = panel_width(width, 1, gap=0, axis=label_width + _BESIDE)
    panels = [_panel(rows, str(task), plot) for task, rows in table.groupby("task", sort=False)]
    return offline(publication(alt.vconcat(*panels, spacing=16), title, width))


def _panel(table: pd.DataFrame, task: str, width: int) -> alt.LayerChart:
    names = list(table["predictor"])
    base = alt.Chart(inline(table)).encode(y=alt.Y("predictor:N", title=None, sort=names))
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="%", grid=True, tickCount=5)
    value = alt.X("value:Q", title=task, scale=scale, axis=axis)
    first = alt.condition(
        alt.datum.predictor == names[0], alt.value(LIGHT.accent), alt.value(LIGHT.rest)
    )
    tooltip = [
        "predictor:N",
        *(alt.Tooltip(f"{k}:Q", format=".1%") for k in ("value", "low", "high")),
    ]
    bars = base.mark_bar(height=12).encode(x=value, color=first, tooltip=tooltip)
    ends = base.mark_rule(color=LIGHT.text, strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    numbers = base.mark_text(align="left", dx=6, fontSize=LABEL, color=LIGHT.text).encode(
        x="end:Q", text=alt.Text("value:Q", format=".1%")
    )
    chart = alt.LayerChart(layer=[bars, ends, numbers])
    return chart.properties(width=width, height=_ROW * len(names))
