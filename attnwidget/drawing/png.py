"""A drawing as a PNG of a stated number of pixels, with its caption inside."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
from PIL import Image

from attnwidget.drawing.conversion import svg_to_png
from attnwidget.drawing.engine import Drawing
from attnwidget.drawing.large_cells import with_areas
from attnwidget.drawing.png_file import SMALL_LEVEL, Bytes, png_file
from attnwidget.drawing.svg import svg

_INCH = 96  # CSS pixels


def png(
    drawing: Drawing,
    *,
    pixels: int,
    scale: float,
    text: Mapping[str, str] | None = None,
    colours: int | None = None,
) -> bytes:
    """The drawing as a PNG, `pixels` wide.

    Args:
        drawing: what is in it.
        pixels: its width.
        scale: pixels of the file for each of the figure when it is printed or shown.
        text: what is written into it, by keyword.
        colours: colours at most, 256 or fewer: a file several times smaller, drawn faster, whose
            thousands of lines are less smooth.
    """
    # The converter enlarges images without smoothing, and reads small ones sooner.
    shapes = with_areas(drawing, pixels / drawing.width)
    page = svg(shapes, width=pixels, density=0, named=False)
    with Image.open(io.BytesIO(svg_to_png(page))) as opened:
        picture = opened.convert("RGB")
    dpi = _INCH * scale
    if colours is None:
        return png_file(np.asarray(picture), dpi=dpi, text=text)
    places, palette = _fewer(picture, colours)
    return png_file(places, palette=palette, level=SMALL_LEVEL, filtered=False, dpi=dpi, text=text)


def _fewer(picture: Image.Image, colours: int) -> tuple[Bytes, Bytes]:
    """Return the picture as places in a palette of so many colours, its ground as it is."""
    few = picture.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    places = np.asarray(few)
    # Near colours became their mean; the ground is seen beside the page's own.
    palette = np.array(few.getpalette(), np.uint8).reshape(-1, 3)
    palette[places[0, 0]] = np.asarray(picture)[0, 0]
    return places, palette
