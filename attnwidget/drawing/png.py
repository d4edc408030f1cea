"""Conversion of a drawing to a PNG of a given width, with caption metadata."""

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

#: Smallest average area size, in pixels of the file.
_LEAST_PIXELS = 40
_OPAQUE = 255
# Tolerance for whole numbers, because layouts are computed in floating point.
_NEAR = 1e-6
_IMAGE = re.compile(
    r'<image x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)" preserveAspectRatio="none"'
    r' href="raster:(\d+)"([^>]*)/>'
)


def with_areas(drawing: Drawing, scale: float) -> Drawing:
    """Replace opaque images that have large cells with vector areas.

    The pixels of the file stay the same. An image is replaced only if each cell and each unit of
    the drawing covers a whole number of pixels, because the converter smooths the outer edges of
    other images.

    Args:
        drawing: Drawing with raster images.
        scale: Pixels of the file per pixel of the drawing.
    """

    def drawn(image: re.Match[str]) -> str:
        raster = drawing.rasters[int(image[5])]
        sides = scale, scale * raster.width / raster.across, scale * raster.height / raster.down
        return (all(map(_is_whole, sides)) and _areas(raster, image, scale)) or image[0]

    return replace(drawing, body=_IMAGE.sub(drawn, drawing.body))


def _is_whole(number: float) -> bool:
    return abs(number - round(number)) < _NEAR


def _areas(raster: Pixels, image: re.Match[str], scale: float) -> str | None:
    """Return one path per color; None if the image is transparent or its areas are small."""
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


INCH = 96
"""CSS pixels per inch."""


def png(
    drawing: Drawing,
    *,
    pixels: int,
    scale: float,
    text: Mapping[str, str] | None = None,
    colors: int | None = None,
) -> bytes:
    """Convert a drawing to a PNG file.

    Args:
        drawing: Drawing to convert.
        pixels: Width of the PNG in pixels.
        scale: Pixels of the file per displayed or printed pixel of the figure.
        text: Text metadata by keyword.
        colors: Maximum number of colors, at most 256; None = no limit. With fewer colors the file
            is several times smaller and written faster, but dense lines are less smooth.
    """
    # The converter enlarges images without smoothing and decodes small images faster, so do not
    # enlarge them here.
    shapes = with_areas(drawing, pixels / drawing.width)
    page = svg(shapes, width=pixels, density=0, named=False)
    with Image.open(io.BytesIO(svg_to_png(page))) as converted:
        picture = converted.convert("RGB")
    dpi = INCH * scale
    if colors is None:
        return png_file(np.asarray(picture), dpi=dpi, text=text)
    indices, palette = _fewer(picture, colors)
    return png_file(indices, palette=palette, level=SMALL_LEVEL, filtered=False, dpi=dpi, text=text)


def _fewer(picture: Image.Image, colors: int) -> tuple[Bytes, Bytes]:
    """Return the picture as palette indices and a palette that keeps the exact background color."""
    quantized = picture.quantize(colors, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    indices = np.asarray(quantized)
    # Quantization averages similar colors, but the background must match the page's background.
    palette = np.array(quantized.getpalette(), np.uint8).reshape(-1, 3)
    palette[indices[0, 0]] = np.asarray(picture)[0, 0]
    return indices, palette
