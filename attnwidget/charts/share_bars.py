"""Stacked bars of shares, one bar per head or layer."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, fitted, publication

_ROW = 20


def share_bars(
    frame: pd.DataFrame,
    *,
    title: str,
    value_title: str,
    colors: Sequence[str] | None = None,
    domain: tuple[float, float] | None = None,
    width: int = WIDTH,
) -> alt.Chart:
    """Draw one stacked bar per head; negative shares go to the left.

    Args:
        frame: Table with the columns layer, head, part and value; the parts keep their order.
            Without the column head, a bar is a layer.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit.
        colors: Color of each part; None = interpolated between the colors of layers.
        domain: First and last value of the axis; None = those of the bars.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing, or if a value is infinite.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.share_bars import share_bars
        >>> frame = pd.DataFrame({"layer": 0, "head": [0, 0], "part": ["a", "b"],
        ...                       "value": [0.7, 0.3]})
        >>> share_bars(frame, title="One head", value_title="share").mark.type
        'bar'
    """
    unit = "head" if "head" in frame else "layer"
    columns = ["layer", "head"] if unit == "head" else ["layer"]
    table = checked(frame, [*columns, "part", "value"], "share_bars")
    parts = list(dict.fromkeys(table["part"]))
    table["order"] = table["part"].map({part: number for number, part in enumerate(parts)})
    table["name"] = [
        f"L{row.layer} H{row.head}" if unit == "head" else f"L{row.layer}"
        for row in table.itertuples()
    ]
    palette = colors or _colors(list(LIGHT.layers), len(parts))
    chart = alt.Chart(inline(table)).mark_bar(height=_ROW - 6)
    chart = chart.encode(
        x=alt.X(
            "value:Q",
            title=value_title,
            axis=alt.Axis(format="%", grid=True, tickCount=5),
            scale=alt.Undefined if domain is None else alt.Scale(domain=list(domain)),
        ),
        y=alt.Y("name:N", title=None, sort=list(dict.fromkeys(table["name"]))),
        color=alt.Color(
            "part:O",
            sort=parts,
            title="part",
            scale=alt.Scale(domain=parts, range=list(palette)),
        ),
        order=alt.Order("order:Q"),
        tooltip=[
            alt.Tooltip("name:N", title=unit),
            alt.Tooltip("part:N"),
            alt.Tooltip("value:Q", title=value_title, format=NUMBER),
        ],
    )
    return offline(publication(fitted(chart, width, alt.Step(_ROW)), title, width))


def _colors(anchors: list[str], count: int) -> list[str]:
    """Return `count` colors that are interpolated between the anchors."""
    channels = [[int(a[i : i + 2], 16) for i in (1, 3, 5)] for a in anchors]
    colors = []
    for number in range(count):
        position = number * (len(anchors) - 1) / max(1, count - 1)
        low = min(int(position), len(anchors) - 2)
        channel_values = [
            round(a + (b - a) * (position - low))
            for a, b in zip(channels[low], channels[low + 1], strict=True)
        ]
        colors.append("#" + "".join(f"{value:02x}" for value in channel_values))
    return colors
