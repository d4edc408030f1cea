"""Names of heads in a grid, layers down and heads across, shaded by strength."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attnwidget.charts.frame_columns import inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, ink_scale, publication, text_width

_TEXT = 10
_LINE = _TEXT + 1
_HEIGHT = 2 * _LINE + 8
_BESIDE = 110
"""Pixels of the layers' names and of the colour bar with its values."""
_NARROWEST = 24
# `text_width` is rounded up by about this number of pixels for a word.
_SPARE = 4
_LINES = 2
# Strength above which the text is light.
_DARK = 0.4


def named_heads(
    names: ArrayLike, strengths: ArrayLike, *, title: str, width: int = WIDTH
) -> alt.LayerChart:
    """Draw one cell per head: its name, shaded by strength. Heads without a name are empty.

    Args:
        names: Name of each head, strings [L, H]; "" = no name. Names are wrapped to two lines and
            cut at the end, and the tooltip has the whole name.
        strengths: From 0 to 1, [L, H].
        title: Title; further lines become the subtitle.
        width: Pixels of the whole figure.

    Raises:
        ValueError: The arrays are not [L, H] of one shape.

    Example:
        >>> from attnwidget.charts.named_heads import named_heads
        >>> chart = named_heads([["sink", ""]], [[0.8, 0.0]], title="Heads")
        >>> len(chart.layer)
        3
    """
    labels = np.asarray(names, dtype=str)
    values = np.asarray(strengths, dtype=np.float64)
    if labels.ndim != 2 or labels.shape != values.shape:
        raise ValueError(
            f"names and strengths are [L, H] of one shape, got {labels.shape} and {values.shape}"
        )
    layer, head = (index.ravel() for index in np.indices(labels.shape))
    table = pd.DataFrame({"layer": layer, "head": head, "strength": values.ravel()})
    table = table.assign(says=labels.ravel(), name=row_names(table))
    step = max(_NARROWEST, (width - _BESIDE) // labels.shape[1])
    table["text"] = ["\n".join(_wrapped(text, step + _SPARE)) for text in table["says"]]
    table["lines"] = [text.count("\n") + bool(text) for text in table["text"]]
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
            scale=ink_scale(),
        )
    )
    colour = alt.condition("datum.light", alt.value(LIGHT.ground), alt.value(LIGHT.text))
    drawn = [cells]
    for n_lines in range(1, _LINES + 1):
        # The first line of a text is in the middle of its cell, so move the text up.
        text = base.mark_text(
            fontSize=_TEXT, lineBreak="\n", lineHeight=_LINE, dy=-_LINE * (n_lines - 1) / 2
        )
        text = text.encode(text="text:N", color=colour)
        drawn.append(text.transform_filter(f"datum.lines == {n_lines}"))
    chart = alt.LayerChart(layer=drawn)
    chart = chart.properties(width=alt.Step(step), height=alt.Step(_HEIGHT))
    return offline(publication(chart, title, width))


def _wrapped(text: str, width: float) -> list[str]:
    """Return the words of a name in at most two lines of a width in pixels; the rest is cut."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, _TEXT) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    is_cut = len(lines) > _LINES
    return [
        _shortened(line, width, dots=is_cut and number == _LINES - 1)
        for number, line in enumerate(lines[:_LINES])
    ]


def _shortened(line: str, width: float, *, dots: bool) -> str:
    """Return a line without the letters that do not fit, with dots in their place."""
    while line and text_width(f"{line}…" if dots else line, _TEXT) > width:
        line = line[:-1]
        dots = True
    return f"{line}…" if dots else line
