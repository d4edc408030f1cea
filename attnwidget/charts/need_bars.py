"""Attention and need of each word, as two columns of bars with the same rows."""

from __future__ import annotations

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.named_rows import row_keys, rows_by_key
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import LIGHT, WIDTH, panel_width, publication, text_width

_STEP = 18
"""Row height of each word in pixels."""
_NAME = 110
"""Maximum width of a word in pixels."""
_GAP = 24
_BESIDE = 24
"""Width of half the last axis label, in pixels."""


def need_bars(
    frame: pd.DataFrame,
    *,
    title: str,
    attention_title: str,
    need_title: str,
    width: int = WIDTH,
) -> alt.HConcatChart:
    """Draw the attention to each word next to what the answer loses without the word.

    Both panels have the same scale, so that lengths can be compared. Words that are not compared,
    such as special tokens, are gray on the left. A gain is an empty bar to the left of zero.

    Args:
        frame: Table with the columns word, x (the attention, 0 to 1), value (the loss of
            probability) and compared, in the order of the text.
        title: Figure title; further lines become the subtitle.
        attention_title: Meaning of the attention.
        need_title: Meaning of the loss.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every row is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.need_bars import need_bars
        >>> frame = pd.DataFrame({"word": ["[CLS]", "that"], "x": [0.4, 0.1],
        ...                       "value": [0.05, 0.33], "compared": [False, True]})
        >>> titles = {"attention_title": "attention", "need_title": "loss"}
        >>> len(need_bars(frame, title="Need", **titles).hconcat)
        2
    """
    table = checked(frame, ["word", "x", "value"], "need_bars")
    table["compared"] = frame.loc[frame["value"].notna(), "compared"].astype(bool).to_numpy()
    table["row"] = row_keys(list(table["word"]))
    table["gain"] = table["value"] < 0
    highest = max(float(table["x"].max()), float(table["value"].max()), 0.01)
    lowest = min(float(table["value"].min()), 0.0)
    names = min(_NAME, max(map(text_width, table["word"])))
    plot = panel_width(width, 2, gap=_GAP, axis=names // 2 + _BESIDE)
    share = highest / (highest - lowest)
    base = alt.Chart(inline(table)).encode(
        tooltip=[
            alt.Tooltip("word:N"),
            alt.Tooltip("x:Q", title=attention_title, format=".1%"),
            alt.Tooltip("value:Q", title=need_title, format=".1%"),
        ]
    )
    axis = alt.Axis(format="%", grid=True, tickCount=4)
    left = base.mark_bar(height=_STEP - 7).encode(
        y=rows_by_key(_NAME),
        x=alt.X(
            "x:Q",
            title=attention_title,
            axis=axis,
            scale=alt.Scale(domain=[0, highest], nice=False),
        ),
        color=alt.condition(alt.datum.compared, alt.value(LIGHT.series[0]), alt.value(LIGHT.rest)),
    )
    right = base.mark_bar(height=_STEP - 7, stroke=LIGHT.wrong, strokeWidth=1).encode(
        y=alt.Y("row:N", sort=None, axis=None),
        x=alt.X(
            "value:Q",
            title=need_title,
            axis=axis,
            scale=alt.Scale(domain=[lowest, highest], nice=False),
        ),
        color=alt.condition(alt.datum.gain, alt.value(LIGHT.ground), alt.value(LIGHT.wrong)),
    )
    # Equal lengths of both panels are equal shares.
    left_width = int(2 * plot * share / (1 + share))
    panels = alt.hconcat(
        left.properties(width=left_width, height=alt.Step(_STEP)),
        right.properties(width=2 * plot - left_width, height=alt.Step(_STEP)),
        spacing=_GAP,
    )
    return offline(publication(panels, title, width))
