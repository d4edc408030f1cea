"""A drawing as a PNG of a stated number of pixels, with its caption inside."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from attnwidget.drawing.conversion import svg_to_png
from attnwidget.drawing.engine import Drawing
from attnwidget.drawing.svg import svg

_INCH = 96  # CSS pixels
# Levels of compression. The default takes up to twice as long for files of five sixths of the size.
_FAST_LEVEL = 3
_DEFAULT_LEVEL = 6


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
    page = svg(drawing, width=pixels, density=0, named=False)
    with Image.open(io.BytesIO(svg_to_png(page))) as opened:
        picture = opened.convert("RGB")
    if colours is not None:
        picture = _fewer(picture, colours)
    written = PngInfo()
    for keyword, value in (text or {}).items():
        written.add_itxt(keyword, value)
    file = io.BytesIO()
    dpi = _INCH * scale
    level = _FAST_LEVEL if colours is None else _DEFAULT_LEVEL
    picture.save(file, "PNG", pnginfo=written, dpi=(dpi, dpi), compress_level=level)
    return file.getvalue()


def _fewer(picture: Image.Image, colours: int) -> Image.Image:
    """The picture with so many colours, its ground as it is."""
    few = picture.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    # Near colours became their mean; the ground is seen beside the page's own.
    palette = np.array(few.getpalette()).reshape(-1, 3)
    palette[np.asarray(few)[0, 0]] = np.asarray(picture)[0, 0]
    few.putpalette(palette.ravel().tolist())
    return few
