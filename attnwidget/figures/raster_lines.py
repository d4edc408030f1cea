"""Thousands of lines as one image: an SVG renderer takes a millisecond for each of them."""

from __future__ import annotations

import base64
import io
import math
import re

from PIL import Image, ImageColor, ImageDraw

_PATH = re.compile(r"<path [^>]*/>")
_LINE = re.compile(r"M([-\d.e]+),([-\d.e]+)L([-\d.e]+),([-\d.e]+)")
_ATTRIBUTE = re.compile(r' ([a-z-]+)="([^"]*)"')
_PLAIN = {"transform": "translate(0,0)", "opacity": "1", "fill": "none"}
# Fewer are drawn as they are.
_MANY = 400

Line = tuple[str, float, list[tuple[float, ...]]]


def with_lines_as_images(body: str, zoom: float, height: float, *, smooth: int = 2) -> str:
    """SVG elements with each long run of straight, opaque lines as an image in its place.

    Args:
        body: the elements.
        zoom: pixels for each unit of the SVG.
        height: of the whole SVG; lines may go on below it.
        smooth: pixels drawn for each pixel's side, so that slanted lines are smooth; 1 is fastest,
            with lines of 1 or of 2 pixels alike.
    """
    parts: list[str] = []
    run: list[Line] = []
    run_start = done = 0

    def finish(end: int) -> None:
        nonlocal done
        if sum(len(lines) for *_, lines in run) >= _MANY:
            parts.extend((body[done:run_start], _image(run, zoom, height, smooth)))
            done = end

    end = -1
    for found in _PATH.finditer(body):
        line = _lines(found[0])
        if found.start() != end or line is None:
            finish(end)
            run, run_start = [], found.start()
        if line is not None:
            run.append(line)
            end = found.end()
        else:
            end = -1
    finish(end)
    return "".join((*parts, body[done:]))


def _lines(tag: str) -> Line | None:
    """Colour, width and ends of the lines of a path that has nothing else."""
    has = dict(_ATTRIBUTE.findall(tag[len("<path") :]))
    known = {"d", "stroke", "stroke-width", *_PLAIN}
    if not {"d", "stroke"} <= has.keys() <= known:
        return None
    if any(has.get(name, value) != value for name, value in _PLAIN.items()):
        return None
    if _LINE.sub("", has["d"]):
        return None
    ends = [tuple(map(float, line)) for line in _LINE.findall(has["d"])]
    return (has["stroke"], float(has.get("stroke-width", 1)), ends) if ends else None


def _image(run: list[Line], zoom: float, height: float, smooth: int) -> str:
    every = [line for *_, lines in run for line in lines]
    left = math.floor(min(min(x1, x2) for x1, _, x2, _ in every)) - 2
    right = math.ceil(max(max(x1, x2) for x1, _, x2, _ in every)) + 2
    top = math.floor(min(min(y1, y2) for _, y1, _, y2 in every)) - 2
    bottom = min(math.ceil(max(max(y1, y2) for _, y1, _, y2 in every)) + 2, top + height)
    size = math.ceil((right - left) * zoom), math.ceil((bottom - top) * zoom)
    fine = zoom * smooth
    picture = Image.new("RGBA", (size[0] * smooth, size[1] * smooth))
    pen = ImageDraw.Draw(picture)
    for stroke, width, lines in run:
        colour = ImageColor.getcolor(stroke, "RGBA")
        # A line of one pixel takes a fiftieth of the time of any wider one.
        thick = 1 if smooth == 1 and width * fine < 2.5 else max(1, round(width * fine))
        for x1, y1, x2, y2 in (_above(bottom, *line) for line in lines):
            ends = [(x1 - left) * fine, (y1 - top) * fine, (x2 - left) * fine, (y2 - top) * fine]
            pen.line(ends, fill=colour, width=thick)
    file = io.BytesIO()
    picture.reduce(smooth).save(file, "PNG", compress_level=0)
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return (
        f'<image style="image-rendering: pixelated" x="{left}" y="{top}"'
        f' width="{size[0] / zoom}" height="{size[1] / zoom}" preserveAspectRatio="none"'
        f' xlink:href="data:image/png;base64,{data}"/>'
    )


def _above(bottom: float, x1: float, y1: float, x2: float, y2: float) -> tuple[float, ...]:
    """A line up to a little below the bottom: what is drawn beyond costs time all the same."""
    end = bottom + 2
    if y1 > y2:
        x1, y1, x2, y2 = x2, y2, x1, y1
    if y2 > end > y1:
        x2, y2 = x1 + (x2 - x1) * (end - y1) / (y2 - y1), end
    return x1, y1, x2, y2
