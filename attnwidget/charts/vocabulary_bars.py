"""Bar chart of the vocabulary entries with the largest and smallest scores, for some tokens."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, in_order, inline
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.named_rows import row_keys, rows_by_key
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, panel_width, publication, text_width
from attnwidget.text.xml_text import xml_texts

_STEP = 16
_NAME = 110
"""Maximum width of an answer's name in pixels."""
_BESIDE = 20
"""Width of the ticks and half the last axis label, in pixels."""
_GAP = 24
_IN_ROW = 2
"""Number of panels per row."""


def vocabulary_bars(
    frame: pd.DataFrame, *, title: str, value_title: str, width: int = WIDTH
) -> alt.VConcatChart:
    """Draw one panel per token with one bar per vocabulary entry, sorted by value.

    Args:
        frame: Table with the columns source (the panel), answer and score.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit of the scores.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.vocabulary_bars import vocabulary_bars
        >>> frame = pd.DataFrame({"source": "a", "answer": ["b", "c"], "score": [1.5, -0.5]})
        >>> len(vocabulary_bars(frame, title="Written", value_title="logit").vconcat)
        1
    """
    table = checked(frame, ["source", "answer"], "vocabulary_bars")
    if "score" not in frame.columns:
        raise ValueError("vocabulary_bars needs the column score as well")
    table["score"] = frame["score"].astype(float).to_numpy()
    table["source"] = xml_texts(table["source"].tolist())
    # Two vocabulary entries may have the same text, so give each entry a separate row.
    table["row"] = row_keys(table["answer"].tolist())
    limit = float(table["score"].abs().max()) or 1.0
    scale = alt.Scale(domain=[-limit, limit])
    answers = min(_NAME, max(map(text_width, table["answer"])))
    plot = panel_width(width, _IN_ROW, gap=_GAP, axis=answers + _BESIDE)
    panels = [
        _panel(table[table["source"] == source], str(source), scale, value_title, plot)
        for source in in_order(table["source"])
    ]
    rows = [
        alt.hconcat(*panels[i : i + _IN_ROW], spacing=_GAP) for i in range(0, len(panels), _IN_ROW)
    ]
    return offline(publication(alt.vconcat(*rows, spacing=_GAP), title, width))


def _panel(
    table: pd.DataFrame, source: str, scale: alt.Scale, value_title: str, width: int
) -> alt.Chart:
    color = alt.condition(alt.datum.score < 0, alt.value(LIGHT.wrong), alt.value(LIGHT.right))
    chart = alt.Chart(inline(table.sort_values("score", ascending=False, kind="stable")))
    chart = chart.mark_bar(height=_STEP - 5).encode(
        x=alt.X("score:Q", title=value_title, scale=scale, axis=alt.Axis(grid=True, tickCount=5)),
        y=rows_by_key(_NAME),
        color=color,
        tooltip=[
            alt.Tooltip("answer:N"),
            alt.Tooltip("score:Q", title=value_title, format=NUMBER),
        ],
    )
    return chart.properties(width=width, height=alt.Step(_STEP), title=source)
