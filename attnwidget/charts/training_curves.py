"""A value of every head over the checkpoints of a training, one panel per layer."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, in_order, inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.spaced_ticks import evenly_placed, spaced_ticks
from attnwidget.charts.theme import LIGHT, PADDING, WIDTH, panel_width, publication, text_width

_HEIGHT = 110
"""Pixels of a panel."""
_PANEL = 120
"""Pixels of a panel with the space beside it at least."""
_MOST = 4
"""Panels in a row at most."""
_GAP = 12
_AXIS = 48
"""Pixels of the y axis at the left of each row."""
_MARKED = 8
"""Checkpoints up to which the lines of heads have points."""


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
    columns = min(_MOST, max(1, int(width - 2 * PADDING - _AXIS) // _PANEL))
    names = [str(name) for name in in_order(table["checkpoint"])]
    # Half of the first and half of the last label stand beside the plot.
    beside = (text_width(names[0]) + text_width(names[-1])) / 2
    plot = panel_width(width - _AXIS, columns, gap=_GAP, axis=beside)
    drawn = [names[i] for i in spaced_ticks(names, evenly_placed(len(names), plot))]
    along = alt.X(
        "checkpoint:N",
        title=None,
        sort=names,
        axis=alt.Axis(values=drawn, labelOverlap=False, labelFlush=False),
    )
    low = min(0.0, table["value"].min())
    high = max(0.0, table["value"].max())
    scale = alt.Scale(domain=[low, high] if high > low else [0, 1])
    tooltip = ["checkpoint:N", alt.Tooltip("value:Q", title=value_title, format=NUMBER)]
    panels = []
    is_marked = len(names) <= _MARKED
    marks = {"size": 12, "color": LIGHT.muted} if is_marked else False
    size = 30 if is_marked else 12
    for number, (layer, rows) in enumerate(table.groupby("layer")):
        # All panels have one scale, so the first of a row names its values.
        is_first = number % columns == 0
        named = alt.Axis() if is_first else alt.Axis(labels=False, title=None)
        value = alt.Y("value:Q", title=value_title if is_first else None, scale=scale, axis=named)
        means = rows.groupby("checkpoint", sort=False)["value"].mean().reset_index()
        heads = alt.Chart(inline(rows)).mark_line(
            strokeWidth=1, opacity=0.4, color=LIGHT.muted, point=marks
        )
        heads = heads.encode(
            x=along,
            y=value,
            detail="name:N",
            tooltip=[alt.Tooltip("name:N", title="head"), *tooltip],
        )
        mean = alt.Chart(inline(means)).mark_line(
            strokeWidth=2, color=LIGHT.series[0], point={"size": size, "color": LIGHT.series[0]}
        )
        panel = heads + mean.encode(x=along, y=value, tooltip=tooltip)
        panels.append(panel.properties(title=f"L{layer}", width=plot, height=_HEIGHT))
    return offline(publication(alt.concat(*panels, columns=columns, spacing=_GAP), title, width))
