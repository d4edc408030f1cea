"""Runs of plain strokes in an SVG, each drawn as one image in their place."""

from __future__ import annotations

import base64
import io
import math
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_PATH = re.compile(r"<path [^>]*/>")
_ATTRIBUTE = re.compile(r' ([a-z-]+)="([^"]*)"')
_PLAIN = {"transform": "translate(0,0)", "opacity": "1", "stroke-opacity": "1", "fill": "none"}
_KNOWN = {"d", "stroke", "stroke-width", "fill-opacity", *_PLAIN}


class Strokes(NamedTuple):
    """The strokes of one path: their colour, width and points [n, points * 2], x and y of each."""

    colour: str
    width: float
    points: NDArray[np.float64]


def with_images(
    body: str,
    read: Callable[[str], NDArray[np.float64] | None],
    drawn: Callable[[list[Strokes]], str],
    *,
    least: int,
) -> str:
    """SVG elements with each long run of opaque strokes as an image in its place.

    Args:
        body: the elements.
        read: the points [n, points * 2] of the strokes of a path's `d`; None where it has others.
        drawn: the image's tag for a run.
        least: strokes that are worth an image.
    """
    parts: list[str] = []
    run: list[Strokes] = []
    run_start = done = 0

    def finish(end: int) -> None:
        nonlocal done
        if sum(len(one.points) for one in run) >= least:
            parts.extend((body[done:run_start], drawn(run)))
            done = end

    end = -1
    for found in _PATH.finditer(body):
        strokes = _strokes(found[0], read)
        if found.start() != end or strokes is None:
            finish(end)
            run, run_start = [], found.start()
        if strokes is not None:
            run.append(strokes)
            end = found.end()
        else:
            end = -1
    finish(end)
    return "".join((*parts, body[done:]))


def canvas(
    run: list[Strokes], fine: float, smooth: int, *, most: float = math.inf
) -> tuple[Image.Image, float, float]:
    """An empty picture for the strokes, and where its left and its top lie in the SVG.

    It has `fine` pixels for each unit, in whole groups of `smooth`, and is `most` units high at
    the most.
    """
    every = np.concatenate([one.points for one in run]).reshape(-1, 2)
    left, top = (math.floor(edge) - 2 for edge in every.min(0).tolist())
    right, bottom = (math.ceil(edge) + 2 for edge in every.max(0).tolist())
    sides = right - left, min(bottom, top + most) - top
    width, height = (math.ceil(side * fine / smooth) * smooth for side in sides)
    return Image.new("RGBA", (width, height)), left, top


def image_tag(picture: Image.Image, left: float, top: float, zoom: float) -> str:
    """The picture with its corner at a place of the SVG, `zoom` of its pixels for each unit."""
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=0)
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return (
        f'<image style="image-rendering: pixelated" x="{left}" y="{top}"'
        f' width="{picture.width / zoom}" height="{picture.height / zoom}"'
        f' preserveAspectRatio="none" xlink:href="data:image/png;base64,{data}"/>'
    )


def _strokes(tag: str, read: Callable[[str], NDArray[np.float64] | None]) -> Strokes | None:
    """What a path draws, if it is plain strokes and nothing else."""
    has = dict(_ATTRIBUTE.findall(tag[len("<path") :]))
    if not {"d", "stroke"} <= has.keys() <= _KNOWN:
        return None
    if any(has.get(name, value) != value for name, value in _PLAIN.items()):
        return None
    points = read(has["d"])
    if points is None:
        return None
    return Strokes(has["stroke"], float(has.get("stroke-width", 1)), points)
