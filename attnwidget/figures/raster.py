"""An SVG as a PNG of a stated number of pixels, with crisp maps and its caption inside."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping

import numpy as np
import vl_convert
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from attnwidget.figures.raster_curves import with_curves_as_images
from attnwidget.figures.raster_lines import with_lines_as_images
from attnwidget.figures.svg import Drawing, document
from attnwidget.figures.theme import Theme

_SHARP = 'style="image-rendering: pixelated"'
_INCH = 96  # CSS pixels
_DATA = re.compile(r' (?:xlink:)?href="data:image/png;base64,([^"]*)"')
_STYLE = re.compile(r' style="[^"]*"')
_SIZE = re.compile(r' (width|height)="([^"]*)"')
# From here on no eye sees that cells of a map differ by a pixel.
_EVEN = 4


def png(
    drawing: Drawing,
    theme: Theme,
    *,
    pixels: int,
    scale: float,
    text: Mapping[str, str] | None = None,
    colours: int | None = None,
) -> bytes:
    """The drawing as a PNG, `pixels` wide.

    Args:
        drawing: what is in it.
        theme: its ground.
        pixels: its width.
        scale: pixels of the file for each of the figure when it is printed or shown.
        text: what is written into it, by keyword.
        colours: colours at most, 256 or fewer: a file several times smaller, drawn faster, whose
            thousands of lines are less smooth.
    """
    zoom = pixels / drawing.width
    body = with_lines_as_images(drawing.body, zoom, drawing.height, smooth=1 if colours else 2)
    if colours:
        body = with_curves_as_images(body, zoom)
    drawing = Drawing(body, drawing.width, drawing.height)
    svg = document(drawing, theme, width=pixels, image=lambda tag: _fitted(tag, zoom))
    with Image.open(io.BytesIO(vl_convert.svg_to_png(svg))) as opened:
        picture = opened.convert("RGB")
    if colours is not None:
        picture = _fewer(picture, colours)
    written = PngInfo()
    for keyword, value in (text or {}).items():
        written.add_itxt(keyword, value)
    file = io.BytesIO()
    dpi = _INCH * scale
    picture.save(file, "PNG", pnginfo=written, dpi=(dpi, dpi))
    return file.getvalue()


def _fewer(picture: Image.Image, colours: int) -> Image.Image:
    """The picture with so many colours, its ground as it is."""
    few = picture.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    # Near colours became their mean; the ground is seen beside the page's own.
    palette = np.array(few.getpalette()).reshape(-1, 3)
    palette[np.asarray(few)[0, 0]] = np.asarray(picture)[0, 0]
    few.putpalette(palette.ravel().tolist())
    return few


def _fitted(tag: str, zoom: float) -> str:
    """An image's tag with exactly the pixels that it is drawn with.

    The renderer's own scaling takes ten times as long and blurs cells.
    """
    if _SHARP in tag:
        return tag
    found = _DATA.search(tag)
    size = {name: float(value) * zoom for name, value in _SIZE.findall(tag)}
    if found is None or len(size) < 2 or min(size.values()) < 1:
        return tag
    with Image.open(io.BytesIO(base64.b64decode(found[1]))) as opened:
        picture = opened.convert("RGBA" if opened.has_transparency_data else "RGB")
    across, down = size["width"] / picture.width, size["height"] / picture.height
    if 'preserveAspectRatio="none"' not in tag:
        across = down = min(across, down)
    file = io.BytesIO()
    _resized(picture, across, down).save(file, "PNG", compress_level=0)
    data = base64.b64encode(file.getvalue()).decode("ascii")
    sharp = _STYLE.sub("", _DATA.sub(f' xlink:href="data:image/png;base64,{data}"', tag))
    return sharp.replace("<image", f"<image {_SHARP}", 1)


def _resized(picture: Image.Image, across: float, down: float) -> Image.Image:
    size = max(1, round(picture.width * across)), max(1, round(picture.height * down))
    if all(
        new >= _EVEN * old or new % old == 0 for new, old in zip(size, picture.size, strict=True)
    ):
        return picture.resize(size, Image.Resampling.NEAREST)
    # Whole cells first, then the mean of what falls on a pixel: no cell is lost, none is doubled.
    whole = -(-size[0] // picture.width), -(-size[1] // picture.height)
    enlarged = picture.resize(
        (picture.width * whole[0], picture.height * whole[1]), Image.Resampling.NEAREST
    )
    return enlarged.resize(size, Image.Resampling.BOX)
