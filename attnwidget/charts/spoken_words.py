"""Transcript words on the time axis of the sound."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.named_rows import row_keys, rows_by_key
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, panel_width, publication, text_width
from attnwidget.text.xml_text import xml_texts

_STEP = 18
"""Row height of each word in pixels."""
_NAME = 140
"""Maximum width of a word in pixels."""
_BESIDE = 24
"""Width of the ticks and half the last axis label, in pixels."""


def spoken_words(
    frame: pd.DataFrame, *, title: str, seconds: float, width: int = WIDTH
) -> alt.LayerChart:
    """Draw one row per word, with a bar from the word's start to its end.

    Args:
        frame: Table with the columns word, start and end (in seconds), in drawing order.
        title: Figure title; further lines become the subtitle.
        seconds: Duration of the sound in seconds, where the axis ends.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.spoken_words import spoken_words
        >>> frame = pd.DataFrame({"word": ["two"], "start": [0.1], "end": [0.4]})
        >>> len(spoken_words(frame, title="Words", seconds=1.0).layer)
        1
    """
    table = checked(frame, ["word", "start", "end"], "spoken_words")
    table["word"] = xml_texts(table["word"].tolist())
    # A word may be spoken twice, so give each occurrence a separate row.
    table["row"] = row_keys(table["word"].tolist())
    names = min(_NAME, max(map(text_width, table["word"])))
    plot = panel_width(width, 1, gap=0, axis=names + _BESIDE)
    bars = (
        alt.Chart(inline(table))
        .mark_bar(color=LIGHT.series[0], height=_STEP - 8)
        .encode(
            x=alt.X(
                "start:Q",
                title="seconds",
                scale=alt.Scale(domain=[0, seconds]),
                axis=alt.Axis(grid=True),
            ),
            x2="end:Q",
            y=rows_by_key(_NAME),
            tooltip=[
                alt.Tooltip("word:N"),
                alt.Tooltip("start:Q", format=".2f"),
                alt.Tooltip("end:Q", format=".2f"),
            ],
        )
        .properties(width=plot, height=alt.Step(_STEP))
    )
    return offline(publication(alt.LayerChart(layer=[bars]), title, width))
