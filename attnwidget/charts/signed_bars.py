"""Signed parts of a sum, as bars to the right and to the left of zero."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.named_rows import row_keys, rows_by_key
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, fitted, publication

_STEP = 18
"""Row height of each part in pixels."""


def signed_bars(
    frame: pd.DataFrame, *, title: str, value_title: str, stroke_title: str = "", width: int = WIDTH
) -> alt.LayerChart:
    """Draw a bar from zero to the value of each part, in the order of the frame.

    Args:
        frame: Table with the columns part, the name of a row, and value. Numbers in an optional
            column stroke are drawn as vertical strokes; NaN = no stroke.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit of the values.
        stroke_title: Quantity of the strokes.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.signed_bars import signed_bars
        >>> frame = pd.DataFrame({"part": ["L0 H1", "MLP"], "value": [1.5, -0.5]})
        >>> len(signed_bars(frame, title="Effects", value_title="logit").layer)
        2
    """
    table = checked(frame, ["part", "value"], "signed_bars")
    # Two parts may be the same token, so give each part a separate row.
    table["row"] = row_keys(list(table["part"]))
    base = alt.Chart(inline(table)).encode(y=rows_by_key(160))
    value = alt.Tooltip("value:Q", title=value_title, format=NUMBER)
    color = alt.condition(alt.datum.value < 0, alt.value(LIGHT.wrong), alt.value(LIGHT.right))
    bars = base.mark_bar(height=_STEP - 6).encode(
        x=alt.X("value:Q", title=value_title, axis=alt.Axis(grid=True)),
        color=color,
        tooltip=[alt.Tooltip("part:N"), value],
    )
    zero = alt.Chart(alt.InlineData(values=[{"value": 0.0}])).mark_rule(color=LIGHT.text)
    chart_layers = [bars, zero.encode(x=alt.X("value:Q", title=value_title))]
    if "stroke" in frame.columns:
        table["stroke"] = frame.loc[frame["value"].notna(), "stroke"].astype(float).to_numpy()
        stroke = alt.Tooltip("stroke:Q", title=stroke_title, format=NUMBER)
        ticks = alt.Chart(inline(table.dropna())).mark_tick(
            color=LIGHT.text, thickness=2, size=_STEP - 2
        )
        chart_layers.append(
            ticks.encode(
                y=alt.Y("row:N", sort=None), x="stroke:Q", tooltip=[alt.Tooltip("part:N"), stroke]
            )
        )
    chart = fitted(alt.LayerChart(layer=chart_layers), width, alt.Step(_STEP))
    return offline(publication(chart, title, width))
