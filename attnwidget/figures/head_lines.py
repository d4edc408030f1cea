"""One head as lines between two columns of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnwidget.figures.head_legend import head_legend
from attnwidget.figures.head_line_choice import HeadLines, lines_in_sight, row_cutoffs
from attnwidget.figures.levels import blended, colour_table, css, rgb
from attnwidget.figures.one_head import MapAxis, OneHead
from attnwidget.figures.paths import polygon, rectangle
from attnwidget.figures.sheet import Align, Sheet
from attnwidget.figures.text_width import shortened, text_width
from attnwidget.figures.theme import LABEL, LIGHT, Theme

WIDTH = 640
"""Pixels that a figure of one head is wide unless it says otherwise."""
ROW = 18
"""Pixels of a row of tokens."""
MOST_WHOLE = 60
"""So many rows are drawn in full; of more only as many as the widget has in sight."""
_IN_SIGHT = 25.5
_TOKEN = 12
_WIDEST_AREA, _LEAST_AREA, _PADDING, _GAP = 480, 240, 4, 8
_NUMBER, _BAR_HEIGHT = 48, 7
# 0 is a full S, 1 straight.
_STRAIGHTNESS = 0.4
# Above so many lines curves cost more than they show.
_MOST_CURVES = 4000
_FADED, _LIT_FADED, _MASKED = 0.1, 0.35, 0.45


@dataclass(frozen=True)
class LinePlaces:
    """Where the two columns and the lines between them lie, in pixels.

    Args:
        x0: the lines' left ends.
        x1: their right ends.
        width: of the figure.
        height: of the rows in sight.
        label: room for a token.
        bar: length of the longest bar.
        sight: the positions in sight.
    """

    x0: float
    x1: float
    width: float
    height: float
    label: float
    bar: float
    sight: range

    @classmethod
    def of(cls, head: OneHead, wished: float | None) -> LinePlaces:
        """Places for a figure, with the last locked token in sight.

        One of a wished width fills it; few tokens are narrower than `WIDTH` by themselves.
        """
        width = wished or WIDTH
        shown = head.map
        count = max(len(shown.query), len(shown.key))
        full = count * ROW + 2 * _PADDING
        seen = min(full, _IN_SIGHT * ROW + 2 * _PADDING)
        labels = [*shown.query.labels, *shown.key.labels]
        widest = max(text_width(text, _TOKEN, bold=True) for text in labels)
        label = min(widest, max(56, min(160, width * 0.18)))
        bar = max(20, min(40, width * 0.04))
        beside = label + _NUMBER + bar + 3 * _GAP
        # Without a locked token no numbers stand beside a column.
        left, right = (beside if head.locked[other] else label + _GAP for other in ("key", "query"))
        own = min(max(_LEAST_AREA, min(_WIDEST_AREA, seen)), width - 2 * beside)
        area = max(40, width - left - right if wished else own)
        sight = range(count)
        if count > MOST_WHOLE:
            lead = max((head.lead(side) or 0 for side in ("query", "key")), default=0)
            rows = int(np.ceil(_IN_SIGHT))
            first = 0 if lead < rows - 1 else min(lead - rows // 2, count - rows)
            sight = range(first, first + rows)
        height = len(sight) * ROW + 2 * _PADDING
        return cls(left, left + area, left + area + right, height, label, bar, sight)

    def middle(self, position: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """The height of a token's middle."""
        heights: NDArray[np.float64] = (
            _PADDING + (np.asarray(position) - self.sight.start + 0.5) * ROW
        )
        return heights


