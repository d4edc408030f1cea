"""Accuracy of the best head for each relation, compared with the best fixed offset."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline, row_names
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import legend_columns
from attnwidget.charts.theme import LABEL, LIGHT, WIDTH, fitted, publication, text_width

_STEP = 20
"""Row height of each relation in pixels."""
_BESIDE = 14
_AXIS = 32
"""Width of the relation axis title in pixels."""
_TICK = "M0,-1V1"
"""SVG path of a vertical stroke."""
_HEAD = "best head"
_OFFSET = "best fixed offset"


def best_heads(frame: pd.DataFrame, *, title: str, width: int = WIDTH) -> alt.LayerChart:
    """Draw one row per relation: the accuracy of the best head with its interval, and the offset's.

    A dot is filled if the head is significantly better than the best fixed offset, and hollow
    otherwise. The arrow shows whether dependents (→) or governors (←) attend.

    Args:
        frame: Table with one row per relation in drawing order and the columns relation, n, layer,
            head, direction, accuracy, low, high, baseline, offset and significant; accuracies are
            from 0 to 1.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing, or if a relation occurs twice.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.best_heads import best_heads
        >>> row = {"relation": "obj", "n": 1591, "layer": 7, "head": 9, "accuracy": 0.87,
        ...        "low": 0.85, "high": 0.88, "baseline": 0.4, "offset": -2, "significant": True,
        ...        "direction": "dependent to governor"}
        >>> len(best_heads(pd.DataFrame([row]), title="Direct objects").layer)
        4
    """
    columns = ["relation", "layer", "head", "direction", "offset", "significant"]
    table = checked(frame, columns, "best_heads")
    numbers = ["n", "accuracy", "low", "high", "baseline"]
    if missing := [name for name in numbers if name not in frame.columns]:
        raise ValueError(f"best_heads needs the columns {', '.join(missing)} as well")
    if table["relation"].duplicated().any():
        raise ValueError("best_heads draws one head per relation: a relation comes twice")
    table[numbers] = frame[numbers].astype(float).to_numpy()
    arrows = table["direction"].str.startswith("dependent").map({True: "→", False: "←"})
    table = table.assign(
        name=[f"{name} {arrow}" for name, arrow in zip(row_names(table), arrows, strict=True)],
        label=[f"{r} ({n:,.0f})" for r, n in zip(table["relation"], table["n"], strict=True)],
        kind=_HEAD,
        other=_OFFSET,
        better=table["significant"] == "True",
    )
    base = alt.Chart(inline(table)).encode(
        y=alt.Y(
            "label:N",
            sort=None,
            title="relation (words)",
            axis=alt.Axis(ticks=False, grid=True, labelLimit=160),
        )
    )
    # The legend begins at the plot, to the right of the relation names.
    label_width = max(map(text_width, table["label"])) + _AXIS
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=legend_columns([_HEAD, _OFFSET], width - label_width),
        symbolStrokeWidth=1.5,
        symbolSize=80,
    )
    color = alt.Scale(domain=[_HEAD, _OFFSET], range=[LIGHT.series[0], LIGHT.rest])
    shape = alt.Scale(domain=[_HEAD, _OFFSET], range=["circle", _TICK])
    x = alt.Scale(domain=[0, 1], nice=False)
    shares = alt.Axis(format="%", grid=True, tickCount=5)
    tooltip = [
        alt.Tooltip("relation:N"),
        alt.Tooltip("n:Q", title="words", format=",d"),
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("direction:N"),
        *(alt.Tooltip(f"{value}:Q", format=".1%") for value in numbers[1:]),
        alt.Tooltip("offset:N"),
        alt.Tooltip("significant:N", title="better than the offset"),
    ]

    def points(value: str, kind: str) -> alt.Chart:
        return base.mark_point(size=55, strokeWidth=1.5, opacity=1).encode(
            x=alt.X(f"{value}:Q", title="accuracy", scale=x, axis=shares),
            color=alt.Color(f"{kind}:N", scale=color, legend=legend),
            shape=alt.Shape(f"{kind}:N", scale=shape, legend=legend),
            tooltip=tooltip,
        )

    intervals = base.mark_rule(color=LIGHT.series[0], strokeWidth=1.5, opacity=0.6).encode(
        x=alt.X("low:Q", scale=x), x2="high:Q"
    )
    dots = points("accuracy", "kind").encode(
        fill=alt.condition("datum.better", alt.value(LIGHT.series[0]), alt.value(LIGHT.ground))
    )
    names = base.mark_text(align="left", dx=_BESIDE, fontSize=LABEL, color=LIGHT.muted).encode(
        x=alt.value("width"), text="name:N"
    )
    chart = alt.LayerChart(layer=[intervals, points("baseline", "other"), dots, names])
    legend_lines = (
        "Filled: significantly better than the offset; bars: 95\xa0% intervals",
        "→ dependents attend to governors, ← governors to dependents",
    )
    sized = fitted(chart, width, alt.Step(_STEP))
    return offline(publication(sized, "\n".join([title, *legend_lines]), width))
