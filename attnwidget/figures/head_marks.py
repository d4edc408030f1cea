"""Heads in the plane with a mark each, the selected ones ringed, and a legend: a map as is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from attnwidget.figures.paths import disc, polygon, rectangle
from attnwidget.figures.sheet import Colour, Sheet
from attnwidget.figures.text_width import in_lines, text_width, wrapped
from attnwidget.figures.theme import LIGHT, Theme

_MARGIN, _LOWEST, _HIGHEST = 20, 240, 560
_WIDE, _ASIDE, _SPACE = 720, 224, 24
_MANY = 200
_SCALE, _TEXT = 184, 12
# Planes: shapes and numbers, discs under the selected, these again, rings, the label.
_POINTS, _DISCS, _AGAIN, _RINGS, _PLATE, _LABEL = 2, 3, 4, 5, 6, 7


def _regular(count: int, start: float = 0) -> list[tuple[float, float]]:
    turns = (2 * math.pi * (start + i / count) for i in range(count))
    return [(math.sin(turn), -math.cos(turn)) for turn in turns]


_ARM, _TIP = 0.38, 1.1
_PLUS = [
    *((-_ARM, -_TIP), (_ARM, -_TIP), (_ARM, -_ARM), (_TIP, -_ARM), (_TIP, _ARM), (_ARM, _ARM)),
    *((_ARM, _TIP), (-_ARM, _TIP), (-_ARM, _ARM), (-_TIP, _ARM), (-_TIP, -_ARM), (-_ARM, -_ARM)),
]
_HALF = math.sqrt(0.5)
# Corners in units of the radius, so large that all shapes cover like areas; none for a circle.
_SHAPES: tuple[list[tuple[float, float]], ...] = (
    [],
    [(1.25 * x, 1.25 * y) for x, y in _regular(4, 1 / 8)],
    [(1.4 * x, 1.4 * y + 0.25) for x, y in _regular(3)],
    [(1.3 * x, 1.3 * y) for x, y in _regular(4)],
    [(1.4 * x, 1.4 * y - 0.25) for x, y in _regular(3, 1 / 2)],
    _PLUS,
    [((x - y) * _HALF, (x + y) * _HALF) for x, y in _PLUS],
    [
        ((0.6 if i % 2 else 1.4) * x, (0.6 if i % 2 else 1.4) * y)
        for i, (x, y) in enumerate(_regular(10))
    ],
)


@dataclass(frozen=True)
class Behaviours:
    """What marks stand for.

    Attributes:
        names: in the order of the legend.
        slots: the colour and shape of each, from 0; -1 is a grey ring.
        group: int [L, H], index of each head's.
    """

    names: Sequence[str]
    slots: Sequence[int]
    group: NDArray[np.integer]


def marked_heads(
    positions: NDArray[np.float64],
    *,
    behaviours: Behaviours | None,
    selected: Sequence[tuple[int, int]],
    label: str,
    readout: str,
    title: str,
    width: int | None = None,
    theme: Theme = LIGHT,
) -> alt.LayerChart:
    """Heads at their positions, as layer numbers or, with `behaviours`, as shapes and colours.

    A unit of the plane is as long up as across. Selected heads have a ring; the last one has its
    name beside it. From 720 pixels on the legend stands beside the map, else below.

    Args:
        positions: float64 [L, H, 2].
        behaviours: what colours and shapes stand for; None for layers.
        selected: (layer, head) of the selected heads.
        label: the name of the last one.
        readout: the selected heads, in words.
        title: what is shown; further lines become the subtitle.
        width: pixels of the whole figure; None for 640.
        theme: LIGHT or DARK.

    Returns:
        An Altair chart that displays without network; `chart.save("figure.svg")` writes it.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.head_marks import marked_heads
        >>> positions = np.random.default_rng(0).normal(size=(2, 3, 2))
        >>> chart = marked_heads(positions, behaviours=None, selected=[(1, 2)], label="L1 H2",
        ...                      readout="selected L1 H2", title="Six heads")
        >>> chart.save("map.svg")  # doctest: +SKIP
    """
    room = (width or 640) - 16
    beside = room + 16 >= _WIDE
    across = room - _ASIDE - _SPACE if beside else room
    sheet = Sheet(theme)
    points, height = _places(positions, across)
    _draw_points(sheet, points, behaviours, selected)
    if selected and label:
        _draw_label(sheet, points[selected[-1]], label, across, height, positions.shape[:2])
    x, y = (across + _SPACE, 0.0) if beside else (0.0, height + 8)
    end = _legend(sheet, behaviours, positions.shape[0], x, y, _ASIDE if beside else room, beside)
    for line in in_lines([readout], 12, _ASIDE if beside else room):
        sheet.text(x, end + 16, line, size=_TEXT)
        end += 16
    return sheet.chart(room, round(max(height, end + 4)), title=title)


def _places(positions: NDArray[np.float64], width: float) -> tuple[NDArray[np.float64], float]:
    """Pixels of the heads, and the map's height: the largest at which all points fit in."""
    low, high = positions.min(axis=(0, 1)), positions.max(axis=(0, 1))
    right, up = (high - low).tolist()
    room = max(1.0, width - 2 * _MARGIN)
    reach = right or up or 1.0
    height = max(_LOWEST, min(_HIGHEST, width, room * up / reach + 2 * _MARGIN))
    scale = min(room / reach, (height - 2 * _MARGIN) / up if up else math.inf)
    middle = (low + high) / 2
    # The plane's y points up.
    places = np.array([width, height]) / 2 + scale * (positions - middle) * [1, -1]
    return places, height


