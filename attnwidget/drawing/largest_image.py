"""The largest image of a drawing, which a PNG gets without the converter.

The converter needs 50 ns for each pixel of an image, several times as long as for the rest of a
figure. So it draws an area of one colour in place of the image. What is drawn over the image is
seen by drawing the figure twice, with a black area and with a white one: the difference is the
share of the image that shows at each pixel.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attnwidget.drawing.engine import Drawing
from attnwidget.drawing.svg import enlarged

Colours = NDArray[np.uint8]

# A smaller share of the drawing is converted sooner than the rest is drawn twice.
_LEAST_SHARE = 1 / 3
# An image lies on whole pixels, up to the three decimals of an SVG.
_NEAR = 0.01
_GROUP = re.compile(r"<(/?)(?:g|svg)\b[^>]*>")
_MOVED = re.compile(r' transform="translate\(([^ )]+) ([^ )]+)\)"')
_BOX = re.compile(r' x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"')
_RECT = re.compile(r'<rect[^>]* fill="(#[0-9a-f]{6})"(?: fill-opacity="([^"]+)")?([^>]*)/>')
# Groups that do more than move an image.
_OTHERWISE = ("<svg", "matrix(")


@dataclass(frozen=True)
class LargestImage:
    """An opaque image of a drawing.

    Attributes:
        colours: R, G and B of each pixel of the file, row by row.
        place: Rows and columns of the image in the file.
        without: The drawing with an area of a colour, such as "#000000", in place of the image.
    """

    colours: Colours
    place: tuple[slice, slice]
    without: Callable[[str], Drawing]

    def painted(self, convert: Callable[[Drawing], Colours]) -> Colours:
        """Return R, G and B of the whole picture.

        Args:
            convert: Function that draws a drawing without the image.
        """
        picture = convert(self.without("#000000")).copy()
        over = picture[self.place]
        if not over.any():
            picture[self.place] = self.colours
            return picture
        shows = (convert(self.without("#ffffff"))[self.place] - over).astype(np.uint16)
        picture[self.place] += ((shows * self.colours + 127) // 255).astype(np.uint8)
        return picture


def largest_image(drawing: Drawing, density: float) -> LargestImage | None:
    """Find the largest image of a drawing, with the rectangles that are drawn directly over it.

    Args:
        drawing: The drawing.
        density: Pixels of the file for each of the drawing.

    Returns:
        None if no image is large, or if the largest image is transparent, clipped, turned, not on
        whole pixels of the file, or if anything is blended with what lies below it.
    """
    areas = [pixels.width * pixels.height for pixels in drawing.rasters]
    body = drawing.body
    least = _LEAST_SHARE * drawing.width * drawing.height
    if max(areas, default=0) < least or "mix-blend-mode" in body:
        return None
    largest = areas.index(max(areas))
    found = re.search(rf'<image [^>]*href="raster:{largest}"[^>]*>', body)
    if found is None:
        return None
    start, end = found.span()
    groups = "".join(_open_groups(body[:start]))
    place = (
        None if any(word in groups for word in _OTHERWISE) else _place(groups, found[0], density)
    )
    image = enlarged(drawing.rasters[largest], density)
    if place is None or image.getchannel("A").getextrema() != (255, 255):
        return None
    rows, columns = place
    if (columns.stop - columns.start, rows.stop - rows.start) != image.size:
        return None
    colours = np.array(image.convert("RGB"))
    while rect := _RECT.match(body, end):
        part = _place(groups, rect[0], density)
        if part is None or not (_within(part[0], rows) and _within(part[1], columns)):
            break
        _blend(colours, part, (rows.start, columns.start), rect[1], float(rect[2] or 1))
        end = rect.end()

    def without(colour: str) -> Drawing:
        area = re.sub(r'href="raster:\d+"', f'fill="{colour}"', found[0].replace("<image", "<rect"))
        return replace(drawing, body=body[:start] + area + body[end:])

    return LargestImage(colours, place, without)


def _open_groups(body: str) -> list[str]:
    """Return the start tags of the groups that are open at the end of a part of a drawing."""
    groups: list[str] = []
    for group in _GROUP.finditer(body):
        if group[1]:
            groups.pop()
        else:
            groups.append(group[0])
    return groups


def _place(groups: str, element: str, density: float) -> tuple[slice, slice] | None:
    """Return rows and columns of an element in the file; None if it is not on whole pixels."""
    box = _BOX.search(element)
    if box is None or "matrix(" in element:
        return None
    left, top, width, height = map(float, box.groups())
    for across, down in _MOVED.findall(groups + element):
        left += float(across)
        top += float(down)
    edges = [density * edge for edge in (top, top + height, left, left + width)]
    whole = [round(edge) for edge in edges]
    if any(abs(a - b) > _NEAR for a, b in zip(edges, whole, strict=True)):
        return None
    return slice(*whole[:2]), slice(*whole[2:])


def _within(part: slice, whole: slice) -> bool:
    return bool(whole.start <= part.start and part.stop <= whole.stop)


def _blend(
    colours: Colours,
    part: tuple[slice, slice],
    corner: tuple[int, int],
    fill: str,
    opacity: float,
) -> None:
    """Paint a rectangle of the file onto an image whose left upper corner is at `corner`."""
    rows, columns = (
        slice(side.start - start, side.stop - start)
        for side, start in zip(part, corner, strict=True)
    )
    colour = np.frombuffer(bytes.fromhex(fill[1:]), np.uint8)
    below = colours[rows, columns]
    colours[rows, columns] = np.rint(opacity * colour + (1 - opacity) * below)
