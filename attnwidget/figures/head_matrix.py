"""One head as a heat map with tokens on both axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnwidget.figures.head_legend import head_legend
from attnwidget.figures.head_lines import WIDTH
from attnwidget.figures.images import colour_image
from attnwidget.figures.levels import blended, colour_table, css, rgb
from attnwidget.figures.matrix_places import ANGLE, DENSITY, GAP, READABLE, MatrixPlaces
from attnwidget.figures.one_head import OneHead
from attnwidget.figures.paths import rectangle
from attnwidget.figures.sheet import Sheet
from attnwidget.figures.text_width import shortened
from attnwidget.figures.theme import LABEL, LIGHT, Theme

MOST_CELLS = 900
"""Maps of so many cells are drawn cell by cell, larger ones as an image."""
_EVERY = (1, 2, 5, 10, 20, 50, 100, 200, 500)
# Cells from this size on stand apart by a pixel of the ground.
_GAP_FROM, _HATCH, _LIT_FADED = 10, 6, 0.35
# Cells smaller than this are marked by a line through them, larger ones by an outline.
_OUTLINED = 6
# More highlighted tokens than this are labelled like the others.
_MOST_KEPT = 12


def head_matrix(
    head: OneHead,
    *,
    title: str,
    second: str = "",
    width: int | None = None,
    theme: Theme = LIGHT,
    notes: Sequence[str] = (),
) -> alt.LayerChart:
    """A row a query, a column a key; masked cells are hatched, locked rows and columns outlined.

    Cells of up to `MOST_CELLS` are drawn one by one, more as a crisp image; labels are thinned
    where they would touch.

    Args:
        head: the map and what is marked on it.
        title: what is shown; further lines become the subtitle.
        second: what the second colour stands for; "" without highlighted tokens.
        width: pixels wished for; cells are at most 40 pixels wide.
        theme: LIGHT or DARK.
        notes: what the figure leaves out or merged, as lines under its title.

    Returns:
        An Altair chart that displays without network.

    Raises:
        ValueError: the title is empty, or no token is left to draw.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.head_matrix import head_matrix
        >>> from attnwidget.figures.one_head import MapAxis, OneHead, visible_map
        >>> axis = MapAxis(("the", "cat"), ("", ""), (0, 0))
        >>> shown = visible_map(np.eye(2, dtype=np.float32), axis, axis)
        >>> head_matrix(OneHead(shown), title="L2 H1").width > 80
        True
    """
    if not head.map.values.size:
        raise ValueError("no token is left to draw: show some again")
    places = MatrixPlaces.of(head, width or WIDTH)
    wide = max(places.x0 + places.size[0] + places.overhang, 320)
    sheet, height = Sheet(theme), places.y0 + places.size[1] + GAP
    if np.isnan(head.map.values).any():
        _hatch(sheet, places)
    _paint_cells(sheet, places, head)
    _rule(sheet, places, head)
    for side in ("query", "key"):
        for position in head.locked[side]:
            _mark(sheet, places, side, position)
        _label(sheet, places, head, side)
    head_legend(sheet, places.x0, height + 10, wide, head, second)
    return sheet.chart(wide, height, title=title, notes=notes)


def matrix_notes(head: OneHead, width: int | None = None) -> list[str]:
    """What a figure of a matrix must say of what it leaves out.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.head_matrix import matrix_notes
        >>> from attnwidget.figures.one_head import MapAxis, OneHead, visible_map
        >>> axis = MapAxis(("x",) * 8, ("",) * 8, (0,) * 8)
        >>> matrix_notes(OneHead(visible_map(np.eye(8, dtype=np.float32), axis, axis)))
        []
    """
    shape = head.map.values.shape
    if not head.map.values.size:
        return []
    down, across = MatrixPlaces.of(head, width or WIDTH).pixels((shape[0], shape[1]))
    pooled = down < shape[0] or across < shape[1]
    return [f"shown as {down} × {across} block maxima"] if pooled else []


def _colours(head: OneHead, theme: Theme) -> NDArray[np.uint8]:
    """The colour of each cell, uint8 [rows, columns, 4]; masked ones are transparent."""
    table, ground = colour_table(theme.ramp), rgb(theme.ground)
    levels = head.levels()
    colours = (blended(ground, table, _LIT_FADED) if head.is_lit else table)[levels]
    lit = np.zeros(levels.shape, dtype=bool)
    lit[head.lit["query"]] = True
    lit[:, head.lit["key"]] = True
    second = blended(ground, rgb(theme.second), np.arange(256)[:, None] / 255)
    colours = np.where(lit[..., None], second[levels], colours)
    opaque = np.where(np.isnan(head.map.values), 0, 255).astype(np.uint8)
    return np.concatenate([colours, opaque[..., None]], axis=-1).astype(np.uint8)


def _paint_cells(sheet: Sheet, places: MatrixPlaces, head: OneHead) -> None:
    colours = _colours(head, sheet.theme)
    values = head.map.values
    (rows, columns), (across, down) = values.shape, places.cell
    if values.size <= MOST_CELLS:
        boxes: dict[str, list[str]] = {}
        for row, column in np.argwhere(~np.isnan(values)).tolist():
            x, y = places.x0 + column * across, places.y0 + row * down
            colour = css(colours[row, column, :3])
            boxes.setdefault(colour, []).append(rectangle(x, y, across, down))
        for colour, same in boxes.items():
            sheet.area("".join(same), colour)
        return
    pooled = _pooled(colours, values, places.pixels((rows, columns)))
    # Cells that share a pixel are one; others are enlarged, so that no reader has to guess.
    enlarge = max(1, round(places.size[0] * DENSITY / pooled.shape[1]))
    url = colour_image(pooled, cell=enlarge)
    sheet.image(places.x0, places.y0, *places.size, url)


def _pooled(
    colours: NDArray[np.uint8], values: NDArray[np.float64], shape: tuple[int, int]
) -> NDArray[np.uint8]:
    """Where cells share a pixel, the colour of the strongest."""
    rows, columns = values.shape
    if (rows, columns) == shape:
        return colours
    place = (np.arange(rows) * shape[0] // rows)[:, None] * shape[1]
    place = (place + np.arange(columns) * shape[1] // columns).ravel()
    order = np.argsort(np.nan_to_num(values, nan=-1.0), axis=None, kind="stable")
    pixels = np.zeros((shape[0] * shape[1], 4), np.uint8)
    pixels[place[order]] = colours.reshape(-1, 4)[order]
    return pixels.reshape(*shape, 4)


def _hatch(sheet: Sheet, places: MatrixPlaces) -> None:
    """A ground that shows through where keys are masked."""
    width, height = places.size
    sheet.area(rectangle(places.x0, places.y0, width, height), "hairline", opacity=0.4)
    lines = []
    for at in np.arange(-height, width, _HATCH):
        start, end = max(0.0, -at), min(height, width - at)
        if end > start:
            low = (places.x0 + at + start, places.y0 + height - start)
            high = (places.x0 + at + end, places.y0 + height - end)
            lines.append(f"M{low[0]:g},{low[1]:g}L{high[0]:g},{high[1]:g}")
    sheet.line("".join(lines), "muted")


def _rule(sheet: Sheet, places: MatrixPlaces, head: OneHead) -> None:
    """Gaps between large cells, hairlines between small ones, the sentences' boundary, a frame."""
    width, height = places.size
    apart = min(places.cell) >= _GAP_FROM
    lines = [
        [_line(places, side, i) for i in range(step, count, step)]
        for side, step, count in (
            ("key", _ruled(places.cell[0]), len(head.map.key)),
            ("query", _ruled(places.cell[1]), len(head.map.query)),
        )
        if step
    ]
    path = "".join(line for side in lines for line in side)
    if path:
        fill = "ground" if apart else "hairline"
        # Over small cells a full line would hide as much as it orders.
        sheet.area(path, fill, opacity=1 if apart else 0.6)
    turns = [_line(places, "key", i) for i in head.map.key.turns()]
    turns += [_line(places, "query", i) for i in head.map.query.turns()]
    if turns:
        sheet.area("".join(turns), "muted")
    frame = rectangle(places.x0 - 0.5, places.y0 - 0.5, width + 1, height + 1)
    sheet.line(frame, "hairline")


