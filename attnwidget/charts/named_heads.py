"""Grid of head names, with layers as rows and heads as columns, shaded by strength."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain, count, product
from string import ascii_lowercase

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attnwidget.charts.color_bar import color_bar, color_bar_width
from attnwidget.charts.frame_columns import inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LIGHT,
    LIGHT_TEXT_FROM,
    PADDING,
    WIDTH,
    ink_scale,
    publication,
    text_width,
)

_TEXT = 10
_DOT = "•"
_LINE = _TEXT + 1
_AXIS = 46
"""Width of the layer labels in pixels."""
_NARROWEST = 20
_MARGIN = 4
"""Margin between a cell and its name in pixels."""
_LINES = 3
"""Maximum number of lines per name."""


def named_heads(
    names: ArrayLike,
    strengths: ArrayLike,
    *,
    title: str,
    only_dots: Collection[str] = (),
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw one cell per head with its name, shaded by strength; unnamed heads have empty cells.

    A letter replaces a name that does not fit into its cell. The subtitle explains the letters.
    Frequent names that say little have a dot instead, and no shade, so that the others stand out.

    Args:
        names: Name of each head, strings [L, H]; "" = no name.
        strengths: Strength of each head from 0 to 1, [L, H].
        title: Figure title; further lines become the subtitle.
        only_dots: Names that have a dot.
        width: Figure width in pixels.

    Raises:
        ValueError: If the arrays are not [L, H] or have different shapes.

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
    table = table.assign(says=labels.ravel(), name=row_names(table))
    available = width - 2 * PADDING - _AXIS - color_bar_width("strength")
    step = max(_NARROWEST, int(available) // labels.shape[1])
    lines_of = {name: _wrapped(name, step - _MARGIN) for name in labels.ravel()}
    lines_of |= {name: [_DOT] for name in only_dots}
    letters = _letters([name for name in labels.ravel() if name and not lines_of[name]])
    lines_of |= {name: [letter] for name, letter in letters.items()}
    # A no-break space keeps a letter and its name on one line.
    title += "\n" + ", ".join(f"{letter}\xa0{name}" for name, letter in letters.items())
    table["text"] = ["\n".join(lines_of[name]) for name in table["says"]]
    table["lines"] = [len(lines_of[name]) for name in table["says"]]
    table["shade"] = table["strength"].where(~table["says"].isin(list(only_dots)), 0.0)
    table["light"] = table["shade"] > LIGHT_TEXT_FROM
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
        color=alt.Color("shade:Q", scale=ink_scale(), legend=color_bar("strength"))
    )
    color = alt.condition("datum.light", alt.value(LIGHT.ground), alt.value(LIGHT.text))
    layers_of_chart = [cells]
    n_lines = max(map(len, lines_of.values()))
    for number in range(1, n_lines + 1):
        # Altair centers the first line of a text in its cell, so move longer texts up.
        text = base.mark_text(
            fontSize=_TEXT, lineBreak="\n", lineHeight=_LINE, dy=-_LINE * (number - 1) / 2
        )
        text = text.encode(text="text:N", color=color)
        layers_of_chart.append(text.transform_filter(f"datum.lines == {number}"))
    chart = alt.LayerChart(layer=layers_of_chart)
    height = max(1, n_lines) * _LINE + 2 * _MARGIN
    chart = chart.properties(width=alt.Step(step), height=alt.Step(height))
    return offline(publication(chart, title, width))


def _wrapped(text: str, width: float) -> list[str]:
    """Return the lines of a name in a cell; [] if the name does not fit."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, _TEXT) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    fits = len(lines) <= _LINES and all(text_width(line, _TEXT) <= width for line in lines)
    return lines if fits else []


def _letters(names: Sequence[str]) -> dict[str, str]:
    """Return a letter per name, in order of frequency; two letters per name after 26 names."""
    frequent = [name for name, _ in Counter(names).most_common()]
    letters = (product(ascii_lowercase, repeat=length) for length in count(1))
    return dict(zip(frequent, map("".join, chain.from_iterable(letters)), strict=False))
