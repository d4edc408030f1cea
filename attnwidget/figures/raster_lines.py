"""Thousands of lines as one image: an SVG renderer takes a millisecond for each of them."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PIL import ImageColor, ImageDraw

from attnwidget.figures.raster_runs import Strokes, canvas, image_tag, with_images

_NUMBER = r"[-\d.e]+"
_LINES = re.compile(f"(?:M{_NUMBER},{_NUMBER}L{_NUMBER},{_NUMBER})+")
_BLANKS = str.maketrans("ML,", "   ")
# Fewer are drawn as they are.
_MANY = 400


def with_lines_as_images(body: str, zoom: float, height: float, *, smooth: int = 2) -> str:
    """SVG elements with each long run of straight, opaque lines as an image in its place.

    Args:
        body: the elements.
        zoom: pixels for each unit of the SVG.
        height: of the whole SVG; lines may go on below it.
        smooth: pixels drawn for each pixel's side, so that slanted lines are smooth; 1 is fastest,
            with lines of 1 or of 2 pixels alike.
    """
    draw = partial(_image, zoom=zoom, height=height, smooth=smooth)
    return with_images(body, _ends, draw, least=_MANY)


def _ends(path: str) -> NDArray[np.float64] | None:
    """Both ends [n, 4] of each line of a path that has nothing else."""
    if not _LINES.fullmatch(path):
        return None
    return np.fromstring(path.translate(_BLANKS), sep=" ").reshape(-1, 4)


def _image(run: list[Strokes], zoom: float, height: float, smooth: int) -> str:
    fine = zoom * smooth
    picture, left, top = canvas(run, fine, smooth, most=height)
    pen = ImageDraw.Draw(picture)
    for one in run:
        colour = ImageColor.getcolor(one.colour, "RGBA")
        # A line of one pixel takes a fiftieth of the time of any wider one.
        thin = smooth == 1 and one.width * fine < 2.5
        width = 1 if thin else max(1, round(one.width * fine))
        placed = (_above(top + picture.height / fine, one.points) - (left, top, left, top)) * fine
        for line in placed.tolist():
            pen.line(line, fill=colour, width=width)
    return image_tag(picture.reduce(smooth), left, top, zoom)


def _above(bottom: float, ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lines up to a little below the bottom: what is drawn beyond costs time all the same."""
    end = bottom + 2
    down = np.where((ends[:, 1] > ends[:, 3])[:, None], ends[:, [2, 3, 0, 1]], ends)
    x1, y1, x2, y2 = down.T
    cut = (y2 > end) & (end > y1)
    x = np.where(cut, x1 + (x2 - x1) * (end - y1) / np.where(cut, y2 - y1, 1), x2)
    return np.stack([x1, y1, x, np.where(cut, end, y2)], axis=1)
