"""Grid of the most likely answers, with one cell per layer and question."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, in_order, inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    LIGHT_TEXT_FROM,
    WIDTH,
    ink_scale,
    publication,
    text_width,
)
from attnwidget.text.xml_text import xml_texts

_WIDTH = 96
_NARROWEST = 48
_BESIDE = 110
"""Total width of color bar and padding in pixels."""
_HEIGHT = 20


def answer_grid(frame: pd.DataFrame, *, title: str, width: int = WIDTH) -> alt.LayerChart:
    """Draw one row per layer and one column per question, shaded by the answer's probability.

    Args:
        frame: Table with the columns row, question and answer, in drawing order, and value, a
            probability.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every value is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.answer_grid import answer_grid
        >>> frame = pd.DataFrame(
        ...     {"row": ["embeddings", "L0"], "question": "next", "answer": ["the", "cat"],
        ...      "value": [0.1, 0.9]}
        ... )
        >>> len(answer_grid(frame, title="Lens").layer)
        2
    """
    table = checked(frame, ["row", "question", "answer", "value"], "answer_grid")
    table["answer"] = xml_texts(list(table["answer"]))
    table["question"] = xml_texts(list(table["question"]))
    rows = [str(row) for row in in_order(table["row"])]
    questions = [str(question) for question in in_order(table["question"])]
    plain = alt.Axis(title=None, ticks=False, domain=False)
    base = alt.Chart(inline(table)).encode(
        x=alt.X("question:N", sort=questions, axis=plain),
        y=alt.Y("row:N", sort=rows[::-1], axis=plain),
        tooltip=[
            alt.Tooltip("row:N", title="after"),
            alt.Tooltip("answer:N"),
            alt.Tooltip("value:Q", title="probability", format=NUMBER),
        ],
    )
    cells = base.mark_rect(stroke=LIGHT.ground, strokeWidth=1).encode(
        color=alt.Color(
            "value:Q",
            title="probability",
            scale=ink_scale(),
        )
    )
    label_width = max(map(text_width, rows))
    column = min(_WIDTH, max(_NARROWEST, int(width - _BESIDE - label_width) // len(questions)))
    texts = base.mark_text(fontSize=LABEL, limit=column - 8).encode(
        text="answer:N",
        color=alt.condition(
            alt.datum.value > LIGHT_TEXT_FROM, alt.value(LIGHT.ground), alt.value(LIGHT.text)
        ),
    )
    chart = alt.LayerChart(layer=[cells, texts])
    return offline(
        publication(
            chart.properties(width=alt.Step(column), height=alt.Step(_HEIGHT)), title, width
        )
    )
