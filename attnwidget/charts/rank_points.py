"""Values of tokens against the rank of their frequency, with the median of similar ranks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
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

_MOST = 1_500
"""Maximum number of points."""
_PER_DECADE = 4
"""Medians per factor of ten of the rank."""
_FEWEST = 3
"""Smallest number of tokens of a median."""
_AXIS = 40
_BESIDE = 6
_NAMES = 8
"""Maximum number of named tokens."""


def rank_points(
    frame: pd.DataFrame,
    *,
    reference: Mapping[str, float],
    titles: tuple[str, str],
    title: str,
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw one point per token: its value against its rank, on a logarithmic axis of ranks.

    This is Kobayashi et al. 2020, Figure 5. Of more than 1,500 tokens, evenly spaced ranks are
    drawn, and the subtitle says so; the line includes all tokens. The most frequent tokens are
    named where there is space.

    Args:
        frame: Table with the columns token, rank (1 = most frequent) and value.
        reference: Values of dashed lines by name.
        titles: Titles of the x axis and of the y axis.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.rank_points import rank_points
        >>> frame = pd.DataFrame({"token": ["the", "cat"], "rank": [1, 2], "value": [1.0, 2.0]})
        >>> chart = rank_points(frame, reference={}, titles=("rank", "norm"), title="Norms")
        >>> chart.layer[0].mark.type
        'point'
    """
    table = checked(frame, ["token", "rank", "value"], "rank_points")
    table = table.astype({"rank": float, "value": float}).sort_values("rank")
    step = -(-len(table) // _MOST)
    points = table.iloc[::step]
    if step > 1:
        title += f"; {len(points):,} of {len(table):,} points are drawn"
    low = min(0.0, float(table["value"].min()))
    high = max([float(table["value"].max()), *reference.values()]) * 1.06
    end = float(table["rank"].max()) * 1.1
    begin = min(0.7, float(table["rank"].min()) * 0.7)
    x = alt.X(
        "rank:Q",
        title=titles[0],
        scale=alt.Scale(type="log", domain=[begin, end], nice=False),
        axis=alt.Axis(values=_powers(end), format="~s", grid=False),
    )
    y = alt.Y("value:Q", title=titles[1], scale=alt.Scale(domain=[low, high], nice=False))
    labels = [f"{name} {value:.2f}" for name, value in reference.items()]
    beside = max(map(text_width, labels), default=0) + _BESIDE
    tooltip = [
        alt.Tooltip("token:N"),
        alt.Tooltip("rank:Q", format="~r"),
        alt.Tooltip("value:Q", title=titles[1], format=NUMBER),
    ]
    cloud = alt.Chart(inline(points)).mark_point(
        filled=True, size=12, opacity=0.45, color=LIGHT.rest
    )
    layers = [
        cloud.encode(x=x, y=y, tooltip=tooltip),
        alt.Chart(inline(_medians(table)))
        .mark_line(color=LIGHT.accent, strokeWidth=2)
        .encode(x=x, y=y),
    ]
    plot = max(1.0, width - 2 * PADDING - _AXIS - beside)
    named = _named(table, plot, (begin, end), (low, high))
    names = alt.Chart(inline(named)).mark_text(
        baseline="bottom", dy=-_BESIDE / 2, fontSize=LABEL, color=LIGHT.text
    )
    layers.append(names.encode(x=x, y=y, text="token:N"))
    if reference:
        rows = [
            {"value": value, "name": label}
            for value, label in zip(reference.values(), labels, strict=True)
        ]
        base = alt.Chart(alt.InlineData(values=rows)).encode(y=y)
        layers.append(base.mark_rule(color=LIGHT.muted, strokeDash=[4, 3], strokeWidth=1))
        for row, place in zip(rows, _apart([*reference.values()], high - low), strict=True):
            text = alt.Chart(alt.InlineData(values=[{**row, "value": place}]))
            text = text.mark_text(align="left", dx=_BESIDE, fontSize=LABEL, color=LIGHT.muted)
            layers.append(text.encode(x=alt.value("width"), y=y, text="name:N"))
    chart = alt.LayerChart(layer=layers)
    return offline(publication(fitted(chart, width, HEIGHT), title, width))


def _powers(end: float) -> list[float]:
    return [10.0**power for power in range(int(np.log10(max(end, 1.0))) + 1)]


def _medians(table: pd.DataFrame) -> pd.DataFrame:
    """Return the median of tokens of similar rank, with at least three tokens each."""
    groups = np.floor(np.log10(table["rank"].to_numpy()) * _PER_DECADE)
    medians = [
        {"rank": rows["rank"].median(), "value": rows["value"].median()}
        for _, rows in table.groupby(groups)
        if len(rows) >= _FEWEST
    ]
    return pd.DataFrame(medians, columns=["rank", "value"])


def _named(
    table: pd.DataFrame, plot: float, across: tuple[float, float], down: tuple[float, float]
) -> pd.DataFrame:
    """Return the most frequent tokens whose names, above their points, have space."""
    x = np.log(table["rank"].to_numpy() / across[0]) / np.log(across[1] / across[0]) * plot
    y = (table["value"].to_numpy() - down[0]) / (down[1] - down[0]) * HEIGHT
    boxes: list[tuple[float, float, float]] = []
    rows: list[int] = []
    for row in range(min(len(table), 3 * _NAMES)):
        half = text_width(str(table["token"].iloc[row])) / 2 + 2
        level = y[row] + _BESIDE + LINE / 2
        is_near = (np.abs(x - x[row]) < half) & (np.abs(y - level) < LINE / 2)
        is_near[row] = False
        is_free = (
            x[row] - half >= 0
            and not is_near.any()
            and all(
                x[row] - half > end or x[row] + half < start or abs(level - other) > LINE
                for start, end, other in boxes
            )
        )
        if is_free:
            rows.append(row)
            boxes.append((x[row] - half, x[row] + half, level))
        if len(rows) == _NAMES:
            break
    return table.iloc[rows]


def _apart(values: list[float], span: float) -> list[float]:
    """Return the heights of the labels of lines, at least one line of text apart."""
    least = LINE * span / HEIGHT
    places = list(values)
    order = sorted(range(len(values)), key=values.__getitem__)
    for below, above in itertools.pairwise(order):
        places[above] = max(places[above], places[below] + least)
    return places
