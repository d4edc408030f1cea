"""Paths, images and texts at places in pixels: how every picture of a widget is drawn."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import groupby
from math import cos, radians, sin
from typing import Any, Literal

from attnwidget.figures.levels import blended, css, ramp_colour, rgb
from attnwidget.figures.paths import rectangle
from attnwidget.figures.sheet_layers import Row, SheetChart, layer, sheet_chart
from attnwidget.figures.text_width import text_width
from attnwidget.figures.theme import LABEL, LIGHT, Theme

#: A colour of the theme by its field, one of its series as "series 2", "bar", a place from 0 to 1
#: on one of its ramps, or any colour or gradient as Vega takes it.
Colour = str | tuple[Literal["ramp", "layers"], float] | dict[str, Any]
Gradient = dict[str, Any]
Align = Literal["left", "center", "right"]

UNDER, MARKS, TEXTS = 0, 1, 2
"""Planes from the bottom to the top; others may be higher."""
_NAMES = frozenset(
    ("ground", "text", "muted", "hairline", "rest", "accent", "second", "right", "wrong")
)
_CSS = ("#", "rgb(")
# Of the ramp: text can still be read beside bars of this colour.
_BAR = 4
_MARK = "##"


class Sheet:
    """Marks at places in pixels from the top left, in the colours of a theme.

    Images and paths keep the order in which they were drawn, with texts over all of them, unless
    `plane` says otherwise: marks of a higher plane cover those of a lower one, and texts lie over
    the other marks of theirs. Each path and text is an element of the SVG, so that texts can be
    searched and copied; they are set in `MEASURED_FONT`, so that `text_width` tells their widths.
    What reaches over the edges is drawn too, unless it is clipped. Neighbouring paths, and
    neighbouring texts, are one layer of the chart: hundreds of them cost little.

    Example:
        >>> from attnwidget.figures.paths import rectangle
        >>> from attnwidget.figures.sheet import Sheet
        >>> sheet = Sheet()
        >>> sheet.text(0, 12, "obj")
        >>> sheet.area(rectangle(30, 4, 48, 8), "accent", opacity=0.5)
        >>> chart = sheet.chart(80, 20, title="One relation")
        >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
        ['point', 'text']
    """

    def __init__(self, theme: Theme = LIGHT) -> None:
        self.theme = theme
        self._marks: list[tuple[int, str, Row]] = []

    def area(
        self,
        path: str,
        fill: Colour,
        *,
        at: tuple[float, float] = (0, 0),
        opacity: float = 1,
        plane: int = MARKS,
    ) -> None:
        """What an SVG path goes round, its origin `at` a place."""
        look = {"fill": self.colour(fill), "stroke": None, "width": 0, "opacity": opacity}
        self._add_path(path, at, plane, look)

    def line(
        self,
        path: str,
        stroke: Colour,
        *,
        at: tuple[float, float] = (0, 0),
        width: float = 1,
        opacity: float = 1,
        dash: tuple[float, float] | None = None,
        clip: bool = False,
        blend: str | None = None,
        plane: int = MARKS,
    ) -> None:
        """A line along an SVG path, its origin `at` a place; `clip` keeps it inside the sheet.

        Clipped ones may `blend`, by CSS's names, with the clipped ones right before them.
        """
        look = {"fill": None, "stroke": self.colour(stroke), "width": width, "opacity": opacity}
        more: Row = {"dash": dash} if dash else {}
        if clip:
            more["blend"] = blend
        self._add_path(path, at, plane, look | more)

    def image(self, x: float, y: float, width: float, height: float, url: str) -> None:
        """An image from a data URL in a box, its pixels sharp."""
        row = {"x": x, "y": y, "width": width, "height": height, "url": url}
        self._marks.append((MARKS, "image", row))

    def colour_bar(self, x: float, y: float, width: float, height: float) -> None:
        """The scale of weights from its start to its end, in a frame."""
        last = len(self.theme.ramp) - 1
        stops = [(i / last, colour) for i, colour in enumerate(self.theme.ramp)]
        self.area(rectangle(x, y, width, height), _gradient(stops))
        self.line(rectangle(x + 0.5, y + 0.5, width - 1, height - 1), "hairline")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: Colour = "text",
        *,
        size: float = LABEL,
        align: Align = "left",
        bold: bool = False,
        middle: bool = False,
        angle: float = 0,
        opacity: float = 1,
        halo: bool = False,
        plane: int = TEXTS,
    ) -> None:
        """One line of text, its baseline at the height `y`, or its `middle`.

        `angle` is in degrees, clockwise; a `halo` of the ground parts the text from others.
        """
        if middle:
            # As Vega places it, whole pixels below the middle, along the text's own upright.
            down, slope = round(0.3 * size), radians(angle)
            x, y = x - down * sin(slope), y + down * cos(slope)
        row: Row = {
            "x": round(x, 2),
            "y": round(y, 2),
            "text": _printable(text),
            "fill": self.colour(colour),
            "align": align,
            "size": size,
            "weight": 600 if bold else 400,
        }
        if angle:
            row["angle"] = angle
        if opacity != 1:
            row["opacity"] = opacity
        if halo:
            self._marks.append((plane, "text", row | {"stroke": self.theme.ground}))
        self._marks.append((plane, "text", row))

    def token(self, x: float, y: float, text: str, colour: str, **style: Any) -> None:
        """A token, its middle at `y`, its wordpiece mark at half strength; else as `text`."""
        marked = len(text) > len(_MARK) and text.startswith(_MARK)
        fill = self._half_marked(text, colour) if marked else colour
        self.text(x, y, text, fill, middle=True, **style)

    def chart(
        self, width: float, height: float, *, title: str, notes: Sequence[str] = ()
    ) -> SheetChart:
        """The chart; further lines of the title become the subtitle, with `notes` at its end.

        Raises:
            ValueError: nothing was drawn, or the title is empty.
        """
        if not self._marks:
            raise ValueError("an empty sheet is no chart: write a text that says why")
        ordered = sorted(self._marks, key=lambda mark: (mark[0], mark[1] == "text"))
        layers = []
        for kind, group in groupby(ordered, key=lambda mark: mark[1]):
            rows = [row for _, _, row in group]
            layers += [layer(kind, [r]) for r in rows] if kind == "image" else [layer(kind, rows)]
        return sheet_chart(layers, width, height, self.theme, title, notes)

    def colour(self, colour: Colour) -> str | Gradient:
        """A colour of the sheet's theme as Vega takes it.

        Raises:
            ValueError: the theme has no colour of that name.
        """
        if isinstance(colour, dict):
            return colour
        if isinstance(colour, tuple):
            ramp, place = colour
            return ramp_colour(getattr(self.theme, ramp), place)
        if colour.startswith(_CSS):
            return colour
        if colour in _NAMES:
            return str(getattr(self.theme, colour))
        name, _, number = colour.partition(" ")
        if name == "series" and number.isdecimal():
            return self.theme.series[int(number) % len(self.theme.series)]
        if colour == "bar":
            return self.theme.ramp[_BAR]
        raise ValueError(
            f"there is no colour {colour!r}: name one of {', '.join(sorted(_NAMES))}, "
            "'series 0', 'bar', or '#rrggbb'"
        )

    def _add_path(self, path: str, at: tuple[float, float], plane: int, look: Row) -> None:
        place = {"x": round(at[0], 2), "y": round(at[1], 2)} if at != (0, 0) else {}
        kind = "clipped" if "blend" in look else "path"
        self._marks.append((plane, kind, {"path": path, **place, **look}))

    def _half_marked(self, text: str, colour: str) -> Gradient:
        """One text of two strengths: it stays whole for those who search or copy it."""
        fill = str(self.colour(colour))
        pale = css(blended(rgb(self.theme.ground), rgb(fill), 0.5))
        end = text_width(_MARK, 1) / text_width(text, 1)
        return _gradient([(0, pale), (end, pale), (end, fill), (1, fill)])


def _gradient(stops: Sequence[tuple[float, str]]) -> Gradient:
    """From the left to the right."""
    return {
        "gradient": "linear",
        "x1": 0,
        "x2": 1,
        "y1": 0,
        "y2": 0,
        "stops": [{"offset": round(at, 4), "color": colour} for at, colour in stops],
    }


def _printable(text: str) -> str:
    """Control characters as pictures of them: a file of markup holds none."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    code, kind = ord(letter), unicodedata.category(letter)
    if kind == "Cc":
        return chr(0x2400 + code) if code < 32 else "␡"
    return "\N{REPLACEMENT CHARACTER}" if kind == "Cs" or code & 0xFFFE == 0xFFFE else letter
