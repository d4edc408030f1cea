"""Conversion of a drawing to an SVG file of a given width, with title, description and metadata."""

from __future__ import annotations

import base64
import re
from html import escape
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.drawing.png_file import FAST_LEVEL, Bytes, png_file
from attnwidget.text.xml_text import xml_text

if TYPE_CHECKING:
    from PIL import Image

    from attnwidget.drawing.caption import Caption
    from attnwidget.drawing.engine import Drawing, Pixels

# This density is sharp on a high-resolution screen and in print at column width.
_DENSITY = 2.0


def svg(
    drawing: Drawing, *, width: float | None = None, density: float = _DENSITY, named: bool = True
) -> str:
    """Convert a drawing to an SVG file. The same drawing gives the same text.

    Args:
        drawing: Drawing to convert.
        width: Width of the file in pixels; default: the drawing's own width. The height keeps the
            aspect ratio and is rounded to whole pixels.
        density: Minimum number of image pixels per pixel of the drawing.
        named: Whether the file contains title, description and metadata.
    """
    width = drawing.width if width is None else width
    height = max(1, round(drawing.height * width / drawing.width))
    # Rounding the height changes the shape slightly, so the background fills the remaining strip.
    view = drawing.width, height * drawing.width / width
    box = " ".join(map(_number, view))
    ground = (
        f'<rect width="{_number(view[0])}" height="{_number(view[1])}" fill="{drawing.ground}"/>'
    )
    body = _RASTER.sub(
        lambda found: f'{_SHARP} xlink:href="{_url(drawing.rasters[int(found[1])], density)}"',
        drawing.body,
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        f' version="1.1" role="img" width="{_number(width)}" height="{height}"'
        f' viewBox="0 0 {box}" xml:space="preserve">'
        f"{_described(drawing.caption) if named else ''}{ground}{body}</svg>\n"
    )


_RASTER = re.compile(r'href="raster:(\d+)"')
# Smallest size of the color table. In most cases 256 colors have different remainders modulo this
# size.
_REMAINDERS = 1 << 16
_SHARP = 'style="image-rendering: pixelated"'


def title_of(caption: Caption) -> str:
    """Return a short title for a file: figure, model and head."""
    return " · ".join(filter(None, (caption.figure, caption.model, caption.head)))


def creator() -> str:
    """Return the name and version of this package, for file metadata."""
    return f"attnwidget {import_module('attnwidget').__version__}"


def _url(pixels: Pixels, density: float) -> str:
    """Return the pixels as a PNG data URL, enlarged so that viewers do not blur the cells."""
    from PIL import Image

    picture = Image.frombytes("RGBA", (pixels.across, pixels.down), pixels.data)
    palette = None
    if picture.getchannel("A").getextrema() == (255, 255):
        picture, palette = _indexed(picture)
    size = (
        max(pixels.across, round(pixels.width * density)),
        max(pixels.down, round(pixels.height * density)),
    )
    if size != picture.size:
        picture = picture.resize(size, Image.Resampling.NEAREST)
    file = png_file(np.asarray(picture), palette=palette, level=FAST_LEVEL)
    return f"data:image/png;base64,{base64.b64encode(file).decode('ascii')}"


def _indexed(picture: Image.Image) -> tuple[Image.Image, Bytes | None]:
    """Return an opaque picture as palette indices with its palette, which makes a smaller file.

    A picture with more than 256 colors is returned in R, G and B, without a palette.
    """
    from PIL import Image

    color_counts = picture.getcolors(256)
    if color_counts is None:
        return picture.convert("RGB"), None
    colors = np.array(sorted(color for _, color in color_counts), np.uint8)
    numbers = _numbers(colors)
    # Find a size at which all colors have different remainders. The remainder is then the position
    # in the table, without a search.
    size = next(size for size in count(_REMAINDERS) if len({*(numbers % size)}) == len(numbers))
    indices = np.zeros(size, np.uint8)
    indices[numbers % size] = np.arange(len(numbers))
    return Image.fromarray(indices[_numbers(np.asarray(picture)) % size]), colors[:, :3]


def _numbers(colors: Bytes) -> NDArray[np.uint32]:
    """Return each color as one number."""
    return colors.view(np.uint32)[..., 0]


def _described(caption: Caption) -> str:
    fields = "".join(
        f"<caption:{name}>{escape(value, quote=False)}</caption:{name}>"
        for name, value in caption.to_dict().items()
    )
    title = escape(title_of(caption), quote=False)
    text = escape(caption.text(), quote=False)
    return xml_text(
        f"<title>{title}</title><desc>{text}</desc><metadata>"
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:caption="urn:attnwidget:caption">'
        f'<rdf:Description rdf:about=""><dc:title>{title}</dc:title>'
        f"<dc:description>{text}</dc:description>"
        f"<dc:creator>{escape(creator(), quote=False)}</dc:creator>{fields}"
        "</rdf:Description></rdf:RDF></metadata>"
    )


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
