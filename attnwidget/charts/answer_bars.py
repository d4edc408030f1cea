"""The probabilities of a model's answers, a bar each."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, in_order, inline
from attnwidget.charts.named_rows import row_keys, rows_by_key
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, panel_width, publication, text_width
from attnwidget.text.xml_text import xml_texts

_STEP = 20
"""Pixels of an answer's row."""
_NAME = 160
"""Pixels of an answer's name at most."""
_BESIDE = 24
"""Pixels of the ticks and of half of the last number on the axis."""


def answer_bars(
    frame: pd.DataFrame, *, title: str, value_title: str = "probability", width: int = WIDTH
) -> alt.VConcatChart:
    """Draw a row per answer and a panel per question: the answer's probability, now and before.

    Args:
        frame: columns question, answer and probability, drawn in their order; with a column before,
            an upright stroke stands at that probability.
        title: what is shown; further lines become the subtitle.
        value_title: what the fractions are.
        width: pixels of the whole figure.

    Raises:
        ValueError: a column or every row is missing, or a value is no fraction.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.answer_bars import answer_bars
        >>> frame = pd.DataFrame({"question": "next", "answer": ["a"], "probability": [0.5]})
        >>> len(answer_bars(frame, title="Next tokens").vconcat)
        1
    """
    table = checked(frame, ["question", "answer"], "answer_bars")
    names = [name for name in ("probability", "before") if name in frame.columns]
    if "probability" not in names:
        raise ValueError("answer_bars needs the column probability as well")
    table[names] = frame[names].astype(float).to_numpy()
    if not ((table[names] > -1e-3) & (table[names] < 1 + 1e-3)).all(axis=None):
        raise ValueError("answer_bars takes fractions from 0 to 1")
    table["answer"] = xml_texts(table["answer"].tolist())
    # The same text may be two vocabulary entries: each has a row of its own.
    table["row"] = row_keys(table["answer"].tolist())
    questions = in_order(table["question"])
    most = float(table[names].max().max()) or 1.0
    answers = min(_NAME, max(map(text_width, table["answer"])))
    plot = panel_width(width, 1, gap=0, axis=answers + _BESIDE)
    panels = []
    for question in questions:
        panel = _panel(table[table["question"] == question], names, most, value_title, plot)
        panels.append(panel.properties(title=str(question)) if len(questions) > 1 else panel)
    return offline(publication(alt.VConcatChart(vconcat=panels), title, width))


def _panel(
    table: pd.DataFrame, names: list[str], most: float, value_title: str, width: int
) -> alt.LayerChart:
    scale = alt.Scale(domain=[0, most], nice=True)
    tooltip = [
        alt.Tooltip("answer:N"),
        *(alt.Tooltip(f"{name}:Q", format=".3~g") for name in names),
    ]
    base = alt.Chart(inline(table)).encode(
        y=rows_by_key(_NAME),
        tooltip=tooltip,
    )
    bars = base.mark_bar(color=LIGHT.series[0], opacity=0.85, height=_STEP - 8).encode(
        x=alt.X("probability:Q", title=value_title, scale=scale, axis=alt.Axis(grid=True))
    )
    layers = [bars]
    if "before" in names:
        stroke = base.mark_tick(color=LIGHT.text, thickness=2, size=_STEP - 4)
        layers.append(stroke.encode(x=alt.X("before:Q", scale=scale)))
    size = {"width": width, "height": alt.Step(_STEP)}
    return alt.LayerChart(layer=layers).properties(**size)
