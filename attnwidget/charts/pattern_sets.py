"""Shares of attention patterns in sets of texts, for one or several models."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, in_order, inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import colors, legend_columns, ordered
from attnwidget.charts.theme import LIGHT, WIDTH, panel_width, publication, text_width
from attnwidget.hidden_frames import hides_frames

_STEP = 24
"""Row height in pixels."""
_GAP = 20
_BESIDE = 24
"""Width of the ticks and half the last axis label, in pixels."""
_ROUNDING = 1e-3


@hides_frames
def pattern_sets(frame: pd.DataFrame, *, title: str, width: int = WIDTH) -> alt.HConcatChart:
    """Draw the share of each pattern in each set of texts: Kovaleva et al. 2019, Figure 2.

    There is one bar per set of texts and one panel per model, in the order of the frame.

    Args:
        frame: Table with the columns texts (name of the set), model, pattern and value, a fraction.
            Rows with the same texts, model and pattern (layers and heads) are averaged.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing, if a value is not a fraction, if the
            fractions of a bar sum to more than 1, or if there are more patterns than colors.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts import pattern_sets
        >>> frame = pd.DataFrame({"texts": "letters", "model": ["before", "after"],
        ...                       "pattern": "vertical", "value": [0.5, 0.75]})
        >>> len(pattern_sets(frame, title="Patterns").hconcat)
        2
    """
    table = checked(frame, ["texts", "model", "pattern", "value"], "pattern_sets")
    if not table["value"].between(0, 1 + _ROUNDING).all():
        raise ValueError("pattern_sets takes fractions from 0 to 1, not counts or percentages")
    keys = ["texts", "model", "pattern"]
    table = table.groupby(keys, sort=False, as_index=False)[["value"]].mean()
    bars = table.groupby(["texts", "model"], as_index=False)["value"].sum()
    for texts, model, share in bars.itertuples(index=False, name=None):
        if share > 1 + _ROUNDING:
            raise ValueError(
                f"the fractions of {model!r} in {texts!r} sum to {share:.3g}: a map has one pattern"
            )
    names = ordered(table["pattern"])
    models = in_order(table["model"])
    table["order"] = table["pattern"].map(names.index)
    texts = max(map(text_width, map(str, in_order(table["texts"]))))
    plot = panel_width(width - texts - _BESIDE, len(models), gap=_GAP, axis=0)
    panels = []
    for number, model in enumerate(models):
        rows = table[table["model"] == model]
        marks = alt.Chart(inline(rows)).mark_bar(stroke=LIGHT.ground, strokeWidth=1, opacity=0.85)
        panel = marks.encode(
            x=alt.X(
                "value:Q",
                title="share of maps",
                axis=alt.Axis(format="%", grid=False, tickCount=3),
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y(
                "texts:N",
                title=None,
                sort=[str(text) for text in in_order(table["texts"])],
                axis=alt.Axis(labels=not number, ticks=False, domain=False),
            ),
            order="order:Q",
            color=alt.Color(
                "pattern:N",
                scale=colors(names, "pattern_sets"),
                legend=alt.Legend(
                    title=None,
                    orient="bottom",
                    columns=legend_columns(names, width),
                    symbolOpacity=0.85,
                ),
            ),
            tooltip=[
                "texts:N",
                "model:N",
                "pattern:N",
                alt.Tooltip("value:Q", title="share of maps", format=".1%"),
            ],
        )
        panels.append(panel.properties(width=plot, height=alt.Step(_STEP), title=str(model)))
    return offline(publication(alt.hconcat(*panels, spacing=_GAP), title, width))
