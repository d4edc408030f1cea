"""Histogram of the changes by single heads beside zero, and bars of the changes by layers."""

from __future__ import annotations

import math

import altair as alt
import numpy as np
import pandas as pd

from attnwidget.charts.frame_columns import inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LABEL, LIGHT, WIDTH, panel_width, publication

_DOT = 9.0
"""Largest distance of two stacked points in pixels."""
_ROW = 22
"""Row height of a layer in pixels."""
_AXIS = 34
"""Width of the layer names in pixels."""
_TALLEST = 200.0
_FULL = 0.8
"""Share of the width of a bin that points may fill."""
_FEWEST_ROWS = 8
"""Number of rows from which a bin gets a further column."""
_FAR = 2.5
"""Largest distance of the dashed lines, in multiples of the largest change."""


def change_histogram(
    frame: pd.DataFrame,
    *,
    title: str,
    value_title: str,
    layer_title: str,
    better_above: bool,
    smallest: float = math.nan,
    width: int = WIDTH,
) -> alt.VConcatChart:
    """Draw one stacked point per head at its change, and one bar with an interval per layer.

    This is the content of Kovaleva et al. 2019, Figures 8 and 9. Points to the side of "better"
    harm the model. Significant units have a filled color.

    Args:
        frame: Table with the columns layer, head (missing for complete layers), value, low, high
            and significant.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit of the heads.
        layer_title: Quantity and unit of the layers.
        better_above: Whether a change above 0 means that the model is better.
        smallest: Smallest change that a typical head needs to be significant, drawn as dashed lines
            to both sides; NaN or infinite = no lines.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.change_histogram import change_histogram
        >>> frame = pd.DataFrame({"layer": [0, 0, 0], "head": [0, 1, None], "value": [1, -1, -3],
        ...                       "low": -4, "high": 2, "significant": False})
        >>> chart = change_histogram(frame, title="Heads off", value_title="points",
        ...                          layer_title="points", better_above=True)
        >>> len(chart.vconcat)
        2
    """
    columns = ["layer", "head", "value", "low", "high", "significant"]
    if missing := [name for name in columns if name not in frame.columns]:
        raise ValueError(f"change_histogram needs the columns {', '.join(missing)}")
    table = frame[columns].dropna(subset="value")
    if not len(table):
        raise ValueError("change_histogram has no changes to draw")
    plot = panel_width(width, 1, gap=0, axis=_AXIS)
    heads = table[table["head"].notna()]
    layers = table[table["head"].isna()]
    panels: list[alt.LayerChart] = []
    if len(heads):
        panels.append(_heads(heads, value_title, smallest, plot, better_above=better_above))
    if len(layers):
        panels.append(_layers(layers, layer_title, plot, better_above=better_above))
    chart = alt.vconcat(*panels, spacing=18)
    return offline(publication(chart, title, width))


def _side(value: float, *, better_above: bool) -> str:
    if value == 0:
        return "the same"
    return "better" if (value > 0) == better_above else "worse"


def _colors() -> alt.Scale:
    return alt.Scale(
        domain=["better", "worse", "the same"], range=[LIGHT.right, LIGHT.wrong, LIGHT.rest]
    )


