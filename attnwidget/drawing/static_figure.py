"""Static figure of a widget: a picture and a table."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from attnwidget.drawing.caption import Caption
from attnwidget.drawing.figure_html import figure_html
from attnwidget.drawing.picture import Picture

# This number gives a small figure sharp text on a high-resolution screen. A large figure has enough
# pixels at a lower density.
_PIXELS = 300_000
# 256 colors suffice for a color ramp and for shades of text. A small file matters because a
# notebook stores the picture twice.
_COLORS = 256
_OUTPUT = ".jp-OutputArea-child"


@dataclass(frozen=True)
class StaticFigure:
    """Snapshot of a widget for any notebook viewer, which stays after the widget is closed.

    Attributes:
        caption: Caption of the figure.
        png: PNG file of the picture.
        width: Width of the picture in CSS pixels.
        height: Height of the picture in CSS pixels.
        html: HTML with the picture, the caption and the table.
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
        """Return the data and the metadata of a notebook output with picture and table."""
        size = {"width": self.width, "height": self.height, "alt": self.caption.text()}
        png = base64.b64encode(self.png).decode("ascii")
        return {"image/png": png, "text/html": self.html}, {"image/png": size}

    def __repr__(self) -> str:
        description = " · ".join(
            filter(None, (self.caption.figure, self.caption.model, self.caption.head))
        )
        return f"StaticFigure({description}, {self.width}×{self.height})"


def static_figure(picture: Picture, *, brief: bool = False) -> StaticFigure:
    """Return a static figure for notebook viewers.

    Args:
        picture: Picture of the widget.
        brief: Whether a long figure may show only its first part, for a figure that is made at
            every display.
    """
    from attnwidget.drawing.png import png

    drawing = picture.drawn(density=None, pixels=_PIXELS, dense=True, brief=brief)
    width = round(drawing.width)
    height = round(drawing.height)
    pixels = round(width * drawing.density)
    file = png(drawing, pixels=pixels, scale=drawing.density, colors=_COLORS)
    html = figure_html(drawing.caption, drawing.table, file, (width, height))
    return StaticFigure(drawing.caption, file, width, height, html)


def kept_picture(html: str, figure: str) -> str:
    """Return the HTML of a static figure that is hidden while its live view is on the page.

    The static figure is the output before the live view. A style sheet, not a script, hides one of
    the two, so that the rule also works for copies and late outputs. In an untrusted notebook the
    style sheet is removed, but no live view runs there.

    Args:
        html: Picture and table.
        figure: Identifier of the live figure, its `data-figure` attribute on the page.

    Example:
        >>> from attnwidget.drawing.static_figure import kept_picture
        >>> '<div data-kept="f1"><p>L0 H1</p></div>' in kept_picture("<p>L0 H1</p>", "f1")
        True
    """
    static = f'[data-kept="{figure}"]'
    live = f':root:has([data-figure="{figure}"])'
    # The first selector is for JupyterLab, Notebook 7 and nbconvert, the second for VS Code.
    selector = f"{_OUTPUT}:has(> * > {static})"
    in_code = f".output_container:has(> * > * > {static})"
    # For a view without its model, JupyterLab shows a line of text. Other errors are elements.
    lost = f"{_OUTPUT}:has(> * > {static}) + {_OUTPUT}:not(:has(> .jp-OutputArea-output > *))"
    hidden = ", ".join([f"{live} {static}", f"{live} {selector}", f"{live} {in_code}", lost])
    return f'<style>{hidden} {{ display: none }}</style><div data-kept="{figure}">{html}</div>'
