"""Curves of a head metric over training checkpoints, with one panel per layer."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, in_order, inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.spaced_ticks import evenly_placed, spaced_ticks
from attnwidget.charts.theme import LIGHT, PADDING, WIDTH, panel_width, publication, text_width

_HEIGHT = 110
"""Height of a panel in pixels."""
_PANEL = 120
"""Minimum width of a panel with its gap in pixels."""
_MOST = 4
"""Maximum number of panels per row."""
_GAP = 12
_AXIS = 48
"""Width of each row's y axis in pixels."""
_MARKED = 8
"""Maximum number of checkpoints at which head lines have points."""


def training_curves(
    frame: pd.DataFrame, *, title: str, value_title: str, width: int = WIDTH
) -> alt.ConcatChart:
    """Draw lines over checkpoints: a thin line per head and a thick line for the layer mean.

    All panels share one scale.

    Args:
        frame: Table with the columns checkpoint (in drawing order), layer, head (both from 0) and
            value; rows without a value are left out.
        title: Figure title; further lines become the subtitle.
        value_title: Title of the y axis: quantity and unit.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing.

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
    # The first and the last label extend halfway beyond the plot.
    label_width = (text_width(names[0]) + text_width(names[-1])) / 2
    plot = panel_width(width - _AXIS, columns, gap=_GAP, axis=label_width)
    tick_labels = [names[i] for i in spaced_ticks(names, evenly_placed(len(names), plot))]
    along = alt.X(
        "checkpoint:N",
        title=None,
        sort=names,
        axis=alt.Axis(values=tick_labels, labelOverlap=False, labelFlush=False),
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
        # All panels share one scale, so only the first panel of a row has axis labels.
        is_first = number % columns == 0
        axis = alt.Axis() if is_first else alt.Axis(labels=False, title=None)
        value = alt.Y("value:Q", title=value_title if is_first else None, scale=scale, axis=axis)
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
