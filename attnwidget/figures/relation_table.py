"""The best head of each relation as a table, beside every head on one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import pandas as pd

from attnwidget.figures.paths import rectangle
from attnwidget.figures.printed import percent, signed
from attnwidget.figures.relation_heat import RelationHeat, draw_heat
from attnwidget.figures.sheet import Align, Sheet
from attnwidget.figures.text_width import text_width, wrapped
from attnwidget.figures.theme import LIGHT, Theme

#: Column of the frame, its heading, and where its texts stand.
COLUMNS: Sequence[tuple[str, str, Align]] = (
    ("relation", "relation", "left"),
    ("n", "n", "right"),
    ("head", "best head", "right"),
    ("direction", "direction", "left"),
    ("accuracy", "accuracy %", "left"),
    ("baseline", "offset %", "right"),
    ("gain", "gain", "right"),
)
NOTHING = "No relation is left: search for less, or ask for fewer words."
_ROW, _HEADING, _NAME, _TEXT = 25, 25, 4, 12
_NEEDED = [
    *("relation", "n", "layer", "head", "direction", "accuracy", "low", "high"),
    *("baseline", "offset", "gain", "significant"),
]
_BESIDE, _SPACE, _ASIDE = 640, 24, 384
_STAR = 9


@dataclass(frozen=True)
class _Look:
    """How wide things are."""

    pad: int
    bar: int
    intervals: bool


_WIDE = _Look(pad=12, bar=96, intervals=True)
_NARROW = _Look(pad=5, bar=32, intervals=False)


def relation_table(
    frame: pd.DataFrame,
    *,
    heat: RelationHeat,
    sort: str,
    descending: bool,
    said: str,
    title: str,
    width: int | None = None,
    theme: Theme = LIGHT,
) -> alt.LayerChart:
    """A row a relation: its best head, accuracy with interval and baseline, gain; and one map.

    The bar is the accuracy, the line across it the 95 % interval, the tick the best fixed offset;
    an asterisk marks what is significant. The row of `heat.relation` is marked. The map stands
    beside the table from 640 pixels on where both fit, else below.

    Args:
        frame: columns relation, n, layer, head, direction, accuracy, low, high, baseline, offset,
            gain and significant, one row a relation, drawn in their order; shares from 0 to 1.
        heat: every head on the chosen relation.
        sort: the column of `COLUMNS` that the rows are ordered by.
        descending: whether the largest comes first.
        said: what stands over the table: how many rows of how many.
        title: what is shown; further lines become the subtitle.
        width: pixels of the whole figure; None for as many as it takes.
        theme: LIGHT or DARK.

    Returns:
        An Altair chart that displays without network; `chart.save("figure.svg")` writes it.

    Raises:
        ValueError: a column is missing.

    Example:
        >>> import numpy as np
        >>> import pandas as pd
        >>> from attnwidget.figures.relation_heat import RelationHeat
        >>> from attnwidget.figures.relation_table import relation_table
        >>> row = {"relation": "obj", "n": 1591, "layer": 0, "head": 1, "accuracy": 0.87,
        ...        "low": 0.85, "high": 0.88, "baseline": 0.4, "offset": -2, "significant": True,
        ...        "gain": 0.47, "direction": "dependent to governor"}
        >>> heat = RelationHeat("obj", "dependent to governor", np.array([[0.1, 0.87]]),
        ...                     np.array([[False, True]]), [(0, 1)], "L0 H1: 87 %")
        >>> chart = relation_table(pd.DataFrame([row]), heat=heat, sort="n", descending=True,
        ...                        said="1 of 1 rows", title="Direct objects")
        >>> chart.save("relations.svg")  # doctest: +SKIP
    """
    if missing := [name for name in _NEEDED if name not in frame.columns]:
        raise ValueError(f"relation_table needs the columns {', '.join(missing)} as well")
    rows = [_printed(row) for row in frame[_NEEDED].itertuples(index=False)]
    room = width - 16 if width else None
    look, beside = _chosen(rows, heat, room)
    columns = _columns(rows, look)
    table = max(_span(columns, look), text_width(said, 11))
    sheet = Sheet(theme)
    if not rows:
        table = max(table, min(room or 480, 480))
    y = _draw_table(sheet, rows, columns, look, heat.relation, sort, descending, said, table)
    if beside:
        aside = min(_ASIDE, (room or table + _SPACE + _ASIDE) - table - _SPACE)
        end = max(y, draw_heat(sheet, heat, table + _SPACE, 0, aside))
        whole = table + _SPACE + aside
    else:
        whole = max(table, room or 0)
        end = draw_heat(sheet, heat, 0, y + 16, whole)
    return sheet.chart(round(whole), round(end + 4), title=title)


@dataclass(frozen=True)
class _Row:
    relation: str
    n: str
    head: str
    direction: str
    shares: tuple[float, float, float, float]  # accuracy, low, high, baseline
    accuracy: str
    interval: str
    baseline: str
    offset: str
    gain: str
    star: bool


def _printed(row: object) -> _Row:
    get = row._asdict()  # type: ignore[attr-defined]
    n = int(get["n"])
    shares = tuple(float(get[name]) for name in ("accuracy", "low", "high", "baseline"))
    accuracy, low, high, baseline = shares
    return _Row(
        str(get["relation"]),
        f"{n:,}",
        f"L{get['layer']} H{get['head']}",
        "dep → gov" if str(get["direction"]).startswith("dependent") else "gov → dep",
        (accuracy, low, high, baseline),
        percent(accuracy, n),
        f"{percent(low, n)}–{percent(high, n)}",
        percent(baseline, n),
        signed(int(get["offset"])),
        percent(float(get["gain"]), n),
        bool(get["significant"]),
    )


def _chosen(rows: Sequence[_Row], heat: RelationHeat, room: float | None) -> tuple[_Look, bool]:
    """How wide things are, and whether the map stands beside the table."""
    if room is None:
        return _WIDE, True
    spans = {look: _span(_columns(rows, look), look) for look in (_WIDE, _NARROW)}
    if room >= _BESIDE - 16:
        for look, least in ((_WIDE, 12), (_NARROW, 8)):
            left = room - spans[look] - _SPACE
            if left >= 160 and heat.width(left) <= left and heat.cell(left) >= least:
                return look, True
    return (_WIDE if spans[_WIDE] <= room else _NARROW), False


def _widest(rows: Sequence[_Row], name: str, *, bold: bool = False) -> float:
    return max((text_width(getattr(row, name), 12, bold=bold) for row in rows), default=0)


def _parts(rows: Sequence[_Row], look: _Look) -> dict[str, float]:
    """Pixels, with the space before them, of what stands at the right of another number."""
    interval = 6 + _widest(rows, "interval") if look.intervals else 0
    return {"interval": interval, "offset": 4 + max(14, _widest(rows, "offset"))}


def _columns(rows: Sequence[_Row], look: _Look) -> dict[str, float]:
    """Pixels of each column without its padding."""

    def widest(name: str, *, bold: bool = False) -> float:
        return _widest(rows, name, bold=bold)

    parts = _parts(rows, look)
    chip = 12 if look is _WIDE else 4
    content = {
        "relation": widest("relation", bold=True) + 2 * _NAME,
        "n": widest("n"),
        "head": widest("head") + chip,
        "direction": widest("direction"),
        "accuracy": look.bar + 8 + widest("accuracy", bold=True) + parts["interval"],
        "baseline": widest("baseline") + parts["offset"],
        "gain": widest("gain") + _STAR,
    }
    # The sorted column's heading is bold, with an arrow.
    return {
        name: max(content[name], text_width(heading, 11, bold=True) + 11)
        for name, heading, _ in COLUMNS
    }


def _span(columns: dict[str, float], look: _Look) -> float:
    return sum(columns.values()) + look.pad * len(columns)


def _draw_table(
    sheet: Sheet,
    rows: Sequence[_Row],
    columns: dict[str, float],
    look: _Look,
    relation: str,
    sort: str,
    descending: bool,
    said: str,
    width: float,
) -> float:
    y = 0
    for line in wrapped(said, 11, width):
        sheet.text(0, y + 11, line, "muted")
        y += 16
    lefts, place = {}, 0.0
    for name in columns:
        lefts[name] = place
        place += columns[name] + look.pad
    top = y
    first = top + _HEADING
    widths = _parts(rows, look)
    chosen = [i for i, row in enumerate(rows) if row.relation == relation]
    for i in chosen:
        band = rectangle(0, first + i * _ROW, width, _ROW - 1)
        sheet.area(band, "accent", opacity=0.14)
        sheet.area(rectangle(0, first + i * _ROW, 2, _ROW - 1), "accent")
    sheet.line(f"M0,{first - 0.5}h{width:g}", "muted")
    for i in range(len(rows)):
        sheet.line(f"M0,{first + (i + 1) * _ROW - 0.5}h{width:g}", "hairline")
    for i, row in enumerate(rows):
        _draw_bar(sheet, row, lefts["accuracy"], first + i * _ROW + 5, look.bar)
        right = lefts["head"] + columns["head"]
        pad = 6 if look is _WIDE else 2
        chip = text_width(row.head, 12) + 2 * pad
        outline = rectangle(right - chip, first + i * _ROW + 3.5, chip, 18)
        sheet.line(outline, "muted" if i in chosen else "hairline")
    for name, heading, align in COLUMNS:
        own = name == sort
        arrow = (" ▼" if descending else " ▲") if own else ""
        x = lefts[name] + (columns[name] if align == "right" else _NAME * (name == "relation"))
        colour = "text" if own else "muted"
        sheet.text(x, top + 16, heading + arrow, colour, align=align, bold=own)
    for i, row in enumerate(rows):
        middle = first + i * _ROW + 16.5
        _write_row(sheet, row, lefts, columns, widths, look, middle, i in chosen)
    end = first + len(rows) * _ROW
    if not rows:
        for line in wrapped(NOTHING, 12, width):
            sheet.text(0, end + 20, line, size=_TEXT)
            end += 16
        end += 8
    return end


def _write_row(
    sheet: Sheet,
    row: _Row,
    lefts: dict[str, float],
    columns: dict[str, float],
    widths: dict[str, float],
    look: _Look,
    y: float,
    chosen: bool,
) -> None:
    quiet = "text" if chosen else "muted"
    right = {name: lefts[name] + columns[name] for name in columns}
    sheet.text(lefts["relation"] + _NAME, y, row.relation, size=_TEXT, bold=chosen)
    sheet.text(right["n"], y, row.n, size=_TEXT, align="right")
    pad = 6 if look is _WIDE else 2
    sheet.text(right["head"] - pad, y, row.head, size=_TEXT, align="right")
    sheet.text(lefts["direction"], y, row.direction, size=_TEXT)
    if look.intervals:
        sheet.text(right["accuracy"], y, row.interval, quiet, size=_TEXT, align="right")
    number = right["accuracy"] - widths["interval"]
    sheet.text(number, y, row.accuracy, size=_TEXT, align="right", bold=True)
    sheet.text(right["baseline"], y, row.offset, quiet, size=_TEXT, align="right")
    sheet.text(right["baseline"] - widths["offset"], y, row.baseline, size=_TEXT, align="right")
    sheet.text(right["gain"] - _STAR, y, row.gain, size=_TEXT, align="right")
    if row.star:
        sheet.text(right["gain"] - _STAR + 3, y, "*", size=_TEXT, bold=True)


def _draw_bar(sheet: Sheet, row: _Row, x: float, y: float, width: int) -> None:
    """The bar of a row, 14 pixels high: a track, the accuracy, the interval, the offset's tick."""
    accuracy, low, high, baseline = row.shares
    length = width - 2
    at = {name: 1 + share * length for name, share in (("low", low), ("high", high))}
    sheet.area(rectangle(1, 13, length, 1), "hairline", at=(x, y))
    sheet.area(rectangle(1, 3, round(accuracy * length, 2), 8), "bar", at=(x, y))
    ends = "".join(f"M{at[name]:.1f},4.5v5" for name in at)
    interval = f"M{at['low']:.1f},7H{at['high']:.1f}{ends}"
    sheet.line(interval, "ground", at=(x, y), width=3)
    sheet.line(interval, "text", at=(x, y))
    sheet.line(f"M{1 + baseline * length:.1f},0V14", "second", at=(x, y), width=2)
