"""The numbers of one head, each on a strip of all heads' numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnwidget.figures.printed import figures, whole
from attnwidget.figures.sheet import Sheet
from attnwidget.figures.sheet_layers import TITLE
from attnwidget.figures.text_width import text_width, wrapped
from attnwidget.figures.theme import LIGHT, Theme

_WIDEST, _PLOT, _GAP = 720, 96, 12
#: Room at both ends of a strip for a mark at an extreme, and the strip's height.
_END, _HEIGHT = 4, 16
_LINE, _ROW = 16, 36
_HEADINGS = ("metric", "value", "among all heads", "percentile")
# Of one tick; where heads crowd, their ticks add up.
_OPACITY, _MOST = 0.45, 6


def metric_strip(
    frame: pd.DataFrame,
    values: Sequence[NDArray[np.float64]],
    *,
    marked: Sequence[int],
    head: str,
    title: str,
    width: int | None = None,
    theme: Theme = LIGHT,
) -> alt.LayerChart:
    """A row a metric: a head's value and percentile, and a strip with a tick for every head.

    Args:
        frame: columns metric, value and percentile, one row a metric; NaN where there is no other
            head to compare with.
        values: float64 [heads] of each row.
        marked: indices of the selected heads; the last one is the head of the frame.
        head: its names, over the table; "" where none is selected, and the frame has no row.
        title: what is shown; further lines become the subtitle.
        width: pixels of the whole figure, 720 at most; None for 640.
        theme: LIGHT or DARK.

    Returns:
        An Altair chart that displays without network; `chart.save("figure.svg")` writes it.

    Raises:
        ValueError: a column is missing, or there are not as many strips as rows.

    Example:
        >>> import numpy as np
        >>> import pandas as pd
        >>> from attnwidget.figures.metric_strip import metric_strip
        >>> frame = pd.DataFrame({"metric": ["entropy"], "value": [2.0], "percentile": [100.0]})
        >>> chart = metric_strip(frame, [np.array([1.0, 0.5, 2.0])], marked=[2], head="L0 H2 · 1-3",
        ...                      title="Metrics of one head")
        >>> chart.save("strip.svg")  # doctest: +SKIP
    """
    if missing := [name for name in ("metric", "value", "percentile") if name not in frame.columns]:
        raise ValueError(f"metric_strip needs the columns {', '.join(missing)} as well")
    if len(values) != len(frame):
        raise ValueError(f"metric_strip has {len(frame)} rows and {len(values)} strips of heads")
    room = min((width or 640) - 16, _WIDEST)
    sheet = Sheet(theme)
    if not head:
        lines = wrapped("No head is selected: strip.selected = [(layer, head)].", 12, room)
        for i, line in enumerate(lines):
            sheet.text(0, 12 + _LINE * i, line, size=12)
        return sheet.chart(room, _LINE * len(lines) + 4, title=title)
    sheet.text(0, 13, head, size=TITLE, bold=True)
    rows = [
        (str(name), figures(float(value)), f"{whole(share)} %" if np.isfinite(share) else "–")
        for name, value, share in frame[["metric", "value", "percentile"]].itertuples(index=False)
    ]
    lefts, plot = _columns(rows, room)
    y = 36.0
    for heading, x, right in zip(_HEADINGS, lefts, (False, True, False, True), strict=True):
        sheet.text(x, y, heading, "muted", align="right" if right else "left")
    y += 9
    names = lefts[1] - _GAP - max(text_width(row[1], 12) for row in (*rows, _HEADINGS))
    for (name, value, share), heads in zip(rows, values, strict=True):
        sheet.line(f"M0,{y - 0.5:g}h{room:g}", "hairline")
        lines = wrapped(name, 12, names)
        for i, line in enumerate(lines):
            sheet.text(0, y + 16 + _LINE * i, line, size=12)
        sheet.text(lefts[1], y + 16, value, size=12, align="right")
        sheet.text(lefts[3], y + 16, share, size=12, align="right")
        _draw_strip(sheet, heads, marked, lefts[2], y + 4, plot)
        y += max(_ROW, _LINE * len(lines) + 8) + 1
    return sheet.chart(room, round(y), title=title)


def _columns(rows: Sequence[tuple[str, str, str]], room: float) -> tuple[list[float], float]:
    """Where the texts of each column stand, and how wide the strips are."""
    value = max(text_width(row[1], 12) for row in (*rows, _HEADINGS))
    share = max(text_width(row[2], 12) for row in rows)
    share = max(share, text_width(_HEADINGS[3], 11))
    name = max(text_width(row[0], 12) for row in (*rows, _HEADINGS))
    left = room - value - share - 3 * _GAP
    plot = max(_PLOT, min(0.55 * room, left - min(name, 0.25 * room)))
    place = room - share - _GAP - plot
    return [0.0, place - _GAP, place, room], plot


def _draw_strip(
    sheet: Sheet,
    heads: NDArray[np.float64],
    marked: Sequence[int],
    x: float,
    y: float,
    width: float,
) -> None:
    low, high = float(heads.min()), float(heads.max())
    share = (heads - low) / (high - low) if high > low else np.full(heads.shape, 0.5)
    places = _END + share * (width - 2 * _END)
    sheet.line(f"M{_END},{_HEIGHT - 0.5:g}h{width - 2 * _END:g}", "hairline", at=(x, y))
    # Ticks of equal darkness are one path: a thousand heads are drawn as fast as ten.
    crowds = Counter(np.round(2 * places).astype(int).tolist())
    for count in range(1, _MOST + 1):
        ticks = [p / 2 for p, n in crowds.items() if min(n, _MOST) == count]
        path = "".join(f"M{tick:g},5v10" for tick in sorted(ticks))
        if path:
            sheet.line(path, "muted", at=(x, y), opacity=round(1 - (1 - _OPACITY) ** count, 3))
    for i, index in enumerate(marked):
        at = round(float(places[index]), 2)
        sheet.line(f"M{at:g},3v12", "ground", at=(x, y), width=4)
        sheet.line(f"M{at:g},3v13", "accent", at=(x, y), width=2)
        if i == len(marked) - 1:
            sheet.area(f"M{at - 4:g},0h8l-4,5Z", "accent", at=(x, y))
    sheet.text(x + _END, y + 26, figures(low), "muted", size=10)
    sheet.text(x + width - _END, y + 26, figures(high), "muted", size=10, align="right")