def head_lines(
    head: OneHead,
    *,
    title: str,
    second: str = "",
    width: int | None = None,
    theme: Theme = LIGHT,
    notes: Sequence[str] = (),
) -> alt.LayerChart:
    """Queries at the left, keys at the right, a line for each value in the colour of its size.

    Lines of one colour are one path, the strongest last. The values of a locked token stand beside
    the other side, and all other lines fade. Of more than `MOST_WHOLE` tokens a window is drawn,
    as `lines_notes` says.

    Args:
        head: the map and what is marked on it.
        title: what is shown; further lines become the subtitle.
        second: what the second colour stands for; "" without highlighted tokens.
        width: pixels to fill; labels and lines take what they need at least.
        theme: LIGHT or DARK.
        notes: what the figure leaves out or merged, as lines under its title.

    Returns:
        An Altair chart that displays without network.

    Raises:
        ValueError: the title is empty, or no token is left to draw.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.head_lines import head_lines
        >>> from attnwidget.figures.one_head import MapAxis, OneHead, visible_map
        >>> axis = MapAxis(("the", "cat"), ("", ""), (0, 0))
        >>> shown = visible_map(np.eye(2, dtype=np.float32), axis, axis)
        >>> head_lines(OneHead(shown), title="L2 H1").height > 36
        True
    """
    if not head.map.values.size:
        raise ValueError("no token is left to draw: show some again")
    places = LinePlaces.of(head, width)
    wide = max(places.width, min(320, width or 320))
    sheet = Sheet(theme)
    table = colour_table(theme.ramp)
    ground, other = rgb(theme.ground), rgb(theme.second)
    seconds = blended(ground, other, np.arange(256)[:, None] / 255)
    base, focused = _chosen(head, places)
    is_faded = focused is not None
    first = blended(ground, table, _LIT_FADED) if head.is_lit else table
    tables = [blended(ground, t, _FADED) if is_faded else t for t in (first, seconds)]
    _paint(sheet, places, head, base, *tables)
    if focused is not None:
        _paint(sheet, places, head, focused, table, seconds)
    for side in ("query", "key"):
        _paint_column(sheet, places, head, side, css(table[170]))
    head_legend(sheet, 0, places.height + 12, wide, head, second)
    return sheet.chart(wide, places.height, title=title, notes=notes)


def lines_notes(head: OneHead) -> list[str]:
    """What a figure of lines must say of what it leaves out.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.head_lines import lines_notes
        >>> from attnwidget.figures.one_head import MapAxis, OneHead, visible_map
        >>> axis = MapAxis(("x",) * 80, ("",) * 80, (0,) * 80)
        >>> lines_notes(OneHead(visible_map(np.eye(80, dtype=np.float32), axis, axis)))
        ['tokens 0 to 25 of 80 in sight, with their lines']
    """
    if not head.map.values.size:
        return []
    places = LinePlaces.of(head, WIDTH)
    count = max(head.map.values.shape)
    base, _ = _chosen(head, places)
    notes = []
    if len(places.sight) < count:
        first, last = places.sight.start, places.sight.stop - 1
        notes.append(f"tokens {first} to {last} of {count} in sight, with their lines")
    if base.left_out:
        notes.append(f"the strongest {len(base)} lines in sight are drawn")
    return notes


def _chosen(head: OneHead, places: LinePlaces) -> tuple[HeadLines, HeadLines | None]:
    values, levels = head.map.values, head.levels()
    cutoffs = row_cutoffs(values, head.top_mass)
    base = lines_in_sight(values, levels, cutoffs, places.sight)
    queries, keys = head.locked["query"], head.locked["key"]
    if not queries and not keys:
        return base, None
    return base, lines_in_sight(values, levels, cutoffs, places.sight, (queries, keys))


def _paint(
    sheet: Sheet,
    places: LinePlaces,
    head: OneHead,
    lines: HeadLines,
    first: NDArray[np.uint8],
    second: NDArray[np.uint8],
) -> None:
    """Lines weakest first, those of highlighted tokens in the second colour over all others."""
    lit = np.isin(lines.query, head.lit["query"]) | np.isin(lines.key, head.lit["key"])
    curved = len(lines) <= _MOST_CURVES
    # A pale line of the second colour must not cut through a strong one of the first.
    blend = "darken" if sum(rgb(sheet.theme.ground).tolist()) > 382 else "lighten"
    for chosen, table, mixes in ((~lit, first, None), (lit, second, blend)):
        paths = _paths(places, lines.query[chosen], lines.key[chosen], curved=curved)
        levels = lines.level[chosen]
        edges = np.flatnonzero(np.diff(levels)) + 1
        for part in np.split(np.arange(len(levels)), edges):
            if len(part):
                sheet.line(
                    "".join(paths[part[0] : part[-1] + 1]),
                    css(table[levels[part[0]]]),
                    width=1.5 if curved else 1.0,
                    clip=True,
                    blend=mixes,
                )


