"""Curves from one column of tokens to another as one image, five times as fast as a renderer."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PIL import ImageColor, ImageDraw

from attnwidget.figures.raster_runs import Strokes, canvas, image_tag, with_images

_CURVES = re.compile(r"(?:M[-\d.e]+(?:,[-\d.e]+)C[-\d.e]+(?:,[-\d.e]+){5})+")
_BLANKS = str.maketrans("MC,", "   ")
# Fewer are drawn as they are.
_MANY = 30
# Pixels drawn for each pixel's side.
_SMOOTH = 2
# Straight parts of a curve, and how its four points make their ends.
_T = np.linspace(0, 1, 17)[:, None]
_PARTS = np.hstack([(1 - _T) ** 3, 3 * (1 - _T) ** 2 * _T, 3 * (1 - _T) * _T**2, _T**3])


def with_curves_as_images(body: str, zoom: float) -> str:
    """SVG elements with each run of opaque curves from left to right as an image in its place.

    Args:
        body: the elements.
        zoom: pixels for each unit of the SVG.
    """
    return with_images(body, _points, partial(_image, zoom=zoom), least=_MANY)


def _points(path: str) -> NDArray[np.float64] | None:
    """The four points [n, 8] of each curve of a path whose curves go from left to right."""
    if not _CURVES.fullmatch(path):
        return None
    points = np.fromstring(path.translate(_BLANKS), sep=" ").reshape(-1, 8)
    rightwards = (points[:, 6] > points[:, 0]).all()
    return points if rightwards else None


def _image(run: list[Strokes], zoom: float) -> str:
    fine = zoom * _SMOOTH
    picture, left, top = canvas(run, fine, _SMOOTH)
    pen = ImageDraw.Draw(picture)
    for one in run:
        colour = ImageColor.getcolor(one.colour, "RGBA")
        curves = _PARTS @ one.points.reshape(-1, 4, 2)  # [n, parts, 2]
        across, down = (curves[:, -1] - curves[:, 0]).T
        # Lines of one pixel beside each other: one that is wider takes fifty times as long.
        tall = np.rint(one.width * fine * np.hypot(1, down / across)).astype(int).clip(1)
        placed = (curves - (left, top)) * fine
        for curve, n in zip(placed, tall.tolist(), strict=True):
            for shift in range(n):
                moved = curve + np.array([0, shift - (n - 1) / 2])
                pen.line(moved.ravel().tolist(), fill=colour)
    return image_tag(picture.reduce(_SMOOTH), left, top, zoom)
