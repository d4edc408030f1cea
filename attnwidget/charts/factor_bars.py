"""Factors of a product, as bars on a logarithmic axis that begins at "equal"."""

from __future__ import annotations

import math

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.named_rows import row_keys, rows_by_key
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LABEL, LIGHT, WIDTH, fitted, publication, text_width
from attnwidget.text.factor_text import LARGEST_FACTOR, factor_text

_STEP = 22
"""Row height of each factor in pixels."""
_NAME = 220
"""Maximum width of a name in pixels."""
_APART = 48
"""Smallest distance between two ticks in pixels."""
_BESIDE = 6
"""Gap between a bar and its number in pixels."""


def factor_bars(
    frame: pd.DataFrame, *, title: str, value_title: str, width: int = WIDTH
) -> alt.LayerChart:
    """Draw a bar from "equal" to each factor, in the order of the frame; the last is the product.

    Factors beyond 100,000 end at 100,000, and those below its inverse at its inverse; their numbers
    say so.

    Args:
        frame: Table with the columns part, the name of a row, and value, the natural logarithm of
            its factor.
        title: Figure title; further lines become the subtitle.
        value_title: Meaning of the factors.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.factor_bars import factor_bars
        >>> frame = pd.DataFrame({"part": ["word", "together"], "value": [0.69, 0.69]})
        >>> len(factor_bars(frame, title="Factors", value_title="weight").layer)
        3
    """
    table = checked(frame, ["part", "value"], "factor_bars")
    largest = math.log(LARGEST_FACTOR)
    table["row"] = row_keys(list(table["part"]))
    table["factor"] = [factor_text(math.exp(min(value, 700.0))) for value in table["value"]]
    table["value"] = table["value"].clip(-largest, largest)
    table["whole"] = [False] * (len(table) - 1) + [True]
    low, high = min(0.0, float(table["value"].min())), max(0.0, float(table["value"].max()))
    # Numbers stand at the ends of the bars, so the scale is longer than the bars by one number.
    names = min(_NAME, max(map(text_width, table["part"])))
    number = max(map(text_width, table["factor"])) + 2 * _BESIDE
    plot = max(width - names - number * ((low < 0) + (high > 0)), 100)
    unit = (high - low or 1.0) / plot
    domain = [low - number * unit * (low < 0), high + number * unit * (high > 0 or low == 0)]
    ticks = factor_ticks(low, high, _APART * unit)
    labels = {f"{math.log(tick):.4f}": _tick_text(tick) for tick in ticks}
    x = alt.X(
        "value:Q",
        title=value_title,
        scale=alt.Scale(domain=domain, nice=False),
        axis=alt.Axis(
            grid=True,
            values=[math.log(tick) for tick in ticks],
            labelExpr=f"{labels}[format(datum.value, '.4f')]",
        ),
    )
    colors = [LIGHT.wrong if value < 0 else LIGHT.right for value in table["value"]]
    table["color"] = [*colors[:-1], LIGHT.rest]
    table["side"] = ["left" if value < 0 else "right" for value in table["value"]]
    base = alt.Chart(inline(table)).encode(
        y=rows_by_key(_NAME),
        tooltip=[alt.Tooltip("part:N"), alt.Tooltip("factor:N")],
    )
    bars = base.mark_bar(height=_STEP - 9).encode(
        x=x, x2=alt.datum(0.0), color=alt.Color("color:N", scale=None, legend=None)
    )
    equal = alt.Chart(alt.InlineData(values=[{"value": 0.0}])).mark_rule(color=LIGHT.text)
    layers = [bars, equal.encode(x=x)]
    for side in ("left", "right"):
        rows = table[table["side"] == side]
        if len(rows):
            texts = alt.Chart(inline(rows)).mark_text(
                align="right" if side == "left" else "left",
                dx=-_BESIDE if side == "left" else _BESIDE,
                color=LIGHT.text,
                fontSize=LABEL,
            )
            layers.append(texts.encode(y=alt.Y("row:N", sort=None), x=x, text="factor:N"))
    chart = fitted(alt.LayerChart(layer=layers), width, alt.Step(_STEP))
    return offline(publication(chart, title, width))


def factor_ticks(low: float, high: float, apart: float) -> list[float]:
    """Return the factors to label on an axis of logarithms: 1, and 2, 5, 10, 20 ... if they fit.

    Args:
        low: Smallest logarithm of the bars, at most 0.
        high: Largest logarithm of the bars, at least 0.
        apart: Smallest distance of two ticks, in logarithms.

    Example:
        >>> import math
        >>> from attnwidget.charts.factor_bars import factor_ticks
        >>> factor_ticks(0.0, math.log(700), 1.4)
        [1.0, 5.0, 50.0, 500.0]
    """
    steps = [digit * 10.0**power for power in range(6) for digit in (1, 2, 5)][1:16]
    ticks = [1.0]
    for step in steps:
        if math.log(step) <= high and math.log(step / ticks[-1]) >= apart:
            ticks.append(step)
    below = [1.0]
    for step in steps:
        if -math.log(step) >= low and math.log(below[-1] * step) >= apart:
            below.append(1 / step)
    return [*reversed(below[1:]), *ticks]


def _tick_text(tick: float) -> str:
    return "equal" if tick == 1 else f"× {tick:,g}"
