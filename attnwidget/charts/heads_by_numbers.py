"""Scatter plot of heads by two numbers, with names at the heads that stand out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnwidget.charts.frame_columns import checked, inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import SHAPES, legend_columns
from attnwidget.charts.theme import LABEL, LIGHT, LINE, PADDING, WIDTH, fitted, publication
from attnwidget.charts.theme import text_width as width_of

#: Families of names in legend order. A head without a name has the family "no name".
FAMILIES = ("neighbor", "grammar", "pronoun", "same word", "other name", "rests")
NO_NAME = "no name"
# Smallest distance of a head from the median of an axis, in interquartile ranges, for a label.
_FENCE = 1.2
_MOST = 11
"""Maximum number of labels."""
_HEIGHT = 340
_MARGIN = 0.05
"""Margin between the points and the edges of the plot, as a share of the axis."""
_POINT = 45
_RADIUS = 5.0
"""Radius of a point with its outline, in pixels."""
_BESIDE = 7
"""Distance of a label from its point in pixels."""
_AXIS = 60
"""Width of the y axis with its title in pixels."""
# Largest number of characters of a name in a label.
_LONGEST = 26

_Box = tuple[float, float, float, float]


def heads_by_numbers(
    frame: pd.DataFrame, *, x_title: str, y_title: str, title: str, width: int = WIDTH
) -> alt.LayerChart:
    """Draw each head as a point, at one number across and another number up.

    The color and the shape show the family of the head's name, and a hollow point has no name.
    Heads more than 1.2 interquartile ranges from the median of an axis have labels, the most
    distant first, as far as a label covers no point and no other label.

    Args:
        frame: Table with the columns layer and head (from 0), x, y, says (the name, or "") and
            family (one of `FAMILIES`, or `NO_NAME`); rows without a number are left out.
        x_title: Quantity and unit of x.
        y_title: Quantity and unit of y.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.heads_by_numbers import heads_by_numbers
        >>> frame = pd.DataFrame({"layer": 0, "head": [0, 1], "x": [0, 1], "y": [1, 0],
        ...                       "says": ["", "induction"], "family": ["no name", "same word"]})
        >>> chart = heads_by_numbers(frame, x_title="layer", y_title="loss", title="Heads")
        >>> chart.layer[0].mark.type
        'point'
    """
    columns = ["layer", "head", "x", "y", "says", "family"]
    table = checked(frame, columns, "heads_by_numbers")
    table = table.assign(name=row_names(table))
    spans = [_span(table[axis].to_numpy()) for axis in ("x", "y")]
    x, y = (
        axis(
            f"{name}:Q",
            title=said,
            scale=alt.Scale(domain=span, nice=False, zero=False),
            # Numbers of layers have no ticks between them.
            axis=alt.Axis(tickMinStep=1) if (table[name] % 1 == 0).all() else alt.Undefined,
        )
        for axis, name, said, span in zip(
            (alt.X, alt.Y), "xy", (x_title, y_title), spans, strict=True
        )
    )
    families = [name for name in (*FAMILIES, NO_NAME) if name in set(table["family"])]
    strokes = dict(
        zip((*FAMILIES, NO_NAME), (*LIGHT.families, LIGHT.rest, LIGHT.muted), strict=True)
    )
    fills = {**strokes, NO_NAME: LIGHT.ground}
    marks = dict(zip((*FAMILIES, NO_NAME), (*SHAPES, SHAPES[0]), strict=True))
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=legend_columns(families, width),
        symbolStrokeWidth=1.2,
    )
    points = alt.Chart(inline(table)).mark_point(size=_POINT, opacity=0.9, strokeWidth=1.2)
    points = points.encode(
        x=x,
        y=y,
        stroke=_scaled(alt.Stroke, families, strokes, legend),
        fill=_scaled(alt.Fill, families, fills, legend),
        shape=_scaled(alt.Shape, families, marks, legend),
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("says:N", title="name"),
            alt.Tooltip("x:Q", title=x_title, format=NUMBER),
            alt.Tooltip("y:Q", title=y_title, format=NUMBER),
        ],
    )
    layers = [points]
    labels = _labels(table, spans, width - 2 * PADDING - _AXIS)
    for _, rows in labels.groupby(["align", "dx", "dy"]):
        place: Any = rows.iloc[0]
        text = alt.Chart(inline(rows[["x", "y", "text"]])).mark_text(
            align=place["align"],
            dx=int(place["dx"]),
            dy=int(place["dy"]),
            fontSize=LABEL,
            color=LIGHT.text,
        )
        layers.append(text.encode(x=x, y=y, text="text:N"))
    chart = fitted(alt.LayerChart(layer=layers), width, _HEIGHT)
    return offline(publication(chart, title, width))


def stands_out(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each value is from the median, in units of the distance that gets a label.

    Heads with more than 1 stand out. The distance is 1.2 interquartile ranges. If more than half of
    the values are equal, every other value stands out.

    Args:
        values: Numbers of heads, [N].

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.heads_by_numbers import stands_out
        >>> (stands_out(np.array([0.1, 0.2, 0.3, 0.2, 0.9])) > 1).tolist()
        [False, False, False, False, True]
    """
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    fence = _FENCE * (high - low)
    distance = np.abs(values - median)
    if fence > 0:
        return distance / fence
    largest = distance.max(initial=0.0)
    return np.where(distance > 0, 1 + distance / (largest or 1.0), 0.0)


