"""A widget's figure without the widget: a picture and a table."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from attnwidget.drawing.caption import Caption
from attnwidget.drawing.figure_html import figure_html
from attnwidget.drawing.picture import Picture

# Enough for sharp text on a dense screen while a figure is small; a large one is dense by itself.
_PIXELS = 300_000
# Colours of a ramp, and the shades of text: a notebook holds the picture twice.
_COLOURS = 256


@dataclass(frozen=True)
class StaticFigure:
    """What a widget showed when this was made, for any reader; it stays when the widget is closed.

    `png` is the picture, `width` and `height` its size in CSS pixels, `html` picture, caption and
    table together.
    """

    caption: Caption
    png: bytes = field(repr=False)
    width: int
    height: int
    html: str = field(repr=False)

    def _repr_mimebundle_(self, **keywords: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = self.fallback()
        return data | {"text/plain": repr(self)}, metadata

    def fallback(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Picture and table, and what is said of the picture, as notebooks hold them."""
        size = {"width": self.width, "height": self.height, "alt": self.caption.text()}
        png = base64.b64encode(self.png).decode("ascii")
        return {"image/png": png, "text/html": self.html}, {"image/png": size}

    def __repr__(self) -> str:
        shown = " · ".join(
            filter(None, (self.caption.figure, self.caption.model, self.caption.head))
        )
        return f"StaticFigure({shown}, {self.width}×{self.height})"


def static_figure(picture: Picture, *, brief: bool = False) -> StaticFigure:
    """A picture for readers of notebooks; `brief` where one is made at every display."""
    from attnwidget.drawing.png import png

    drawing = picture.drawn(density=None, pixels=_PIXELS, dense=True, brief=brief)
    width = round(drawing.width)
    height = round(drawing.height)
    pixels = round(width * drawing.density)
    made = png(drawing, pixels=pixels, scale=drawing.density, colours=_COLOURS)
    html = figure_html(drawing.caption, drawing.table, made, (width, height))
    return StaticFigure(drawing.caption, made, width, height, html)
