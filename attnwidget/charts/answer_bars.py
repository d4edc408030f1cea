"""Bar chart of answer probabilities."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, in_order, inline
from attnwidget.charts.named_rows import row_keys, rows_by_key
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, panel_width, publication, text_width
from attnwidget.text.xml_text import xml_texts

_STEP = 20
"""Row height of each answer in pixels."""
_NAME = 160
"""Maximum width of an answer's name in pixels."""
_BESIDE = 24
"""Width of the ticks and half the last axis label, in pixels."""


def answer_bars(
    frame: pd.DataFrame, *, title: str, value_title: str = "probability", width: int = WIDTH
) -> alt.VConcatChart:
    """Draw one panel per question and one bar per answer, with its probability now and before.

    Args:
        frame: Table with the columns question, answer and probability, in drawing order; an
            optional column before has earlier probabilities, which are drawn as vertical strokes.
        title: Figure title; further lines become the subtitle.
        value_title: Meaning of the fractions.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing, or if a value is not a fraction.

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
    # Two vocabulary entries may have the same text, so give each entry a separate row.
    table["row"] = row_keys(table["answer"].tolist())
    questions = in_order(table["question"])
    largest = float(table[names].max().max()) or 1.0
    answers = min(_NAME, max(map(text_width, table["answer"])))
    plot = panel_width(width, 1, gap=0, axis=answers + _BESIDE)
    panels = []
    for question in questions:
        panel = _panel(table[table["question"] == question], names, largest, value_title, plot)
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
