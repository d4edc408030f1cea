"""One number a head as a heat map, layers down and heads across."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from attnwidget.figures.columns import head_names, inline
from attnwidget.figures.layers import NUMBER
from attnwidget.figures.offline import offline
from attnwidget.figures.theme import LABEL, LIGHT, WIDTH, publication

_CELL = 26


def head_heatmap(values: ArrayLike, *, title: str, value_title: str) -> alt.LayerChart:
    """Any metric of all heads: one cell a head.

    Values of one sign are shaded from 0, which is the page's ground; values of both signs diverge
    from a neutral grey at 0. NaN, a head that was not measured, is a cross.

    Args:
        values: [L, H].
        title: what is shown; further lines become the subtitle.
        value_title: quantity and unit, over the colour bar.

    Returns:
        An Altair chart that displays without network; `chart.save("figure.svg")` writes it.

    Raises:
        ValueError: `values` is not [L, H] or holds no finite number, or an infinite one.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.heads import head_heatmap
        >>> chart = head_heatmap(np.eye(6, 12), title="Heads", value_title="weight")
        >>> chart.save("heads.svg")  # doctest: +SKIP
    """
    heads = _checked(values)
    layer, head = (index.ravel() for index in np.indices(heads.shape))
    table = pd.DataFrame({"layer": layer, "head": head, "value": heads.ravel()})
    table = table.assign(name=head_names(table))
    base = alt.Chart().encode(
        x=alt.X("head:O", axis=_axis("datum.value", orient="top", title="head")),
        y=alt.Y("layer:O", axis=_axis("'L' + datum.value", title="layer", domain=False)),
    )
    cells = base.mark_rect(stroke=LIGHT.ground, strokeWidth=1).encode(
        color=alt.Color("value:Q", title=value_title, scale=_scale(heads)),
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("value:Q", title=value_title, format=NUMBER),
        ],
    )
    measured = table["value"].notna()
    layers = [cells.properties(data=inline(table[measured]))]
    if not measured.all():
        crosses = base.mark_text(text="×", color=LIGHT.muted, fontSize=LABEL)
        layers.append(crosses.properties(data=inline(table.loc[~measured, ["layer", "head"]])))
    step = alt.Step(min(_CELL, max(10, WIDTH // heads.shape[1])))
    chart = alt.LayerChart(layer=layers).properties(width=step, height=step)
    return offline(publication(chart, title))


def _checked(values: ArrayLike) -> NDArray[np.float64]:
    heads = np.asarray(values, dtype=np.float64)
    if heads.ndim != 2 or not heads.size:
        raise ValueError(f"head_heatmap takes one number a head, [L, H], not {heads.shape}")
    if np.isinf(heads).any() or np.isnan(heads).all():
        raise ValueError("head_heatmap needs finite values; these are infinite or all NaN")
    return heads


def _axis(label: str, **options: Any) -> alt.Axis:
    return alt.Axis(labelExpr=label, labelOverlap="parity", ticks=False, grid=False, **options)


def _scale(heads: NDArray[np.float64]) -> alt.Scale:
    low, high = float(np.nanmin(heads)), float(np.nanmax(heads))
    if low < 0 < high:
        reach = max(-low, high)
        domain, colours = [-reach, 0.0, reach], LIGHT.diverging
    elif low < 0:
        domain, colours = [low, 0.0], LIGHT.ramp[::-1]
    else:
        domain, colours = [0.0, high or 1.0], LIGHT.ramp
    return alt.Scale(domain=domain, range=list(colours), interpolate="rgb")
