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
# Colors of a ramp, and the shades of text: a notebook holds the picture twice.
_COLORS = 256
_OUTPUT = ".jp-OutputArea-child"


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
    made = png(drawing, pixels=pixels, scale=drawing.density, colors=_COLORS)
    html = figure_html(drawing.caption, drawing.table, made, (width, height))
    return StaticFigure(drawing.caption, made, width, height, html)


def kept_picture(html: str, figure: str) -> str:
    """The HTML of a figure for the output before its live view, of which one is seen at a time.

    A style sheet decides, not a script, so that the rule also holds for copies and late outputs.
    If the style sheet is removed, as in an untrusted notebook, no live view runs.

    Args:
        html: picture and table.
        figure: what the live figure is named by, as `data-figure` on the page.

    Example:
        >>> from attnwidget.drawing.static_figure import kept_picture
        >>> '<div data-kept="f1"><p>L0 H1</p></div>' in kept_picture("<p>L0 H1</p>", "f1")
        True
    """
    kept = f'[data-kept="{figure}"]'
    live = f':root:has([data-figure="{figure}"])'
    # An output of JupyterLab, Notebook 7 and nbconvert, and one of VS Code.
    selector = f"{_OUTPUT}:has(> * > {kept})"
    in_code = f".output_container:has(> * > * > {kept})"
    # Of a view without its model JupyterLab shows a line of text; other errors are elements.
    lost = f"{_OUTPUT}:has(> * > {kept}) + {_OUTPUT}:not(:has(> .jp-OutputArea-output > *))"
    hidden = ", ".join([f"{live} {kept}", f"{live} {selector}", f"{live} {in_code}", lost])
    return f'<style>{hidden} {{ display: none }}</style><div data-kept="{figure}">{html}</div>'
