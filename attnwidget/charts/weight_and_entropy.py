"""Mean largest weight of each head against its entropy, with a marked corner for broad heads."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    LINE,
    PADDING,
    WIDTH,
    fitted,
    publication,
    text_width,
)
from attnwidget.text.percent import percent

_HEIGHT = 280
"""Height of the plot in pixels."""
_AXIS = 56
"""Width of the y axis in pixels."""
_BESIDE = 6
"""Gap between a point and its name in pixels."""
_MOST = 10
"""Maximum number of names."""
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def weight_and_entropy(
    frame: pd.DataFrame, *, corner: tuple[float, float], title: str, width: int = WIDTH
) -> alt.LayerChart:
    """Draw one point per head: the mean largest weight (log scale) against the entropy.

    Points in the corner of broad heads have a color. The heads at the ends of both axes, on either
    side of the corner, are named, and then further heads whose names have space.

    Args:
        frame: Table with the columns layer, head (both from 0), x (entropy in nats) and y (mean
            largest weight, 0 to 1).
        corner: Smallest entropy and largest weight in the corner.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.weight_and_entropy import weight_and_entropy
        >>> frame = pd.DataFrame({"layer": 0, "head": [0, 1], "x": [4.2, 1.0], "y": [0.05, 0.7]})
        >>> len(weight_and_entropy(frame, corner=(3.8, 0.1), title="Two heads").layer)
        6
    """
    table = checked(frame, ["layer", "head", "x", "y"], "weight_and_entropy")
    entropy, weight = corner
    table["inside"] = (table["x"] > entropy) & (table["y"] <= weight)
    table["name"] = row_names(table)
    high = max(float(table["x"].max()), entropy) * 1.06
    low = min(float(table["y"].min()), weight) * 0.8
    x = alt.X("x:Q", title="entropy in nats", scale=alt.Scale(domain=[0, high], nice=False))
    shares = [share for share in _SHARES if share >= low]
    log = alt.Scale(type="log", domain=[low, 1], nice=False)
    y = alt.Y(
        "y:Q",
        title="mean largest weight",
        scale=log,
        axis=alt.Axis(format="%", values=shares, grid=True),
    )
    area = pd.DataFrame({"x": [entropy], "x2": [high], "y": [low], "y2": [weight]})
    shade = alt.Chart(inline(area)).mark_rect(color=LIGHT.accent, opacity=0.09)
    shade = shade.encode(x=x, x2="x2:Q", y=y, y2="y2:Q")
    # Heads with small weights have a high entropy, so that there are no points left of the corner.
    label = area.assign(label=f"broad and at most {percent(weight)}")
    text = alt.Chart(inline(label)).mark_text(
        align="right",
        baseline="top",
        dx=-_BESIDE,
        dy=_BESIDE,
        fontSize=LABEL,
        color=LIGHT.accent,
    )
    text = text.encode(x=x, y=alt.Y("y2:Q", scale=log), text="label:N")
    edges = pd.DataFrame(
        {"x": [entropy, entropy, high], "y": [low, weight, weight], "step": range(3)}
    )
    edge = alt.Chart(inline(edges)).mark_line(color=LIGHT.accent, strokeDash=[4, 3], strokeWidth=1)
    edge = edge.encode(x=x, y=y, order="step:Q")
    color = alt.condition("datum.inside", alt.value(LIGHT.accent), alt.value(LIGHT.rest))
    points = alt.Chart(inline(table)).mark_point(filled=True, size=30, opacity=0.85)
    points = points.encode(
        x=x,
        y=y,
        color=color,
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("x:Q", title="entropy in nats", format=NUMBER),
            alt.Tooltip("y:Q", title="mean largest weight", format=".1%"),
        ],
    )
    plot = max(1.0, width - 2 * PADDING - _AXIS)
    rows = _named(table, _order(table, entropy), plot, high, low)
    names = [
        alt.Chart(inline(side))
        .mark_text(
            align="left" if is_right else "right",
            dx=_BESIDE if is_right else -_BESIDE,
            fontSize=LABEL,
        )
        .encode(x=x, y=y, text="name:N", color=color)
        for is_right, side in rows.groupby("is_right")
    ]
    chart = alt.LayerChart(layer=[shade, edge, text, points, *names])
    return offline(publication(fitted(chart, width, _HEIGHT), title, width))


def _named(
    table: pd.DataFrame, order: list[int], plot: float, high: float, low: float
) -> pd.DataFrame:
    """Return the heads whose names have space, with the side of the name."""
    pixels = np.column_stack(
        [
            table["x"].to_numpy() / high * plot,
            np.log(table["y"].to_numpy()) / np.log(low) * _HEIGHT,
        ]
    )
    boxes: list[tuple[float, float, float]] = []
    sides: dict[int, bool] = {}
    for row in order:
        across, down = pixels[row]
        size = text_width(str(table["name"].iloc[row]), LABEL)
        others = np.delete(pixels, row, axis=0)
        for is_right in (True, False):
            left = across + _BESIDE if is_right else across - _BESIDE - size
            right = left + size
            near = others[np.abs(others[:, 1] - down) < LINE / 2 + 2]
            is_free = (
                left >= 0
                and right <= plot
                and not ((near[:, 0] > left - 3) & (near[:, 0] < right + 3)).any()
                and all(
                    left > end + 2 or right < start - 2 or abs(down - level) > LINE
                    for start, end, level in boxes
                )
            )
            if is_free:
                sides[row] = is_right
                boxes.append((left, right, down))
                break
        if len(sides) == _MOST:
            break
    named = table.iloc[list(sides)]
    return named.assign(is_right=list(sides.values()))


def _order(table: pd.DataFrame, broad_entropy: float) -> list[int]:
    """Return the rows in the order in which they get names.

    The ends of both axes come first, then the broad heads with the largest weights, which are the
    exceptions to the paper's claim, then the most distant points.
    """
    x, y = table["x"].to_numpy(), table["y"].to_numpy()
    ends = [int(x.argmax()), int(x.argmin()), int(y.argmax())]
    outside = np.flatnonzero((x > broad_entropy) & ~table["inside"].to_numpy())
    exceptions = outside[np.argsort(-y[outside], kind="stable")][:3]
    distance = np.hypot(x - np.median(x), np.log(y / np.median(y)))
    farthest = np.argsort(-distance, kind="stable")
    return list(dict.fromkeys([*ends, *exceptions.tolist(), *farthest.tolist()]))
