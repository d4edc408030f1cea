"""A value of every head over the checkpoints of a training, one panel per layer."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, in_order, inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, panel_width, publication

_HEIGHT = 110
"""Pixels of a panel."""
_PANELS = 4
"""Panels in a row."""
_GAP = 12
_AXIS = 48
"""Pixels that a panel's y axis takes."""


def training_curves(
    frame: pd.DataFrame, *, title: str, value_title: str, width: int = WIDTH
) -> alt.ConcatChart:
    """Draw lines over checkpoints: a thin line per head, a thick line for the mean of the layer.

    All panels have one scale.

    Args:
        frame: columns checkpoint (in the order of its rows), layer, head (both from 0) and value;
            rows without a value are left out.
        title: what is shown; further lines become the subtitle.
        value_title: the y axis: quantity and unit.
        width: pixels of the whole figure.

    Raises:
        ValueError: a column or every value is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.training_curves import training_curves
        >>> frame = pd.DataFrame({"checkpoint": ["start", "end"], "layer": 0, "head": 0,
        ...                       "value": [0.1, 0.4]})
        >>> len(training_curves(frame, title="Training", value_title="weight").concat)
        1
    """
    table = checked(frame, ["checkpoint", "layer", "head", "value"], "training_curves")
    table["name"] = row_names(table)
    along = alt.X("checkpoint:N", title=None, sort=in_order(table["checkpoint"]))  # type: ignore[arg-type]
    low = min(0.0, table["value"].min())
    high = max(0.0, table["value"].max())
    scale = alt.Scale(domain=[low, high] if high > low else [0, 1])
    value = alt.Y("value:Q", title=value_title, scale=scale)
    tooltip = ["checkpoint:N", alt.Tooltip("value:Q", title=value_title, format=NUMBER)]
    plot = panel_width(width, _PANELS, gap=_GAP, axis=_AXIS)
    panels = []
    for layer, rows in table.groupby("layer"):
        means = rows.groupby("checkpoint", sort=False)["value"].mean().reset_index()
        heads = alt.Chart(inline(rows)).mark_line(
            strokeWidth=1, opacity=0.4, color=LIGHT.muted, point={"size": 12, "color": LIGHT.muted}
        )
        heads = heads.encode(
            x=along,
            y=value,
            detail="name:N",
            tooltip=[alt.Tooltip("name:N", title="head"), *tooltip],
        )
        mean = alt.Chart(inline(means)).mark_line(
            strokeWidth=2, color=LIGHT.series[0], point={"size": 30, "color": LIGHT.series[0]}
        )
        panel = heads + mean.encode(x=along, y=value, tooltip=tooltip)
        panels.append(panel.properties(title=f"L{layer}", width=plot, height=_HEIGHT))
    return offline(publication(alt.concat(*panels, columns=_PANELS, spacing=_GAP), title, width))