def _scaled(channel: type, domain: list[str], styles: dict[str, str], legend: alt.Legend) -> object:
    scale = alt.Scale(domain=domain, range=[styles[name] for name in domain])
    return channel("family:N", scale=scale, legend=legend)


def _span(values: NDArray[np.float64]) -> list[float]:
    low, high = float(values.min()), float(values.max())
    margin = _MARGIN * ((high - low) or abs(high) or 1.0)
    return [low - margin, high + margin]


def _labels(table: pd.DataFrame, spans: list[list[float]], width: float) -> pd.DataFrame:
    """Return the labels: x, y, text, align, dx and dy.

    Each label is beside, above or below its point, where it covers nothing. If the name of a head
    has no room, its label is only the head.
    """
    values = table[["x", "y"]].to_numpy()
    away = np.max([stands_out(values[:, axis]) for axis in range(2)], axis=0)
    (left, right), (low, high) = spans
    across = (values[:, 0] - left) / (right - left) * width
    down = (high - values[:, 1]) / (high - low) * _HEIGHT
    boxes: list[_Box] = []
    rows: list[dict[str, Any]] = []
    for number in np.argsort(-away, kind="stable"):
        if away[number] <= 1 or len(rows) == _MOST:
            break
        head, says = table["name"].iloc[number], table["says"].iloc[number]
        short = says if len(says) <= _LONGEST else ""
        for text in dict.fromkeys((f"{head} {short}".strip(), head)):
            place = next(
                (
                    (align, dx, dy)
                    for align, dx, dy, box in _places(across[number], down[number], text)
                    if _is_free(box, boxes, across, down, width)
                ),
                None,
            )
            if place is not None:
                align, dx, dy = place
                boxes.append(_box(across[number], down[number], text, align, dx, dy))
                rows.append(
                    {
                        "x": values[number, 0],
                        "y": values[number, 1],
                        "text": text,
                        "align": align,
                        "dx": dx,
                        "dy": dy,
                    }
                )
                break
    return pd.DataFrame(rows, columns=["x", "y", "text", "align", "dx", "dy"])


def _places(x: float, y: float, text: str) -> Iterator[tuple[str, int, int, _Box]]:
    """Yield the positions of a label: right, left, above and below."""
    for align, dx, dy in (
        ("left", _BESIDE, 0),
        ("right", -_BESIDE, 0),
        ("center", 0, -LINE),
        ("center", 0, LINE),
    ):
        yield align, dx, dy, _box(x, y, text, align, dx, dy)


def _box(x: float, y: float, text: str, align: str, dx: int, dy: int) -> _Box:
    size = width_of(text)
    left = x + dx - {"left": 0.0, "right": size, "center": size / 2}[align]
    return left, y + dy - LINE / 2, left + size, y + dy + LINE / 2


def _is_free(
    box: _Box,
    boxes: list[_Box],
    across: NDArray[np.float64],
    down: NDArray[np.float64],
    width: float,
) -> bool:
    """Return whether a label is inside the plot, and covers no point and no other label."""
    left, top, right, bottom = box
    if left < 0 or right > width or top < 0 or bottom > _HEIGHT:
        return False
    covered = (across > left - _RADIUS) & (across < right + _RADIUS)
    covered &= (down > top - _RADIUS + 3) & (down < bottom + _RADIUS - 3)
    # The point of the label itself is outside of its box.
    if covered.any():
        return False
    return all(
        right < other[0] or left > other[2] or bottom < other[1] or top > other[3]
        for other in boxes
    )
