"""Panels of curves over layers, with one panel per quantity."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked
from attnwidget.charts.layer_curves import curves
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import colors, legend_columns, ordered
from attnwidget.charts.theme import HEIGHT, WIDTH, panel_width, panels_in_row, publication

_GAP = 16
_AXIS = 56
"""Width of a panel's y axis in pixels."""
_LEAST = 60
"""Minimum width of a panel that shares its row, in pixels."""


def curve_panels(frame: pd.DataFrame, *, title: str, width: int = WIDTH) -> alt.VConcatChart:
    """Draw one panel per quantity with curves over the layers: Kobayashi et al. 2020, Figure 3.

    Panels that do not fit into a row continue in the next row. Points are heads, and lines are
    means over the heads of a layer. Each quantity has its own scale.

    Args:
        frame: Table with the columns layer and head (from 0), series (the token class), quantity
            (the panel and the title of its y axis) and value; rows without a value are left out.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing, or if there are more series than
            colors.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.curve_panels import curve_panels
        >>> frame = pd.DataFrame({"layer": 0, "head": 0, "series": "[SEP]",
        ...                       "quantity": ["weight", "norm"], "value": [0.4, 0.1]})
        >>> len(curve_panels(frame, title="Weights and norms").vconcat[0].hconcat)
        2
    """
    table = checked(frame, ["layer", "head", "series", "quantity", "value"], "curve_panels")
    names = ordered(table["series"])
    quantities = list(dict.fromkeys(table["quantity"]))
    series = colors(names, "curve_panels", lines=True)
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=legend_columns(names, width),
    )
    in_row = panels_in_row(width, len(quantities), least=_LEAST, gap=_GAP, axis=_AXIS)
    plot = panel_width(width, in_row, gap=_GAP, axis=_AXIS)
    panels = [
        curves(table[table["quantity"] == quantity], quantity, series=series, legend=legend)
        for quantity in quantities
    ]
    sized = [panel.properties(width=plot, height=HEIGHT) for panel in panels]
    rows = [alt.hconcat(*sized[i : i + in_row], spacing=_GAP) for i in range(0, len(sized), in_row)]
    return offline(publication(alt.vconcat(*rows, spacing=_GAP), title, width))