def _heads(
    heads: pd.DataFrame, value_title: str, smallest: float, plot: int, *, better_above: bool
) -> alt.LayerChart:
    """Return the histogram of heads."""
    values = heads["value"].to_numpy(float)
    reach = float(np.abs(values).max()) or 1.0
    has_lines = math.isfinite(smallest) and smallest <= _FAR * reach
    # Changes of accuracies are multiples of one example, which is then the bin.
    sizes = np.unique(np.round(np.abs(values[values != 0]), 9))
    steps = np.diff(np.concatenate([[0.0], sizes]))
    least = float(steps.min()) if steps.size else reach
    most_bins = max(1, int(plot / _DOT))
    bin_width = least if 2 * reach / least <= most_bins else 2 * reach / most_bins
    edge = 1.08 * max(reach + bin_width / 2, smallest if has_lines else 0.0)
    bins = np.round(values / bin_width).astype(int)
    table = heads.reset_index(drop=True).astype({"layer": int, "head": int})
    table = table.assign(bin=bins, at=bins * bin_width).sort_values(["bin", "layer", "head"])
    table["name"] = row_names(table)
    table["side"] = [_side(value, better_above=better_above) for value in table["value"]]
    # Heads with the same change stand in several columns if the bin is wide enough.
    across = plot * bin_width / (2 * edge)
    largest_bin = int(table["bin"].value_counts().max())
    fitting = max(1, int(_FULL * across / _DOT))
    in_row = min(fitting, math.ceil(largest_bin / _FEWEST_ROWS))
    tallest = math.ceil(largest_bin / in_row)
    dot = max(3.0, min(_DOT, across, _TALLEST / tallest))
    height = max(90.0, dot * tallest + 44)
    number = table.groupby("bin").cumcount()
    in_last_row = table["bin"].map(table["bin"].value_counts()).clip(upper=in_row)
    table["height"] = number // in_row
    table["at"] += (number % in_row - (in_last_row - 1) / 2) * dot * 2 * edge / plot
    x_scale = alt.Scale(domain=[-edge, edge], nice=False)
    x = alt.X("at:Q", title=value_title, scale=x_scale, axis=alt.Axis(grid=False))
    y_scale = alt.Scale(domain=[-0.5, height / dot - 0.5], nice=False, zero=False)
    y = alt.Y("height:Q", axis=None, scale=y_scale)
    color = alt.Color("side:N", scale=_colors(), legend=None)
    base = alt.Chart(inline(table.drop(columns=["bin", "low", "high"])))
    points = base.mark_point(size=(dot - 1.5) ** 2, strokeWidth=1.2, opacity=1).encode(
        x=x,
        y=y,
        color=color,
        fill=alt.condition("datum.significant", color, alt.value(LIGHT.ground)),
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("value:Q", title=value_title, format=NUMBER),
            alt.Tooltip("significant:N"),
        ],
    )
    charts = [_line(0.0, x_scale, value_title), points]
    top = (height - 8) / dot - 0.5
    sides = ("worse without the head", "better without the head")
    texts = [
        {"at": 0.0, "height": top, "text": f"← {sides[not better_above]}", "align": "right"},
        {"at": 0.0, "height": top, "text": f"{sides[better_above]} →", "align": "left"},
    ]
    if has_lines:
        for at in (-smallest, smallest):
            charts.insert(0, _line(at, x_scale, value_title, is_dashed=True))
        # Below the names of the sides, and on the side of the line that has more space.
        texts.append(
            {
                "at": smallest,
                "height": top - 15 / dot,
                "text": f"typical head: significant from {smallest:.3g}",
                "align": "left" if smallest < edge / 2 else "right",
            }
        )
    for align in ("right", "left"):
        rows = [
            {k: v for k, v in text.items() if k != "align"}
            for text in texts
            if text["align"] == align
        ]
        label = alt.Chart(alt.InlineData(values=rows)).mark_text(
            align=align,
            dx=-6 if align == "right" else 6,
            fontSize=LABEL,
            color=LIGHT.muted,
        )
        charts.append(label.encode(x=x, y=y, text="text:N"))
    return alt.LayerChart(layer=charts).properties(width=plot, height=height)


def _layers(
    layers: pd.DataFrame, layer_title: str, plot: int, *, better_above: bool
) -> alt.LayerChart:
    """Return the bars of layers."""
    table = layers.assign(
        name=[f"L{layer}" for layer in layers["layer"]],
        side=[_side(value, better_above=better_above) for value in layers["value"]],
    ).drop(columns="head")
    ends = table[["value", "low", "high"]].to_numpy(float)
    reach = 1.08 * (float(np.nanmax(np.abs(ends))) or 1.0)
    scale = alt.Scale(domain=[-reach, reach], nice=False)
    y = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(ticks=False, domain=False))
    value = alt.X("value:Q", title=layer_title, scale=scale, axis=alt.Axis(grid=False))
    color = alt.Color("side:N", scale=_colors(), legend=None)
    base = alt.Chart(inline(table)).encode(y=y)
    tooltip = [
        alt.Tooltip("name:N", title="layer"),
        *(alt.Tooltip(f"{name}:Q", format=NUMBER) for name in ("value", "low", "high")),
        alt.Tooltip("significant:N"),
    ]
    bars = base.mark_bar(height=_ROW - 10, strokeWidth=1.2).encode(
        x=value,
        stroke=color,
        fill=alt.condition("datum.significant", color, alt.value(LIGHT.ground)),
        tooltip=tooltip,
    )
    bars = bars.encode(stroke=alt.Stroke("side:N", scale=_colors(), legend=None))
    intervals = base.mark_rule(color=LIGHT.text, strokeWidth=1.5).encode(
        x=alt.X("low:Q", scale=scale), x2="high:Q"
    )
    zero = _line(0.0, scale, layer_title, field="value")
    chart = alt.LayerChart(layer=[bars, intervals, zero])
    return chart.properties(width=plot, height=_ROW * len(table))


def _line(
    at: float, scale: alt.Scale, title: str, *, is_dashed: bool = False, field: str = "at"
) -> alt.Chart:
    """Return a vertical line."""
    rule = alt.Chart(alt.InlineData(values=[{field: at}])).mark_rule(
        color=LIGHT.muted if is_dashed else LIGHT.text,
        strokeDash=[4, 3] if is_dashed else alt.Undefined,
        strokeWidth=1,
    )
    return rule.encode(x=alt.X(f"{field}:Q", title=title, scale=scale))
