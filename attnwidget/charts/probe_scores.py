"""How a trained probe compares with its baselines: a dot each, with its interval."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.offline import offline
from attnwidget.charts.theme import LIGHT, WIDTH, publication

_STEP = 22
"""Pixels of a row."""


def probe_scores(frame: pd.DataFrame, *, title: str, value_title: str) -> alt.LayerChart:
    """One row a predictor: its score with its interval; the first is the probe, the rest are grey.

    Args:
        frame: columns predictor, score, low and high, from 0 to 1, drawn in their order.
        title: what is shown; further lines become the subtitle.
        value_title: what the score is.

    Returns:
        An Altair chart that displays without network; `chart.save("figure.svg")` writes it.

    Raises:
        TypeError: `frame` is no data frame.
        ValueError: a column or every row is missing, or a predictor comes twice.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.probe_scores import probe_scores
        >>> row = {"predictor": "attention", "score": 0.61, "low": 0.6, "high": 0.62}
        >>> len(probe_scores(pd.DataFrame([row]), title="Probe", value_title="UAS").layer)
        2
    """
    table = checked(frame, ["predictor"], "probe_scores")
    numbers = ["score", "low", "high"]
    if missing := [name for name in numbers if name not in frame.columns]:
        raise ValueError(f"probe_scores needs the columns {', '.join(missing)} as well")
    if table["predictor"].duplicated().any():
        raise ValueError("probe_scores draws each predictor once: one comes twice")
    table[numbers] = frame[numbers].astype(float).to_numpy()
    table["probe"] = ["probe" if row == 0 else "baseline" for row in range(len(table))]
    colour = alt.Scale(domain=["probe", "baseline"], range=[LIGHT.series[0], LIGHT.rest])
    base = alt.Chart(inline(table)).encode(
        y=alt.Y(
            "predictor:N",
            sort=None,
            title=None,
            axis=alt.Axis(ticks=False, grid=True, labelLimit=200),
        ),
        color=alt.Color("probe:N", scale=colour, legend=None),
        tooltip=[
            alt.Tooltip("predictor:N"),
            *(alt.Tooltip(f"{name}:Q", format=".1%") for name in numbers),
        ],
    )
    x = alt.Scale(domain=[0, 1], nice=False)
    rules = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(
        x=alt.X("low:Q", scale=x, title=value_title, axis=alt.Axis(format="%", grid=True)),
        x2="high:Q",
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(x=alt.X("score:Q", scale=x))
    chart = alt.LayerChart(layer=[rules, dots])
    return offline(publication(chart.properties(width=WIDTH, height=alt.Step(_STEP)), title))
