"""Curves over the layers, with points for heads and lines for layer means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline, row_names
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.outstanding_heads import outstanding_heads
from attnwidget.charts.series_style import colors, dashes, ordered, shapes, spread
from attnwidget.charts.theme import (
    HEIGHT,
    LABEL,
    LIGHT,
    LINE,
    PADDING,
    WIDTH,
    fitted,
    publication,
    text_width,
)

NUMBER = ".3g"
"""Number format with three significant digits."""
_BESIDE = 8
"""Gap between the plot and the texts next to it, in pixels."""
_AXIS = 40
"""Width of the value axis in pixels."""
_SYMBOL = 14
"""Width of the symbol before a curve's name in pixels.

The symbol is needed because a name can be far from its curve.
"""


def layer_curves(
    frame: pd.DataFrame,
    *,
    title: str,
    value_title: str,
    reference: Mapping[str, float] | None = None,
    even: Mapping[str, float] | None = None,
    threshold: float | None = None,
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw a head metric over layers, one curve per series: Clark et al. 2019, Figures 2 to 4.

    Points are heads. A line is the mean over the layer's heads and is labeled with its series.
    Points of outlying heads are labeled with the head.

    Args:
        frame: Table with the columns layer, head (both from 0), series and value; rows without a
            value are left out.
        title: Figure title; further lines become the subtitle.
        value_title: Title of the y axis: quantity and unit.
        reference: Values of dashed reference lines by name, for example {"uniform": 4.79}.
        even: Value of equal attention by series, drawn as a dashed line in the color of the series;
            the subtitle has the numbers.
        threshold: Value of a dashed line above which the points of all heads are named; None = no
            line, and only outliers are named.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing, if there are more series than colors,
            or if a reference value is not finite.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.layer_curves import layer_curves
        >>> frame = pd.DataFrame(
        ...     {"layer": [0, 0, 1, 1], "head": [0, 1, 0, 1], "series": "to [SEP]", "value": 0.5}
        ... )
        >>> chart = layer_curves(frame, title="Special tokens", value_title="attention weight")
        >>> len(chart.layer)
        3
    """
    table = checked(frame, ["layer", "head", "series", "value"], "layer_curves")
    for name, level in (reference or {}).items():
        if not math.isfinite(level):
            raise ValueError(f"layer_curves cannot draw the reference {name!r} at {level}")
    names = ordered(table["series"])
    even = {name: level for name, level in (even or {}).items() if math.isfinite(level)}
    if even:
        levels = ", ".join(f"{name} {level:.2g}" for name, level in even.items())
        title = f"{title}; dashed: even attention ({levels})"
    chart = curves(
        table,
        value_title,
        series=colors(names, "layer_curves", lines=True),
        reference=reference,
        even=even,
        threshold=threshold,
        width=width,
    )
    return offline(publication(fitted(chart, width, HEIGHT), title, width))


