"""Names of heads in a grid, layers down and heads across, shaded by strength."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attnwidget.charts.frame_columns import head_names, inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, publication

_WIDTH = 76
_HEIGHT = 22
_TEXT = 9
# Longest name that fits a cell.
_LETTERS = 15
# Shares of the largest strength above which the text is light.
_DARK = 0.55


def named_heads(names: ArrayLike, strengths: ArrayLike, *, title: str) -> alt.LayerChart:
    """Draw one cell a head: its name, shaded by strength. Heads without a name are empty.

    Args:
        names: Name of each head, strings [L, H]; "" = no name. Long names are cut at the end, and
            the tooltip has the whole name.
        strengths: From 0 to 1, [L, H].
        title: Title; further lines become the subtitle.

    Returns:
        An Altair chart that displays without network.

    Raises:
        ValueError: The arrays are not [L, H] of one shape.

    Example:
        >>> from attnwidget.charts.named_heads import named_heads
        >>> chart = named_heads([["sink", ""]], [[0.8, 0.0]], title="Heads")
        >>> len(chart.layer)
        2
    """
    labels = np.asarray(names, dtype=str)
    values = np.asarray(strengths, dtype=np.float64)
    if labels.ndim != 2 or labels.shape != values.shape:
        raise ValueError(
            f"names and strengths are [L, H] of one shape, got {labels.shape} and {values.shape}"
        )
    layer, head = (index.ravel() for index in np.indices(labels.shape))
    table = pd.DataFrame({"layer": layer, "head": head, "strength": values.ravel()})
    table = table.assign(says=labels.ravel(), name=head_names(table))
    table["text"] = [
        text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…" for text in table["says"]
    ]
    table["light"] = table["strength"] > _DARK
    heads, layers = (alt.Scale(domain=list(range(n))) for n in labels.shape[::-1])
    base = alt.Chart(inline(table)).encode(
        x=alt.X("head:O", title="head", scale=heads, axis=alt.Axis(orient="top", ticks=False)),
        y=alt.Y(
            "layer:O",
            title="layer",
            scale=layers,
            axis=alt.Axis(labelExpr="'L' + datum.value", ticks=False, domain=False),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("says:N", title="name"),
            alt.Tooltip("strength:Q", title="strength", format=NUMBER),
        ],
    )
    cells = base.mark_rect(stroke=LIGHT.ground, strokeWidth=1).encode(
        color=alt.Color(
            "strength:Q",
            title="strength",
            scale=alt.Scale(domain=[0.0, 1.0], range=list(LIGHT.ramp), interpolate="rgb"),
        )
    )
    texts = base.mark_text(fontSize=_TEXT).encode(
        text="text:N",
        color=alt.condition("datum.light", alt.value(LIGHT.ground), alt.value(LIGHT.text)),
    )
    chart = alt.LayerChart(layer=[cells, texts])
    chart = chart.properties(width=alt.Step(_WIDTH), height=alt.Step(_HEIGHT))
    return offline(publication(chart, title))
