"""A drawing as a PNG of a stated number of pixels, with its caption inside."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from PIL import Image

from attnwidget.drawing.conversion import svg_to_png
from attnwidget.drawing.engine import Drawing, Pixels
from attnwidget.drawing.png_file import SMALL_LEVEL, Bytes, png_file
from attnwidget.drawing.svg import svg

#: Pixels of the file that an area has at least, on average.
_LEAST_PIXELS = 40
_OPAQUE = 255
# What floating-point numbers of a layout differ from whole numbers.
_NEAR = 1e-6
_IMAGE = re.compile(
    r'<image x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)" preserveAspectRatio="none"'
    r' href="raster:(\d+)"([^>]*)/>'
)


def with_areas(drawing: Drawing, scale: float) -> Drawing:
    """Return the drawing with areas in place of the opaque images whose cells are large.

    The pixels of the file stay the same. This needs a whole number of pixels for each cell and for
    each unit of the drawing: elsewhere the converter smooths the outer edges of images, so these
    images stay.

    Args:
        drawing: The drawing.
        scale: Pixels of the file for each of the drawing.
    """

    def drawn(image: re.Match[str]) -> str:
        raster = drawing.rasters[int(image[5])]
        sides = scale, scale * raster.width / raster.across, scale * raster.height / raster.down
        return (all(map(_is_whole, sides)) and _areas(raster, image, scale)) or image[0]

    return replace(drawing, body=_IMAGE.sub(drawn, drawing.body))


def _is_whole(number: float) -> bool:
    return abs(number - round(number)) < _NEAR


def _areas(raster: Pixels, image: re.Match[str], scale: float) -> str | None:
    """Return one path for each color; None if the image is transparent or its areas are small."""
    colors = np.frombuffer(raster.data, np.uint8).reshape(raster.down, raster.across, 4)
    words = colors.view(np.uint32)[..., 0]
    begins = np.ones(words.shape, bool)
    begins[:, 1:] = words[:, 1:] != words[:, :-1]
    pixels = raster.width * raster.height * scale**2
    starts = np.flatnonzero(begins)
    if len(starts) * _LEAST_PIXELS > pixels or colors[..., 3].min() < _OPAQUE:
        return None
    lengths = np.diff(starts, append=words.size)
    by_color: dict[int, list[str]] = {}
    for word, start, length in zip(
        words.ravel()[starts].tolist(), starts.tolist(), lengths.tolist(), strict=True
    ):
        row, column = divmod(start, raster.across)
        by_color.setdefault(word, []).append(f"M{column} {row}h{length}v1h-{length}z")
    paths = "".join(
        f'<path fill="#{word.to_bytes(4, sys.byteorder)[:3].hex()}" d="{"".join(areas)}"/>'
        for word, areas in by_color.items()
    )
    left, top, width, height = map(float, image.groups()[:4])
    across, down = width / raster.across, height / raster.down
    return (
        f'<g{image[6]}><g shape-rendering="crispEdges" transform="matrix({across:.9g} 0 0 '
        f'{down:.9g} {left} {top})">{paths}</g></g>'
    )


_INCH = 96  # CSS pixels


def png(
    drawing: Drawing,
    *,
    pixels: int,
    scale: float,
    text: Mapping[str, str] | None = None,
    colors: int | None = None,
) -> bytes:
    """The drawing as a PNG, `pixels` wide.

    Args:
        drawing: what is in it.
        pixels: its width.
        scale: pixels of the file for each of the figure when it is printed or shown.
        text: what is written into it, by keyword.
        colors: colors at most, 256 or fewer: a file several times smaller, drawn faster, whose
            thousands of lines are less smooth.
    """
    # The converter enlarges images without smoothing, and reads small ones sooner.
    shapes = with_areas(drawing, pixels / drawing.width)
    page = svg(shapes, width=pixels, density=0, named=False)
    with Image.open(io.BytesIO(svg_to_png(page))) as opened:
        picture = opened.convert("RGB")
    dpi = _INCH * scale
    if colors is None:
        return png_file(np.asarray(picture), dpi=dpi, text=text)
    places, palette = _fewer(picture, colors)
    return png_file(places, palette=palette, level=SMALL_LEVEL, filtered=False, dpi=dpi, text=text)


def _fewer(picture: Image.Image, colors: int) -> tuple[Bytes, Bytes]:
    """Return the picture as places in a palette of so many colors, its ground as it is."""
    few = picture.quantize(colors, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    places = np.asarray(few)
    # Near colors became their mean; the ground is seen beside the page's own.
    palette = np.array(few.getpalette(), np.uint8).reshape(-1, 3)
    palette[places[0, 0]] = np.asarray(picture)[0, 0]
    return places, palette
