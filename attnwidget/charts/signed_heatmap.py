"""Values of both signs as a heat map that diverges from 0."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attnwidget.charts.frame_columns import inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LABEL, LIGHT, publication
from attnwidget.text.xml_text import xml_texts

# Pixels of a cell at most and at least, of a side while cells can shrink, and of a named cell.
_CELL = 22
_SMALLEST = 4
_SIDE = 520
_NAMED = 9


def signed_heatmap(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    value_title: str,
    row_title: str,
    column_title: str,
) -> alt.Chart:
    """Numbers in rows and columns with names, shaded by sign and size; 0 is a neutral grey.

    Args:
        values: [R, C]; NaN cells stay empty.
        rows: The R names of the rows.
        columns: The C names of the columns.
        title: Title of the figure; further lines become the subtitle.
        value_title: Quantity and unit, over the colour bar.
        row_title: Meaning of the rows.
        column_title: Meaning of the columns.

    Returns:
        An Altair chart that displays without network; `chart.save("figure.svg")` writes it.

    Raises:
        ValueError: `values` is not [R, C], or holds no number or an infinite one.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.signed_heatmap import signed_heatmap
        >>> chart = signed_heatmap(np.array([[1.0, -1.0]]), ["a"], ["b", "c"], title="Two",
        ...                        value_title="score", row_title="query", column_title="key")
        >>> chart.mark.type
        'rect'
    """
    cells = np.asarray(values, dtype=np.float64)
    if cells.shape != (len(rows), len(columns)):
        raise ValueError(
            f"signed_heatmap takes one number a cell, [{len(rows)}, {len(columns)}], not "
            f"{list(cells.shape)}"
        )
    if np.isinf(cells).any() or not np.isfinite(cells).any():
        raise ValueError("signed_heatmap takes finite values, at least one")
    row, column = (places.ravel() for places in np.indices(cells.shape))
    table = pd.DataFrame({"row": row, "column": column, "value": cells.ravel()})
    table["down"] = np.asarray(rows, dtype=object)[row]
    table["across"] = np.asarray(columns, dtype=object)[column]
    most = float(np.nanmax(np.abs(cells))) or 1.0
    anchors = LIGHT.diverging
    domain = list(np.linspace(-most, most, len(anchors)))
    step = min(_CELL, max(_SMALLEST, _SIDE // max(cells.shape)))
    chart = alt.Chart(inline(table.dropna())).mark_rect(strokeWidth=0)
    chart = chart.encode(
        x=alt.X(
            "column:O",
            axis=_axis(columns, step, column_title, labelAngle=-90, orient="top"),
            scale=alt.Scale(domain=list(range(len(columns)))),
        ),
        y=alt.Y(
            "row:O",
            axis=_axis(rows, step, row_title),
            scale=alt.Scale(domain=list(range(len(rows)))),
        ),
        color=alt.Color(
            "value:Q",
            title=value_title,
            scale=alt.Scale(domain=domain, range=list(anchors), interpolate="rgb"),
        ),
        tooltip=[
            alt.Tooltip("down:N", title=row_title),
            alt.Tooltip("across:N", title=column_title),
            alt.Tooltip("value:Q", title=value_title, format=NUMBER),
        ],
    )
    chart = chart.properties(width=alt.Step(step), height=alt.Step(step))
    return offline(publication(chart, title))


def _axis(names: Sequence[str], step: int, title: str, **options: Any) -> alt.Axis:
    return alt.Axis(
        title=title,
        labels=step >= _NAMED,
        # Names may repeat, so the scale has their places and a label looks its name up.
        labelExpr=f"{json.dumps(xml_texts(names), ensure_ascii=False)}[datum.value]",
        labelOverlap=False,
        labelFontSize=min(LABEL, step),
        ticks=False,
        grid=False,
        domain=False,
        **options,
    )
