"""Changes of the loss with a head off, with its rule, and with a wrong rule, with intervals."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, fitted, publication

_STEP = 14
"""Height of a replacement in pixels."""
_NAMES = 0.4
"""Largest share of the width for the names of rows."""
_COLORS = {"head off": LIGHT.muted, "its rule": LIGHT.accent, "wrong rule": LIGHT.wrong}


def replacement_intervals(frame: pd.DataFrame, *, title: str, width: int = WIDTH) -> alt.LayerChart:
    """Draw one row per head and group of predictions, with three points and their intervals.

    Args:
        frame: Table of `MeasuredRules.to_frame`; rows without a change are left out.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing.
    """
    rows = []
    for row in frame.dropna(subset="off").to_dict("records"):
        for replacement, value, low, high in (
            ("head off", row["off"], row["off_low"], row["off_high"]),
            ("its rule", row["rule_loss"], row["rule_low"], row["rule_high"]),
            ("wrong rule", row["wrong"], row["wrong_low"], row["wrong_high"]),
        ):
            rows.append(
                {
                    "row": f"L{row['layer']} H{row['head']} {row['rule']}\n{row['group']}",
                    "replacement": replacement,
                    "value": value,
                    "low": low,
                    "high": high,
                    "work": row["work"],
                }
            )
    columns = ["row", "replacement", "work", "value", "low", "high"]
    table = checked(pd.DataFrame(rows, columns=columns), columns, "replacement_intervals")
    ends = table[["low", "high"]].astype(float)
    # Two texts have an infinite interval, which is not drawn.
    table[["low", "high"]] = ends.where(ends.abs() < float("inf"))
    names = list(dict.fromkeys(table["row"]))
    base = alt.Chart(inline(table)).encode(
        y=alt.Y(
            "row:N",
            title=None,
            sort=names,
            axis=alt.Axis(labelLimit=round(_NAMES * width), labelExpr="split(datum.label, '\\n')"),
        ),
        yOffset=alt.YOffset("replacement:N", sort=list(_COLORS)),
        color=alt.Color(
            "replacement:N",
            title=None,
            sort=list(_COLORS),
            scale=alt.Scale(domain=list(_COLORS), range=list(_COLORS.values())),
            legend=alt.Legend(orient="top"),
        ),
        tooltip=[
            alt.Tooltip("row:N", title="head"),
            alt.Tooltip("replacement:N"),
            alt.Tooltip("value:Q", title="change of the loss", format=NUMBER),
            alt.Tooltip("low:Q", format=NUMBER),
            alt.Tooltip("high:Q", format=NUMBER),
            alt.Tooltip("work:N", title="the rule does"),
        ],
    )
    axis_title = "change of the loss in nats"
    intervals = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=axis_title), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=50, opacity=1).encode(x="value:Q")
    zero = alt.Chart(inline(pd.DataFrame({"x": [0.0]}))).mark_rule(color=LIGHT.text).encode(x="x:Q")
    layers = alt.LayerChart(layer=[zero, intervals, points])
    return offline(publication(fitted(layers, width, alt.Step(_STEP)), title, width))
