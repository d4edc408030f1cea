"""Values of picture boxes, drawn at the boxes' positions."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attnwidget.charts.frame_columns import inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import WIDTH, ink_scale, panel_width, publication
from attnwidget.text.places import Box

_BESIDE = 110
"""Width of the color bar with its title in pixels."""
_HIGHEST = 420
"""Maximum height of the picture in pixels."""


def box_values(
    boxes: Sequence[Box],
    values: ArrayLike,
    *,
    size: tuple[int, int],
    title: str,
    value_title: str,
    width: int = WIDTH,
) -> alt.Chart:
    """Draw a rectangle per box, shaded by its value from 0, which has the background color.

    Args:
        boxes: Boxes of one picture, in picture pixels.
        values: Non-negative number per box, [n].
        size: Height and width of the picture in pixels.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit, above the color bar.
        width: Figure width in pixels.

    Raises:
        ValueError: If there is no box, or if a value is missing, negative or not finite.

    Example:
        >>> from attnwidget.charts.box_values import box_values
        >>> from attnwidget.results import Box
        >>> box = Box(0, 0, 0, 16, 16)
        >>> chart = box_values([box], [2.0], size=(16, 16), title="One", value_title="norm")
        >>> chart.mark.type
        'rect'
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not boxes or numbers.shape != (len(boxes),):
        raise ValueError(
            f"box_values takes one number for each box, [{len(boxes)}], not {list(numbers.shape)}"
        )
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise ValueError("box_values takes finite values of 0 or more")
    table = pd.DataFrame(
        [(box.left, box.top, box.right, box.bottom) for box in boxes],
        columns=["left", "top", "right", "bottom"],
    ).assign(value=numbers)
    height, across = size
    scale = min(panel_width(width, 1, gap=0, axis=_BESIDE) / across, _HIGHEST / height)

    def along(side: int, *, down: bool = False) -> alt.Scale:
        return alt.Scale(domain=[0, side], reverse=down, nice=False, zero=True)

    pixels = alt.Axis(grid=False)
    chart = (
        alt.Chart(inline(table))
        .mark_rect(strokeWidth=0)
        .encode(
            x=alt.X("left:Q", title="pixels", scale=along(across), axis=pixels),
            x2="right:Q",
            y=alt.Y("top:Q", title="pixels", scale=along(height, down=True), axis=pixels),
            y2="bottom:Q",
            color=alt.Color(
                "value:Q",
                title=value_title,
                scale=ink_scale(float(numbers.max())),
            ),
            tooltip=[alt.Tooltip("value:Q", title=value_title, format=NUMBER)],
        )
        .properties(width=round(across * scale), height=round(height * scale))
    )
    return offline(publication(chart, title, width))
