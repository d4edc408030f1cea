"""Probe scores by layer, rank or number of sentences, with intervals and baselines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.layer_curves import layer_axis
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import colors, dashes, legend_columns, ordered, shapes
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    LINE,
    WIDTH,
    panel_width,
    panels_in_row,
    publication,
    text_width,
)

_HEIGHT = 160
_GAP = 20
_AXIS = 52
"""Width of a panel's y axis in pixels."""
_IN_ROW = 2
"""Maximum number of panels per row."""
_LEAST = 80
"""Minimum width of a panel that shares its row, in pixels."""


def score_panels(
    frame: pd.DataFrame,
    *,
    along: Literal["layer", "rank", "sentences"] = "layer",
    title: str,
    reference: Mapping[str, Mapping[str, float]] | None = None,
    width: int = WIDTH,
) -> alt.VConcatChart:
    """Draw one panel per measure, at most two per row, with a curve and intervals per series.

    Args:
        frame: Table with the columns layer, rank or sentences, series, measure, value, low and
            high; rows without a value are left out.
        along: Column of the x axis.
        title: Figure title; further lines become the subtitle.
        reference: Values of dashed reference lines by name, for each measure.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing, or if there are more series than
            colors.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.score_panels import score_panels
        >>> frame = pd.DataFrame({"layer": [0, 1], "series": "probe", "measure": "UUAS",
        ...                       "value": [0.5, 0.6], "low": [0.4, 0.5], "high": [0.6, 0.7]})
        >>> len(score_panels(frame, title="Trees").vconcat)
        1
    """
    renamed = frame
    if isinstance(frame, pd.DataFrame) and along != "layer":
        renamed = frame.drop(columns="layer", errors="ignore").rename(columns={along: "layer"})
    table = checked(renamed, ["layer", "series", "measure", "value", "low", "high"], "score_panels")
    table = table.astype({"low": float, "high": float})
    names = ordered(table["series"])
    series = colors(names, "score_panels", lines=True)
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=legend_columns(names, width),
    )
    levels = [
        f"{name} {level:.2f}"
        for lines in (reference or {}).values()
        for name, level in lines.items()
    ]
    label_width = max(map(text_width, levels), default=0)
    axis_width = _AXIS + label_width
    most = min(_IN_ROW, table["measure"].nunique())
    in_row = panels_in_row(width, most, least=_LEAST, gap=_GAP, axis=axis_width)
    plot = panel_width(width, in_row, gap=_GAP, axis=axis_width)
    axis = layer_axis() if along == "layer" else alt.X("layer:O", title=along)
    if along == "rank":
        ranks = sorted({int(rank) for rank in table["layer"]})
        axis = alt.X(
            "layer:Q",
            title="rank (logarithmic)",
            scale=alt.Scale(type="log", base=2, domain=[ranks[0] / 1.2, ranks[-1] * 1.2]),
            axis=alt.Axis(values=ranks, format="d", grid=False),
        )
    panels = [
        _panel(
            rows_of_measure,
            str(measure),
            axis,
            series,
            legend if names[1:] else None,
            (reference or {}).get(str(measure), {}),
            plot,
        )
        for measure, rows_of_measure in table.groupby("measure", sort=False)
    ]
    rows = [
        alt.hconcat(*panels[i : i + in_row], spacing=_GAP) for i in range(0, len(panels), in_row)
    ]
    return offline(publication(alt.vconcat(*rows, spacing=_GAP), title, width))


def _panel(
    table: pd.DataFrame,
    measure: str,
    axis: alt.X,
    series: alt.Scale,
    legend: alt.Legend | None,
    reference: Mapping[str, float],
    width: int,
) -> alt.LayerChart:
    lower_end = min(0.0, *table["low"].dropna(), *reference.values())
    value = alt.Y("value:Q", title=measure, scale=alt.Scale(domain=[lower_end, 1.0]))
    color = alt.Color("series:N", scale=series, legend=legend)
    shape = alt.Shape("series:N", scale=shapes(series.domain), legend=legend)
    dash = alt.StrokeDash("series:N", scale=dashes(series.domain), legend=legend)
    base = alt.Chart(inline(table)).encode(x=axis, color=color)
    numbers = [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("value", "low", "high")]
    points = base.mark_point(filled=True, size=30, opacity=1).encode(
        y=value,
        shape=shape,
        tooltip=[alt.Tooltip("layer:O", title=str(axis.title)), "series:N", *numbers],
    )
    chart_layers = [
        base.mark_rule(strokeWidth=1).encode(y=alt.Y("low:Q", title=measure), y2="high:Q"),
        base.mark_line(strokeWidth=1.5).encode(y=value, strokeDash=dash),
        points,
    ]
    if reference:
        muted = LIGHT.muted
        levels = [{"value": float(level)} for level in reference.values()]
        lines = alt.Chart(alt.InlineData(values=levels)).encode(y=value)
        chart_layers.append(lines.mark_rule(color=muted, strokeDash=[4, 3], strokeWidth=1))
        names = _line_names(reference, LINE * (1.0 - lower_end) / _HEIGHT)
        labels = alt.Chart(alt.InlineData(values=names)).mark_text(
            align="left", baseline="middle", dx=4, fontSize=LABEL, color=muted, lineBreak="\n"
        )
        labels = labels.encode(y=value, x=alt.value("width"), text="name:N")
        chart_layers.append(labels)
    return alt.LayerChart(layer=chart_layers).properties(width=width, height=_HEIGHT)


def _line_names(reference: Mapping[str, float], least: float) -> list[dict[str, str | float]]:
    """Return the names of the reference lines; close lines share a text with a row per line.

    Args:
        reference: Value of each reference line.
        least: Smallest distance of the values of two lines whose names do not overlap.
    """
    groups: list[list[tuple[str, float]]] = []
    for name, level in sorted(reference.items(), key=lambda item: -item[1]):
        if groups and groups[-1][-1][1] - level < least:
            groups[-1].append((name, level))
        else:
            groups.append([(name, level)])
    return [
        {
            "name": "\n".join(f"{name} {level:.2f}" for name, level in group),
            "value": sum(level for _, level in group) / len(group),
        }
        for group in groups
    ]
