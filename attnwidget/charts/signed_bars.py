"""Parts of a sum, as bars to the right and to the left of zero."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.named_rows import row_keys, rows_by_key
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, fitted, publication

_STEP = 18
"""Pixels of a part's row."""


def signed_bars(
    frame: pd.DataFrame, *, title: str, value_title: str, stroke_title: str = "", width: int = WIDTH
) -> alt.LayerChart:
    """Draw a bar from zero to the value of each part, in the order of the frame.

    Args:
        frame: columns part, the name of a row, and value; optionally a column stroke, whose numbers
            are drawn as upright strokes, NaN for no stroke.
        title: what is shown; further lines become the subtitle.
        value_title: quantity and unit of the values.
        stroke_title: the quantity of the strokes.
        width: pixels of the whole figure.

    Raises:
        ValueError: a column or every value is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.signed_bars import signed_bars
        >>> frame = pd.DataFrame({"part": ["L0 H1", "MLP"], "value": [1.5, -0.5]})
        >>> len(signed_bars(frame, title="Effects", value_title="logit").layer)
        2
    """
    table = checked(frame, ["part", "value"], "signed_bars")
    # The same token may be two parts: each has a row of its own.
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
    layers = [bars, zero.encode(x=alt.X("value:Q", title=value_title))]
    if "stroke" in frame.columns:
        table["stroke"] = frame.loc[frame["value"].notna(), "stroke"].astype(float).to_numpy()
        stroke = alt.Tooltip("stroke:Q", title=stroke_title, format=NUMBER)
        ticks = alt.Chart(inline(table.dropna())).mark_tick(
            color=LIGHT.text, thickness=2, size=_STEP - 2
        )
        layers.append(
            ticks.encode(
                y=alt.Y("row:N", sort=None), x="stroke:Q", tooltip=[alt.Tooltip("part:N"), stroke]
            )
        )
    chart = fitted(alt.LayerChart(layer=layers), width, alt.Step(_STEP))
    return offline(publication(chart, title, width))