def curves(
    table: pd.DataFrame,
    value_title: str,
    *,
    series: alt.Scale,
    reference: Mapping[str, float] | None = None,
    even: Mapping[str, float] | None = None,
    threshold: float | None = None,
    legend: alt.Legend | None = None,
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw points and lines of a checked table.

    Args:
        table: Table with the columns layer, head, series and value.
        value_title: Title of the y axis.
        series: Color scale of the series.
        reference: Values of dashed reference lines by name.
        even: Values of dashed lines by series, in the color of the series.
        threshold: Value of a dashed line above which the points of all heads are named.
        legend: Legend of the series; None = labels at the ends of the lines.
        width: Figure width in pixels.
    """
    reference = dict(reference or {})
    if threshold is not None:
        reference["threshold"] = threshold
    even = even or {}
    means = table.groupby(["series", "layer"], sort=False, as_index=False).agg(
        value=("value", "mean"), heads=("value", "size")
    )
    span = _span([*table["value"], *reference.values(), *even.values()])
    layer = layer_axis()
    value = alt.Y("value:Q", title=value_title, scale=alt.Scale(domain=span, nice=False))
    color = alt.Color("series:N", scale=series, legend=legend)
    shape = alt.Shape("series:N", scale=shapes(series.domain), legend=legend)
    tooltip = [
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("value:Q", title=value_title, format=NUMBER),
    ]
    points = alt.Chart(inline(table.assign(name=row_names(table)))).mark_point(
        filled=True, size=16, opacity=0.5
    )
    points = points.encode(
        x=layer,
        xOffset=alt.XOffset("series:N", scale=alt.Scale(domain=series.domain)),
        y=value,
        color=color,
        shape=shape,
        tooltip=[alt.Tooltip("name:N", title="head"), *tooltip],
    )
    lines = alt.Chart(inline(means)).encode(x=layer, y=value, color=color)
    knots = lines.mark_point(filled=True, size=30, opacity=1).encode(
        shape=shape,
        tooltip=[
            alt.Tooltip("layer:O", title="mean of layer"),
            *tooltip,
            alt.Tooltip("heads:Q", title="heads"),
        ],
    )
    strokes = lines.mark_line(strokeWidth=1.5).encode(
        strokeDash=alt.StrokeDash("series:N", scale=dashes(series.domain), legend=legend)
    )
    # Points of layers with a single number would only repeat the knots of the line.
    chart_layers = [strokes, knots]
    if (means["heads"] > 1).any():
        chart_layers.insert(0, points)
    if reference:
        chart_layers.insert(0, _rules(reference, value))
    if even:
        chart_layers.insert(
            0, _rules(even, value).encode(color=alt.Color("name:N", scale=series, legend=None))
        )
    if legend is None:
        chart_layers += _names(table, span, value, points.encoding, series, width, threshold)
        ends = means.loc[means.groupby("series")["layer"].idxmax()].set_index("series")["value"]
        curve_ends = dict(ends) if len(ends) > 1 else {}
        levels = dict(zip(_reference_names(reference), reference.values(), strict=True))
        label_heights = spread(curve_ends | levels, *span)
        if curve_ends:
            rows = _label_rows(label_heights, curve_ends)
            symbols = rows.mark_point(filled=True, size=30, opacity=1, xOffset=_BESIDE + 3)
            symbols = symbols.encode(x=alt.value("width"), y=value, color=color, shape=shape)
            chart_layers += [symbols, _labels(rows, value, _BESIDE + _SYMBOL).encode(color=color)]
        if levels:
            level_labels = _labels(_label_rows(label_heights, levels), value, _BESIDE)
            chart_layers.append(level_labels.encode(color=alt.value(LIGHT.muted)))
    return alt.LayerChart(layer=chart_layers)


def _names(
    table: pd.DataFrame,
    span: list[float],
    value: alt.Y,
    encoding: alt.FacetedEncoding,
    series: alt.Scale,
    width: int,
    threshold: float | None,
) -> list[alt.Chart]:
    """Return text layers with the names of outlying heads next to their points."""
    label_width = max(text_width(str(name), LABEL) for name in series.domain) + _BESIDE + _SYMBOL
    plot = max(1.0, width - 2 * PADDING - _AXIS - label_width)
    outlying_heads = outstanding_heads(table, span, width=plot, height=HEIGHT, above=threshold)
    # The axis would strike through the name of a head with a value near 0.
    above_axis = (outlying_heads["value"] - span[0]) / (span[1] - span[0]) * HEIGHT
    outlying_heads = outlying_heads.assign(is_low=above_axis < LINE / 2)
    text_layers = []
    for (is_right, is_low), rows in outlying_heads.groupby(["is_right", "is_low"]):
        text = alt.Chart(inline(rows.drop(columns=["is_right", "is_low"]))).mark_text(
            align="left" if is_right else "right",
            dx=5 if is_right else -5,
            dy=-LINE / 2 if is_low else 0,
            fontSize=LABEL,
        )
        text_layers.append(
            text.encode(
                x=layer_axis(),
                xOffset=encoding.xOffset,
                y=value,
                text="name:N",
                color=alt.Color("series:N", scale=series, legend=None),
            )
        )
    return text_layers


def layer_axis() -> alt.X:
    """Return the layer axis, which starts at L0."""
    axis = alt.Axis(labelExpr="'L' + datum.value", labelOverlap="parity")
    return alt.X("layer:O", title="layer", axis=axis)


def _span(values: list[float]) -> list[float]:
    """Return a domain that includes zero and has a small margin."""
    low = min(0.0, *values)
    high = max(0.0, *values)
    margin = 0.04 * (high - low) or 1.0
    return [low - margin if low < 0 else 0.0, high + margin if high > 0 else 0.0]


def _rules(reference: Mapping[str, float], value: alt.Y) -> alt.Chart:
    rows = [{"name": name, "value": float(y)} for name, y in reference.items()]
    rules = alt.Chart(alt.InlineData(values=rows)).mark_rule(
        color=LIGHT.muted, strokeDash=[4, 3], strokeWidth=1
    )
    tooltip = ["name:N", alt.Tooltip("value:Q", format=NUMBER)]
    return rules.encode(y=value, tooltip=tooltip)


def _reference_names(reference: Mapping[str, float]) -> list[str]:
    return [f"{name} {y:{NUMBER}}" for name, y in reference.items()]


def _label_rows(places: Mapping[str, float], names: Iterable[str]) -> alt.Chart:
    rows = [{"series": name, "value": places[name]} for name in names]
    return alt.Chart(alt.InlineData(values=rows))


def _labels(rows: alt.Chart, value: alt.Y, beside: float) -> alt.Chart:
    text = rows.mark_text(align="left", dx=beside, fontSize=LABEL)
    return text.encode(x=alt.value("width"), y=value, text="series:N")