def _ruled(cell: float) -> int:
    """A line every so many cells; 0 where they are large enough to count, or too small to rule."""
    if cell >= _GAP_FROM:
        return 1
    return 5 if 3 <= cell < READABLE else 0


def _line(places: MatrixPlaces, side: str, position: int) -> str:
    (across, down), (width, height) = places.cell, places.size
    if side == "key":
        return rectangle(places.x0 + position * across, places.y0, 1, height)
    return rectangle(places.x0, places.y0 + position * down, width, 1)


def _mark(sheet: Sheet, places: MatrixPlaces, side: str, position: int) -> None:
    """A locked row or column: outlined, or a line through cells that are too small for it."""
    (across, down), (width, height) = places.cell, places.size
    if side == "query":
        at, thick = places.y0 + position * down, down
        outline = rectangle(places.x0, at, width, thick)
        through = f"M{places.x0:g},{at + thick / 2:g}h{width:g}"
    else:
        at, thick = places.x0 + position * across, across
        outline = rectangle(at, places.y0, thick, height)
        through = f"M{at + thick / 2:g},{places.y0:g}v{height:g}"
    path = outline if thick >= _OUTLINED else through
    sheet.line(path, "accent", width=2)


def _label(sheet: Sheet, places: MatrixPlaces, head: OneHead, side: str) -> None:
    """Tokens, thinned where they would touch; those locked or highlighted are always printed."""
    is_query = side == "query"
    axis = head.map.query if is_query else head.map.key
    cell = places.cell[is_query]
    needed = LABEL if is_query else LABEL + 1.5
    step = next((every for every in _EVERY if every * cell >= needed), 1000)
    lit = head.lit[side] if len(head.lit[side]) <= _MOST_KEPT else []
    kept = {*head.locked[side], *lit}
    plain = [
        i
        for i in range(0, len(axis), step)
        if i not in kept and all(abs(other - i) * cell >= needed for other in kept)
    ]
    for i in (*plain, *kept):
        locked = i in head.locked[side]
        fill = "muted" if axis.special[i] else "text"
        if i in head.lit[side]:
            fill = "second"
        if locked:
            fill = "accent"
        if is_query:
            y = places.y0 + (i + 0.5) * cell
            text = shortened(axis.labels[i], LABEL, places.row_label)
            sheet.token(places.x0 - 1.5 * GAP, y, text, fill, align="right", bold=locked)
            dot = (places.x0 - GAP / 2 - 1, y)
        else:
            text = shortened(axis.labels[i], LABEL, places.column_label)
            dot = (places.x0 + (i + 0.5) * cell, places.y0 - GAP / 2 - 1)
            slope = math.radians(ANGLE)
            x, y = dot[0] + GAP * math.cos(slope), dot[1] - GAP * math.sin(slope)
            sheet.token(x, y, text, fill, angle=-ANGLE, bold=locked)
        if locked:
            # A lock shows by shape as well as by colour.
            sheet.area(rectangle(dot[0] - 2, dot[1] - 2, 4, 4), "accent")
