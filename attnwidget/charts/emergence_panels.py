"""Losses and head scores during training, on a common axis of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from attnwidget.charts.frame_columns import in_order, inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import colors
from attnwidget.charts.spaced_ticks import evenly_placed, spaced_ticks
from attnwidget.charts.theme import LIGHT, WIDTH, panel_width, publication

_HEIGHTS = {"losses": 110, "heads": 200}
"""Heights of the panels in pixels."""
_NAMED = 5
"""Maximum number of heads with a color and a name."""
_AXIS = 140
"""Width of a panel's y axis and legend in pixels."""
_GAP = 16
_EXCESS = "score minus control"


def emergence_panels(
    heads: pd.DataFrame,
    losses: pd.DataFrame,
    emerged: pd.DataFrame,
    *,
    steps: Sequence[int] | None,
    title: str,
    width: int = WIDTH,
) -> alt.VConcatChart:
    """Draw a panel of losses of both copies above a panel of head scores: Olsson et al. 2022.

    A head score is the score minus the control. The heads with the largest final values have a
    color, a band and a mark at the checkpoint where they emerged. If steps are given, their axis is
    logarithmic and includes 0.

    Args:
        heads: Table with the columns checkpoint (in drawing order), layer, head (both from 0),
            value, low and high.
        losses: Table with the columns checkpoint, copy, loss, low and high; an empty table means no
            panel of losses.
        emerged: Table with the columns layer, head, final and checkpoint (None = the head did not
            emerge).
        steps: Training step of each checkpoint; None = show the labels of the checkpoints.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.emergence_panels import emergence_panels
        >>> heads = pd.DataFrame({"checkpoint": ["0", "8"], "layer": 0, "head": 0,
        ...                       "value": [0.1, 0.4], "low": 0.0, "high": 0.5})
        >>> emerged = pd.DataFrame({"layer": [0], "head": [0], "final": [0.4], "checkpoint": ["8"]})
        >>> chart = emergence_panels(heads, pd.DataFrame(), emerged, steps=[0, 8], title="Training")
        >>> len(chart.vconcat)
        1
    """
    labels = in_order(heads["checkpoint"])
    plot = panel_width(width, 1, gap=0, axis=_AXIS)
    along = _along(labels, steps, plot)
    positions = dict(zip(labels, labels if steps is None else steps, strict=True))

    def placed(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(at=frame["checkpoint"].map(positions))

    panels = []
    if len(losses):
        table = placed(losses.rename(columns={"copy": "series", "loss": "value"}))
        copies = list(dict.fromkeys(table["series"]))
        panel = alt.layer(*_series(table, "loss (less is better)", along, copies))
        panels.append(panel.properties(width=plot, height=_HEIGHTS["losses"]))
    table = placed(heads.assign(series=row_names(heads)))
    marks = emerged.assign(series=row_names(emerged)).sort_values(
        "final", ascending=False, kind="stable"
    )
    emerged_heads = marks[marks["checkpoint"].notna()]
    named_heads = (emerged_heads if len(emerged_heads) else marks)["series"].head(_NAMED).tolist()
    strongest = table["series"].isin(named_heads)
    others = alt.Chart(inline(table[~strongest])).mark_line(
        strokeWidth=1, opacity=0.4, color=LIGHT.rest
    )
    value = alt.Y("value:Q", title=_EXCESS)
    tooltip = _tooltip("head", _EXCESS)
    chart_layers = [
        others.encode(x=along, y=value, detail="series:N", tooltip=tooltip),
        *_series(table[strongest], _EXCESS, along, named_heads),
    ]
    at_marks = table[strongest].merge(
        emerged_heads[["series", "checkpoint"]], on=["series", "checkpoint"]
    )
    if len(at_marks):
        diamonds = alt.Chart(inline(at_marks)).mark_point(
            filled=True, shape="diamond", size=90, opacity=1, stroke=LIGHT.ground
        )
        color = alt.Color("series:N", scale=colors(named_heads, "emergence_panels"))
        chart_layers.append(diamonds.encode(x=along, y=value, color=color, tooltip=tooltip))
    panels.append(alt.layer(*chart_layers).properties(width=plot, height=_HEIGHTS["heads"]))
    figure = alt.vconcat(*panels, spacing=_GAP).resolve_scale(color="independent")
    return offline(publication(figure, title, width))


def _along(labels: Sequence[Any], steps: Sequence[int] | None, width: float) -> alt.X:
    """Return the axis of steps or ordered labels, with ticks that fit into `width` pixels."""
    if steps is None:
        names = [str(label) for label in labels]
        tick_labels = [names[i] for i in spaced_ticks(names, evenly_placed(len(names), width))]
        label_axis = alt.Axis(values=tick_labels, labelOverlap=False, labelFlush=False)
        return alt.X("at:O", title="checkpoint", sort=names, axis=label_axis)
    smallest = min((step for step in steps if step > 0), default=1)
    scale = alt.Scale(type="symlog", constant=smallest, domain=[steps[0], steps[-1]])
    # These are the positions on a symmetric logarithmic scale with this constant.
    logs = np.log1p(np.abs(steps) / smallest)
    positions = width * (logs - logs[0]) / ((logs[-1] - logs[0]) or 1.0)
    ticks = spaced_ticks([f"{step:,}" for step in steps], positions.tolist())
    axis = alt.Axis(
        values=[steps[i] for i in ticks],
        format=",d",
        labelOverlap=False,
        labelFlush=False,
        grid=False,
    )
    return alt.X("at:Q", title="step of training", scale=scale, axis=axis)


def _series(
    table: pd.DataFrame, value_title: str, along: alt.X, names: Sequence[str]
) -> list[alt.Chart]:
    """Return layers with a line, points and a band per series, and a legend."""
    base = alt.Chart(inline(table))
    color = alt.Color(
        "series:N", scale=colors(names, "emergence_panels"), legend=alt.Legend(title=None)
    )
    bands = base.mark_area(opacity=0.2).encode(
        x=along, y=alt.Y("low:Q", title=value_title), y2="high:Q", color=color
    )
    lines = base.mark_line(strokeWidth=1.5, point={"size": 14}).encode(
        x=along,
        y=alt.Y("value:Q", title=value_title),
        color=color,
        tooltip=_tooltip("series", value_title),
    )
    return [bands, lines]


def _tooltip(series: str, value_title: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("series:N", title=series),
        alt.Tooltip("checkpoint:N"),
        alt.Tooltip("value:Q", title=value_title, format=NUMBER),
    ]
