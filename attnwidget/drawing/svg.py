"""A drawing as an SVG file: the size asked for, named and described, the same every time."""

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

# Sharp on a dense screen, and in print at the size of a column.
_DENSITY = 2.0


def svg(
    drawing: Drawing, *, width: float | None = None, density: float = _DENSITY, named: bool = True
) -> str:
    """The drawing as an SVG file, `width` pixels wide; its height follows, in whole pixels.

    Args:
        drawing: what is in it.
        width: pixels of the whole figure; its own without one.
        density: pixels of its images for each of the drawing, at least.
        named: Whether the file contains title, description and metadata.
    """
    width = drawing.width if width is None else width
    height = max(1, round(drawing.height * width / drawing.width))
    # A whole number of pixels is not the exact shape: the ground fills what is left.
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
# The smallest table of colors: in most cases 256 colors have different remainders there.
_REMAINDERS = 1 << 16
_SHARP = 'style="image-rendering: pixelated"'


def title_of(caption: Caption) -> str:
    """A short name for a file: figure, model and head."""
    return " · ".join(filter(None, (caption.figure, caption.model, caption.head)))


def creator() -> str:
    """The program that made a file."""
    return f"attnwidget {import_module('attnwidget').__version__}"


def _url(pixels: Pixels, density: float) -> str:
    """The pixels as a PNG in a data URL, enlarged so far that no reader has to smooth cells."""
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
    """Return an opaque picture as places in a palette, where its colors are few enough.

    The file is smaller. A picture of more colors is returned in R, G and B, without a palette.
    """
    from PIL import Image

    counted = picture.getcolors(256)
    if counted is None:
        return picture.convert("RGB"), None
    colors = np.array(sorted(color for _, color in counted), np.uint8)
    numbers = _numbers(colors)
    # A remainder that tells the colors apart: a table by remainders needs no search.
    size = next(size for size in count(_REMAINDERS) if len({*(numbers % size)}) == len(numbers))
    places = np.zeros(size, np.uint8)
    places[numbers % size] = np.arange(len(numbers))
    return Image.fromarray(places[_numbers(np.asarray(picture)) % size]), colors[:, :3]


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