def _draw_points(
    sheet: Sheet,
    points: NDArray[np.float64],
    behaviours: Behaviours | None,
    selected: Sequence[tuple[int, int]],
) -> None:
    n_layers, n_heads = points.shape[:2]
    radius, ring, size = (3.5, 8, 10) if n_layers * n_heads > _MANY else (5, 10, 12)
    flat = points.reshape(-1, 2)
    # A line of ground keeps numbers apart where they meet, and only there: it is a text too.
    near = np.triu(cdist(flat, flat) < 1.3 * size, 1).any(axis=0)
    chosen = set(selected)
    for index, (x, y) in enumerate(flat.tolist()):
        layer, head = divmod(index, n_heads)
        plane = _AGAIN if (layer, head) in chosen else _POINTS
        if behaviours is None:
            colour: Colour = ("layers", layer / (n_layers - 1) if n_layers > 1 else 0)
            halo = bool(near[index]) and plane == _POINTS
            look: dict[str, Any] = {"size": size, "bold": True, "halo": halo, "plane": plane}
            sheet.text(x, y + 0.36 * size, str(layer), colour, align="center", **look)
        else:
            slot = behaviours.slots[int(behaviours.group[layer, head])]
            _draw_shape(sheet, slot, x, y, radius, plane)
    for at in selected:
        place = (float(points[at][0]), float(points[at][1]))
        sheet.area(disc(ring + 2), "ground", at=place, plane=_DISCS)
        sheet.line(disc(ring), "accent", at=place, width=2, plane=_RINGS)


def _draw_shape(sheet: Sheet, slot: int, x: float, y: float, radius: float, plane: int) -> None:
    if slot < 0:
        sheet.line(disc(0.75 * radius), "rest", at=(x, y), width=1.5, plane=plane)
        return
    corners = _SHAPES[slot % len(_SHAPES)]
    path = polygon([(round(radius * dx, 2), round(radius * dy, 2)) for dx, dy in corners])
    colour = f"series {slot}"
    sheet.area(path if corners else disc(radius), colour, at=(x, y), plane=plane)


def _draw_label(
    sheet: Sheet,
    place: NDArray[np.float64],
    label: str,
    width: float,
    height: float,
    shape: tuple[int, ...],
) -> None:
    """The name of a head beside it, on a plate of ground, inside the map."""
    x, y = place.tolist()
    away = (8 if shape[0] * shape[1] > _MANY else 10) + 2
    wide = text_width(label, 12) + 8
    left = x + away if x + away + wide <= width else max(0, x - away - wide)
    top = max(0, min(height - 16, y - away - 8))
    sheet.area(rectangle(0, 0, wide, 16), "ground", at=(left, top), opacity=0.9, plane=_PLATE)
    sheet.text(left + 4, top + 12.3, label, size=_TEXT, plane=_LABEL)


def _legend(
    sheet: Sheet,
    behaviours: Behaviours | None,
    n_layers: int,
    x: float,
    y: float,
    room: float,
    stacked: bool,
) -> float:
    """What colours and marks stand for; the y where it ends."""
    if behaviours is None:
        step = _SCALE / n_layers
        for layer in range(n_layers):
            share = layer / (n_layers - 1) if n_layers > 1 else 0
            box = rectangle(0, 0, round(step, 2), 8)
            sheet.area(box, ("layers", share), at=(x + layer * step, y + 2))
        sheet.text(x, y + 22, "layer 0", "muted")
        sheet.text(x + _SCALE, y + 22, str(n_layers - 1), "muted", align="right")
        return y + 28
    counts = np.bincount(np.ravel(behaviours.group), minlength=len(behaviours.names))
    left = x
    for name, slot, count in zip(behaviours.names, behaviours.slots, counts.tolist(), strict=True):
        number = str(count)
        needed = 20 + text_width(name, 12) + 6 + text_width(number, 12)
        if not stacked and left > x and left + needed > x + room:
            left, y = x, y + 24
        lines = wrapped(name, 12, room - 26 - text_width(number, 12)) or [""]
        _draw_shape(sheet, slot, left + 7, y + 12, 4.5, _POINTS)
        for i, line in enumerate(lines):
            sheet.text(left + 20, y + 16 + 14 * i, line, size=_TEXT)
        right = x + room if stacked else left + needed
        sheet.text(right, y + 16, number, "muted", size=_TEXT, align="right")
        if stacked:
            y += 24 + 14 * (len(lines) - 1)
        else:
            left += needed + 16
    return y if stacked else y + 24
