"""Several numbers a head: one small heat map each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from attnwidget.figures.columns import head_names, inline
from attnwidget.figures.layers import NUMBER
from attnwidget.figures.offline import offline
from attnwidget.figures.theme import LABEL, LIGHT, WIDTH, publication

_CELL = 14
_COLUMNS = 3


def head_panels(
    values: Mapping[str, ArrayLike], *, title: str, value_title: str
) -> alt.VConcatChart:
    """One heat map a quantity, layers down and heads across, three in a row.

    Every panel is shaded from 0 to its own largest value, which its title gives: what is large in
    one may be nothing in another.

    Args:
        values: [L, H] by the panel's name, none negative; NaN, a head that was not measured, is
            left empty.
        title: what is shown; further lines become the subtitle.
        value_title: quantity and unit, beside each value that is pointed at.

    Returns:
        An Altair chart that displays without network; `chart.save("figure.svg")` writes it.

    Raises:
        ValueError: no panel, shapes that differ, or a value that is negative or infinite.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.panels_of_heads import head_panels
        >>> chart = head_panels({"NOUN": np.eye(6, 12)}, title="Features", value_title="weight")
        >>> len(chart.vconcat)
        1
    """
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) != 1 or any(len(shape) != 2 for shape in shapes.values()):
        raise ValueError(f"head_panels takes one or more arrays [L, H] of one shape, not {shapes}")
    for name, array in arrays.items():
        if np.isinf(array).any() or (array < 0).any():
            raise ValueError(f"head_panels takes finite values from 0 on; {name!r} has others")
    panels = [_panel(name, array, value_title) for name, array in arrays.items()]
    rows = [
        alt.hconcat(*panels[i : i + _COLUMNS]).resolve_scale(color="independent")
        for i in range(0, len(panels), _COLUMNS)
    ]
    chart = alt.vconcat(*rows).resolve_scale(color="independent")
    return offline(publication(chart, title))


def _panel(name: str, array: NDArray[np.float64], value_title: str) -> alt.Chart:
    layer, head = (index.ravel() for index in np.indices(array.shape))
    table = pd.DataFrame({"layer": layer, "head": head, "value": array.ravel()}).dropna()
    table = table.assign(name=head_names(table))
    top = float(table["value"].max()) if len(table) else 0.0
    layers, heads = (alt.Scale(domain=list(range(n))) for n in array.shape)
    step = min(_CELL, max(6, WIDTH // (_COLUMNS * array.shape[1])))
    axis: dict[str, Any] = {
        "labelOverlap": "parity",
        "ticks": False,
        "grid": False,
        "domain": False,
    }
    by_layer = alt.Axis(labelExpr="'L' + datum.value", **axis)
    chart = alt.Chart(inline(table)).mark_rect(stroke=LIGHT.ground, strokeWidth=1)
    chart = chart.encode(
        x=alt.X("head:O", axis=alt.Axis(**axis), title="head", scale=heads),
        y=alt.Y("layer:O", axis=by_layer, title="layer", scale=layers),
        color=alt.Color(
            "value:Q",
            legend=None,
            scale=alt.Scale(domain=[0.0, top or 1.0], range=list(LIGHT.ramp), interpolate="rgb"),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("value:Q", title=f"{name}: {value_title}", format=NUMBER),
        ],
    )
    header = alt.TitleParams(
        f"{name}: up to {top:.2g}", anchor="start", frame="group", fontSize=LABEL + 1, offset=4
    )
    return chart.properties(width=alt.Step(step), height=alt.Step(step), title=header)
