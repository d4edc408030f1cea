"""Shares of attention patterns by layer."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.layer_curves import layer_axis
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import colors, ordered
from attnwidget.charts.theme import HEIGHT, LIGHT, WIDTH, fitted, publication

_ROUNDING = 1e-3
_OPACITY = 0.85
"""Opacity of the bars, because large areas need less color than lines."""


def pattern_shares(frame: pd.DataFrame, *, title: str, width: int = WIDTH) -> alt.Chart:
    """Draw the share of each pattern in the maps of each layer: Kovaleva et al. 2019.

    Args:
        frame: Table with the columns layer (from 0), pattern and value, a fraction. Rows with the
            same layer and pattern (heads) are averaged; a pattern without a row is 0.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing, if a value is not a fraction, if the
            fractions of a layer sum to more than 1, or if there are more patterns than colors.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.pattern_shares import pattern_shares
        >>> frame = pd.DataFrame({"layer": 0, "pattern": ["vertical", "block"], "value": 0.5})
        >>> pattern_shares(frame, title="Patterns").mark.type
        'bar'
    """
    table = checked(frame, ["layer", "pattern", "value"], "pattern_shares")
    if not table["value"].between(0, 1 + _ROUNDING).all():
        raise ValueError("pattern_shares takes fractions from 0 to 1, not counts or percentages")
    table = table.groupby(["layer", "pattern"], sort=False, as_index=False)[["value"]].mean()
    sums = table.groupby("layer")["value"].sum()
    if (sums > 1 + _ROUNDING).any():
        raise ValueError(
            f"the fractions of layer {sums.idxmax()} sum to {sums.max():.3g}: a map has one pattern"
        )
    names = ordered(table["pattern"])
    rows = table.assign(order=table["pattern"].map(names.index))
    chart = alt.Chart(inline(rows)).mark_bar(stroke=LIGHT.ground, strokeWidth=1, opacity=_OPACITY)
    chart = chart.encode(
        x=layer_axis(),
        y=alt.Y(
            "value:Q",
            title="share of maps",
            axis=alt.Axis(format="%", grid=False),
            scale=alt.Scale(domain=[0, 1]),
        ),
        order="order:Q",
        color=alt.Color(
            "pattern:N",
            scale=colors(names, "pattern_shares"),
            legend=alt.Legend(
                title=None, orient="right", values=names[::-1], symbolOpacity=_OPACITY
            ),
        ),
        tooltip=[
            "layer:O",
            "pattern:N",
            alt.Tooltip("value:Q", title="share of maps", format=".1%"),
        ],
    )
    return offline(publication(fitted(chart, width, HEIGHT), title, width))
