"""Density of pairs of numbers on logarithmic axes, with one panel per class."""

from __future__ import annotations

import math
from collections.abc import Mapping

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    WIDTH,
    ink_scale,
    panel_width,
    panels_in_row,
    publication,
)

_GAP = 16
_AXIS = 44
"""Width of a panel's y axis in pixels."""
_LEAST = 60
"""Minimum width of a panel that shares its row, in pixels."""
_HEIGHT = 150
_STEPS = (1.0, 2.0, 5.0)
_LONG = 100
"""Ratio of the ends of an axis from which only powers of ten have ticks."""
_MOST_TICKS = 4
_PIXELS_PER_TICK = 28
_EXPONENT = 0.6
"""Ink is the share to this power, so that rare pairs are visible."""
_INVISIBLE = 0.02
"""Smallest ink that differs visibly from the background."""


def pair_panels(
    frame: pd.DataFrame,
    *,
    remarks: Mapping[str, str],
    ends: tuple[tuple[float, float], tuple[float, float]],
    titles: tuple[str, str],
    title: str,
    width: int = WIDTH,
) -> alt.VConcatChart:
    """Draw one panel per class with the density of pairs: Kobayashi et al. 2020, Figure 4.

    Panels that do not fit into a row continue in the next row. All panels have the same axes; each
    has its own scale of ink, from no pairs to its most frequent cell.

    Args:
        frame: Table with the columns panel (name of the class), x, x2, y and y2 (ends of a cell)
            and share (of the pairs of the class).
        remarks: Text after the name of each panel.
        ends: First and last value of the x axis and of the y axis.
        titles: Titles of the x axis and of the y axis.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.pair_panels import pair_panels
        >>> frame = pd.DataFrame({"panel": ["[SEP]"], "x": 0.1, "x2": 0.2, "y": 1.0, "y2": 2.0,
        ...                       "share": 1.0})
        >>> chart = pair_panels(frame, remarks={"[SEP]": ""}, ends=((0.1, 0.2), (1.0, 2.0)),
        ...                     titles=("weight", "norm"), title="Pairs")
        >>> len(chart.vconcat)
        1
    """
    columns = ["panel", "x", "x2", "y", "y2", "share"]
    table = checked(frame, columns, "pair_panels").astype(dict.fromkeys(columns[1:], float))
    (left, right), (low, high) = ends
    table = table[(table["x2"] > left) & (table["x"] < right)]
    table = table[(table["y2"] > low) & (table["y"] < high)]
    left, right = float(table["x"].min()), float(table["x2"].max())
    low, high = float(table["y"].min()), float(table["y2"].max())
    names = [name for name in remarks if name in set(table["panel"])]
    in_row = panels_in_row(width, len(names), least=_LEAST, gap=_GAP, axis=_AXIS)
    # Equal rows look better than a full row above a single panel.
    in_row = math.ceil(len(names) / math.ceil(len(names) / in_row))
    plot = panel_width(width, in_row, gap=_GAP, axis=_AXIS)
    x = alt.X(
        "x:Q",
        title=titles[0],
        scale=alt.Scale(type="log", domain=[left, right], nice=False),
        axis=alt.Axis(
            values=_decades(left, right, plot),
            labelExpr="datum.value >= 0.001 ? format(datum.value, '~g') : "
            "format(datum.value, '.0e')",
            grid=False,
        ),
    )
    y = alt.Y(
        "y:Q",
        title=titles[1],
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=_round_numbers(low, high), format="~g", grid=True),
    )
    panels = []
    for name in names:
        cells = table[table["panel"] == name].assign(panel=name)
        cells["ink"] = (cells["share"] / cells["share"].max()) ** _EXPONENT
        cells = cells[cells["ink"] >= _INVISIBLE]
        chart = alt.Chart(inline(cells)).mark_rect(strokeWidth=0, aria=False)
        chart = chart.encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            color=alt.Color("ink:Q", scale=ink_scale(), legend=None),
            tooltip=[
                alt.Tooltip("x:Q", title=f"{titles[0]} from", format=".2g"),
                alt.Tooltip("y:Q", title=f"{titles[1]} from", format=".3g"),
                alt.Tooltip("share:Q", title="share of the pairs", format=".2%"),
            ],
        )
        heading = alt.TitleParams(
            [name, remarks[name]],
            anchor="start",
            frame="group",
            fontSize=LABEL,
            fontWeight="normal",
            color=LIGHT.text,
            offset=4,
        )
        panels.append(chart.properties(width=plot, height=_HEIGHT, title=heading))
    rows = [
        alt.hconcat(*panels[i : i + in_row], spacing=_GAP) for i in range(0, len(panels), in_row)
    ]
    return offline(publication(alt.vconcat(*rows, spacing=_GAP), title, width))


def _decades(low: float, high: float, pixels: float) -> list[float]:
    """Return powers of ten for the ticks of an axis, with space for their labels."""
    powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    most = max(2, min(_MOST_TICKS, int(pixels / _PIXELS_PER_TICK)))
    step = max(1, math.ceil(len(powers) / most))
    return [10.0**power for power in reversed(powers[::-1][::step])]


def _round_numbers(low: float, high: float) -> list[float]:
    """Return ticks at 1, 2 and 5 times powers of ten, or at powers of ten on a long axis."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = _STEPS if high / low < _LONG else (1.0,)
    ticks = [step * 10.0**power for power in powers for step in steps]
    return [tick for tick in ticks if low <= tick <= high]