def _paths(
    places: LinePlaces, query: NDArray[np.int64], key: NDArray[np.int64], *, curved: bool
) -> list[str]:
    x0, x1 = places.x0, places.x1
    start, end = places.middle(query), places.middle(key)
    if not curved:
        return [
            f"M{x0:g},{a:g}L{x1:g},{b:g}" for a, b in zip(start.tolist(), end.tolist(), strict=True)
        ]
    third = (x1 - x0) / 3
    lean = (end - start) * _STRAIGHTNESS / 3
    heights = (column.tolist() for column in (start, start + lean, end - lean, end))
    left, right = f"M{x0:g},", f"{x0 + third:.2f}"
    return [
        f"{left}{a:g}C{right},{p:.2f},{x1 - third:.2f},{q:.2f},{x1:g},{b:g}"
        for a, p, q, b in zip(*heights, strict=True)
    ]


def _paint_column(
    sheet: Sheet, places: LinePlaces, head: OneHead, side: str, bar_colour: str
) -> None:
    """The tokens of one side in sight, with the values of the other side's locked token."""
    shown = head.map
    is_query = side == "query"
    axis: MapAxis = shown.query if is_query else shown.key
    x, way = (places.x0 - _GAP, -1) if is_query else (places.x1 + _GAP, 1)
    lead = head.lead("key" if is_query else "query")
    values = None
    if lead is not None:
        values = shown.values[:, lead] if is_query else shown.values[lead]
    most = float(np.nanmax(np.nan_to_num(values), initial=0.0)) if values is not None else 0.0
    align: Align = "right" if is_query else "left"
    turns = set(axis.turns())
    sight = places.sight
    last = sight.stop - 1 if sight.stop < len(axis) else len(axis)
    for i in range(sight.start, min(sight.stop, len(axis))):
        y = float(places.middle(i))
        before, after = i + 1 if i == sight.start and i else 0, len(axis) - i if i == last else 0
        if before or after:
            rest = f"{before} before" if before else f"{after} more"
            sheet.text(x, y, f"… {rest}", "muted", align=align, middle=True)
            continue
        locked = i in head.locked[side]
        fill = "muted" if axis.special[i] else "text"
        if i in head.lit[side]:
            fill = "second"
        if locked:
            fill = "accent"
            sheet.area(_diamond(x - way * _GAP, y), fill)
        value = None if values is None else float(values[i])
        opacity = _MASKED if value is not None and np.isnan(value) else 1.0
        # Room is measured in the bold width, so that locking never cuts a label.
        text = shortened(axis.labels[i], _TOKEN, places.label)
        sheet.token(x, y, text, fill, align=align, size=_TOKEN, bold=locked, opacity=opacity)
        if i in turns:
            near = x if way == 1 else x - places.label
            sheet.area(rectangle(near, round(y - ROW / 2), places.label, 1), "muted")
        if value is not None and value > 0:
            _paint_value(sheet, places, x, y, way, head.printed(value), value / most, bar_colour)


def _paint_value(
    sheet: Sheet,
    places: LinePlaces,
    x: float,
    y: float,
    way: int,
    text: str,
    part: float,
    colour: str,
) -> None:
    number = x + way * (places.label + _GAP + (_NUMBER if way == 1 else 0))
    sheet.text(number, y, text, align="right", size=LABEL, middle=True)
    length = max(1.0, places.bar * part)
    start = x + way * (places.label + 2 * _GAP + _NUMBER)
    left = start if way == 1 else start - length
    sheet.area(rectangle(left, y - _BAR_HEIGHT / 2, length, _BAR_HEIGHT), colour)


def _diamond(x: float, y: float) -> str:
    return polygon([(x, y - 4), (x + 4, y), (x, y + 4), (x - 4, y)])
