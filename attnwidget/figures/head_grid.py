"""All heads of a stack as a grid of small maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnwidget.figures.colour_bars import HEIGHT as BAR_HEIGHT
from attnwidget.figures.colour_bars import bar_values, colour_bar, head_values
from attnwidget.figures.grid_places import BAR, DENSITY, GAP, MARGIN, GridPlaces
from attnwidget.figures.head_badges import SIZE as BADGE
from attnwidget.figures.head_badges import badge_texts
from attnwidget.figures.head_order import HeadMetric, ordered_heads
from attnwidget.figures.images import map_image
from attnwidget.figures.levels import levels
from attnwidget.figures.map_numbers import printer, symbol
from attnwidget.figures.paths import polygon, rectangle
from attnwidget.figures.sheet import Sheet
from attnwidget.figures.theme import DARK, LIGHT, Theme

WIDTH = 720
"""Pixels that a grid is wide unless it says otherwise."""
METRIC_COLOUR = {True: "#00a87b", False: "#008060"}
"""The colour of metrics on a dark ground and on a light one."""


@dataclass(frozen=True, eq=False)
class HeadThumbnails:
    """The small maps of a stack, and how they are coloured.

    Args:
        values: uint8 [L, H, R, C] of round(255 sqrt(value / head maximum)).
        maxima: float32 [L, H], each head's largest value.
        scale: "linear", "sqrt" or "log".
        shared: one scale for all heads; otherwise each head's maximum is the darkest.
        quantity: what the values are, for their numbers.
        n_key_heads: heads that have keys of their own; H where all have.
    """

    values: NDArray[np.uint8]
    maxima: NDArray[np.float32]
    scale: str = "sqrt"
    shared: bool = False
    quantity: str = "weights"
    n_key_heads: int | None = None

    def levels(self, size: int) -> NDArray[np.uint8]:
        """Colour levels, uint8 [L, H, size, size]; the strongest where cells share a pixel."""
        sized = _resized(_resized(self.values, 2, size), 3, size)
        shares = (np.arange(256) / 255) ** 2
        if not self.shared:
            level: NDArray[np.uint8] = levels(shares, 1.0, self.scale)[sized]
            return level
        largest = float(self.maxima.max()) or 1.0
        of_byte = levels(shares * (self.maxima / largest)[..., None], 1.0, self.scale)
        flat = sized.reshape(*self.maxima.shape, -1)
        return np.take_along_axis(of_byte, flat.astype(np.intp), axis=-1).reshape(sized.shape)


def head_grid(
    thumbnails: HeadThumbnails,
    *,
    title: str,
    metric: HeadMetric | None = None,
    selected: Sequence[tuple[int, int]] = (),
    layer: int | None = None,
    width: int | None = None,
    theme: Theme = LIGHT,
    notes: Sequence[str] = (),
) -> alt.LayerChart:
    """Layers down, heads across, a small map each: one crisp image in a frame of text and lines.

    Args:
        thumbnails: the maps.
        title: what is shown; further lines become the subtitle.
        metric: a number of each head, as a bar under its map, with its order and filter.
        selected: the framed heads as (layer, head); the last has a solid corner.
        layer: the layer that is underlined.
        width: pixels; cells are 28 to 64 pixels wide, so that it may be less or more.
        theme: LIGHT or DARK.
        notes: what the figure leaves out or merged, as lines under its title.

    Returns:
        An Altair chart that displays without network.

    Raises:
        ValueError: the title is empty.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.head_grid import HeadThumbnails, head_grid
        >>> maps = HeadThumbnails(np.zeros((2, 3, 5, 5), np.uint8), np.ones((2, 3), np.float32))
        >>> chart = head_grid(maps, title="Six heads", selected=[(1, 2)])
        >>> chart.width > 100
        True
    """
    n_layers, n_heads = thumbnails.maxima.shape
    order = ordered_heads((n_layers, n_heads), metric)
    is_sorted = metric is not None and metric.sort != "none"
    n_key_heads = thumbnails.n_key_heads or n_heads
    banded = n_key_heads < n_heads and not is_sorted
    below = "name" if is_sorted else "bar" if metric else "nothing"
    wished = width or WIDTH
    places = GridPlaces.of(wished, *order.shape, banded=banded, below=below)
    x1, y1 = places.corner(*order.shape)
    sheet = Sheet(theme)
    if order.size and thumbnails.values.size:
        _paint_maps(sheet, places, order, thumbnails)
    cells = {int(head): divmod(i, n_heads) for i, head in enumerate(order.ravel()) if head >= 0}
    marked = [cells[i] for i in (a * n_heads + b for a, b in selected) if i in cells]
    _label(sheet, places, metric, layer, [column for _, column in marked])
    if banded:
        _mark_bands(sheet, places, n_key_heads)
    _underline(sheet, places, order, metric, layer)
    if metric is not None:
        _draw_badges(sheet, places, order, metric)
    for i, cell in enumerate(marked):
        _frame(sheet, places, cell, solid=i == len(marked) - 1)
    _draw_bar(sheet, places.x0, y1 + MARGIN + 8, thumbnails)
    wide, height = max(x1 + MARGIN, 360), y1 + MARGIN + BAR_HEIGHT + 12
    return sheet.chart(wide, height, title=title, notes=notes)


def _resized(cells: NDArray[np.uint8], axis: int, size: int) -> NDArray[np.uint8]:
    """An axis brought to `size`: the nearest when enlarging, else the largest of a span."""
    n = cells.shape[axis]
    if size >= n:
        nearest = ((np.arange(size) + 0.5) * n / size).astype(int)
        return cells.take(nearest, axis)
    starts = np.arange(size) * n // size
    ends = -(-np.arange(1, size + 1) * n // size)
    # As many steps as the longest span has cells.
    steps = (np.minimum(starts + step, ends - 1) for step in range(int((ends - starts).max())))
    largest = cells.take(next(steps), axis)
    for step in steps:
        np.maximum(largest, cells.take(step, axis), out=largest)
    return largest


def _paint_maps(
    sheet: Sheet, places: GridPlaces, order: NDArray[np.int64], thumbnails: HeadThumbnails
) -> None:
    size = round(places.cell * DENSITY)
    across = size + GAP * DENSITY
    down = across + round(places.band * DENSITY)
    rows, columns = order.shape
    pixels = np.zeros((rows * down, columns * across), np.uint8)
    maps = thumbnails.levels(size)
    for i, head in enumerate(map(int, order.ravel())):
        if head >= 0:
            y, x = (i // columns) * down, (i % columns) * across
            pixels[y : y + size, x : x + size] = maps[divmod(head, columns)]
    height, width = (n / DENSITY for n in pixels.shape)
    sheet.image(places.x0, places.y0, width, height, map_image(pixels, sheet.theme.ramp))


def _label(
    sheet: Sheet,
    places: GridPlaces,
    metric: HeadMetric | None,
    layer: int | None,
    marked: list[int],
) -> None:
    right = places.x0 - 8
    ranks = metric is not None and metric.sort == "all"
    if metric is not None and metric.sorting:
        sheet.text(places.x0, 9, metric.sorting, middle=True)
        if ranks:
            sheet.text(right, 9, "rank", "muted", align="right", middle=True)
    else:
        sheet.text(right, 9, "head", "muted", align="right", middle=True)
        for column in range(places.columns):
            x = places.corner(0, column)[0] + places.cell / 2
            fill = "text" if column in marked else "muted"
            sheet.text(x, 9, str(column), fill, align="center", middle=True)
    for row in range(places.rows):
        middle = places.corner(row, 0)[1] + places.cell / 2
        fill = "text" if row == layer and not ranks else "muted"
        name = str(row) if row else "layer 0"
        text = str(row * places.columns + 1) if ranks else name
        sheet.text(right, middle, text, fill, align="right", middle=True)


def _mark_bands(sheet: Sheet, places: GridPlaces, n_key_heads: int) -> None:
    group = places.columns / n_key_heads
    for band in range(n_key_heads):
        start = places.corner(0, round(band * group))[0]
        end = places.corner(0, round((band + 1) * group))[0] - GAP
        sheet.area(rectangle(start + 1, places.y0 - 8, end - start - 2, 2), "muted")


def _underline(
    sheet: Sheet,
    places: GridPlaces,
    order: NDArray[np.int64],
    metric: HeadMetric | None,
    layer: int | None,
) -> None:
    """A line under the stepped layer: its row, or each of its heads where they are scattered."""
    if layer is None:
        return
    if metric is None or metric.sort != "all":
        if layer < places.rows:
            x, y = places.corner(layer + 1, 0)
            wide = places.columns * (places.cell + GAP) - GAP
            sheet.area(rectangle(x, y - GAP, wide, GAP), "text")
        return
    for i, head in enumerate(order.ravel()):
        if head >= 0 and head // places.columns == layer:
            x, y = places.corner(*divmod(i, places.columns))
            under = y + places.cell + places.band - GAP
            sheet.area(rectangle(x, under, places.cell, GAP), "text")


def _draw_badges(
    sheet: Sheet, places: GridPlaces, order: NDArray[np.int64], metric: HeadMetric
) -> None:
    cell = places.cell
    low, high = metric.range
    values, passes = metric.values.ravel(), metric.passes.ravel()
    printed = places.band > BAR + 1
    texts = badge_texts(order, metric, cell) if printed else []

    def at(value: float) -> float:
        return (value - low) / (high - low) * cell if high > low else 0.0

    for i, head in enumerate(map(int, order.ravel())):
        if head < 0:
            continue
        x, y = places.corner(*divmod(i, places.columns))
        value, is_in = float(values[head]), bool(passes[head])
        sheet.area(rectangle(x, y + cell + 2, cell, 3), "hairline")
        start, end = at(min(0.0, value)), at(max(0.0, value))
        bar = rectangle(x + start, y + cell + 2, max(end - start, 0.5), 3)
        sheet.area(bar, METRIC_COLOUR[sheet.theme == DARK])
        if not is_in:
            sheet.area(rectangle(x, y, cell, cell + 5), "ground", opacity=0.8)
        name, number = texts[i] if texts else ("", "")
        under = y + cell + 12
        if name:
            fill = "text" if is_in else "muted"
            sheet.text(x + 1, under, name, fill, size=BADGE, middle=True)
        if number:
            fill = "text" if is_in and not name else "muted"
            sheet.text(x + cell - 1, under, number, fill, align="right", size=BADGE, middle=True)


def _frame(sheet: Sheet, places: GridPlaces, at: tuple[int, int], *, solid: bool) -> None:
    """The accent round a selected head, and a corner where causal maps are masked."""
    cell = places.cell
    x, y = places.corner(*at)
    # A line of the ground keeps the accent apart from cells of a like colour.
    sheet.line(rectangle(x + 0.5, y + 0.5, cell - 1, cell - 1), "ground")
    sheet.line(rectangle(x - 1, y - 1, cell + 2, cell + 2), "accent", width=GAP)
    right = x + cell + 1
    for size, fill in ((13, "ground"), (11, "accent")):
        corner = [(right - size, y - 1), (right, y - 1), (right, y - 1 + size)]
        sheet.area(polygon(corner), fill)
    if not solid:
        hole = [(right - 6, y + 1), (right - 2, y + 1), (right - 2, y + 5)]
        sheet.area(polygon(hole), "ground")


def _draw_bar(sheet: Sheet, x: float, y: float, thumbnails: HeadThumbnails) -> None:
    quantity, scale = thumbnails.quantity, thumbnails.scale
    largest = float(thumbnails.maxima.max()) if thumbnails.maxima.size else 1.0
    if thumbnails.shared:
        values = bar_values(scale, largest, quantity)
        whose = f"shared, max {printer(quantity)(largest)}"
    else:
        values, whose = head_values(scale), "per head"
    colour_bar(sheet, x, y, values, " · ".join(filter(None, [symbol(quantity), scale, whose])))
