"""Words of a transcript over the time of the sound."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.named_rows import row_keys, rows_by_key
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, panel_width, publication, text_width
from attnwidget.text.xml_text import xml_texts

_STEP = 18
"""Pixels of a word's row."""
_NAME = 140
"""Pixels of a word at most."""
_BESIDE = 24
"""Pixels of the ticks and of half of the last number on the axis."""


def spoken_words(
    frame: pd.DataFrame, *, title: str, seconds: float, width: int = WIDTH
) -> alt.LayerChart:
    """Draw a row per word, with a bar from its start to its end.

    Args:
        frame: columns word, start and end (seconds), drawn in their order.
        title: what is shown; further lines become the subtitle.
        seconds: length of the sound, the end of the axis.
        width: pixels of the whole figure.

    Raises:
        ValueError: a column or every row is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.spoken_words import spoken_words
        >>> frame = pd.DataFrame({"word": ["two"], "start": [0.1], "end": [0.4]})
        >>> len(spoken_words(frame, title="Words", seconds=1.0).layer)
        1
    """
    table = checked(frame, ["word", "start", "end"], "spoken_words")
    table["word"] = xml_texts(table["word"].tolist())
    # A word may be spoken twice: each has a row of its own.
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
