"""Reading what a picture shows back from its SVG."""

from __future__ import annotations

import base64
import io
import re
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from attnwidget.charts.theme import DARK, LIGHT
from attnwidget.drawing.picture import Picture

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"


def elements(picture: Picture, tag: str) -> list[ElementTree.Element]:
    """The picture's elements with a tag, in the order in which they are drawn."""
    return list(ElementTree.fromstring(picture.svg).iter(f"{_SVG}{tag}"))


def texts(picture: Picture) -> list[str]:
    """All that is written in the picture."""
    return [text.text or "" for text in elements(picture, "text")]


def strokes(picture: Picture, colour: str) -> list[ElementTree.Element]:
    """Lines, outlines and frames of a colour."""
    return [each for each in _shapes(picture) if each.get("stroke") == colour]


def fills(picture: Picture, colour: str) -> list[ElementTree.Element]:
    """Areas of a colour."""
    return [each for each in _shapes(picture) if each.get("fill") == colour]


def _shapes(picture: Picture) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(picture.svg)
    kinds = {f"{_SVG}{tag}" for tag in ("path", "rect", "circle")}
    return [each for each in root.iter() if each.tag in kinds]


def number(element: ElementTree.Element, name: str) -> float:
    """An attribute that is a number, 0 where it is not there."""
    return float(element.get(name, "0"))


def offset(element: ElementTree.Element) -> tuple[float, float]:
    """How far an element is moved."""
    found = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform", ""))
    return (float(found[1]), float(found[2])) if found else (0.0, 0.0)


def images(picture: Picture, mode: str = "RGB") -> list[NDArray[np.uint8]]:
    """The pixels of the picture's images."""
    urls = [image.get(_LINK, "") for image in elements(picture, "image")]
    data = [base64.b64decode(url.removeprefix("data:image/png;base64,")) for url in urls]
    return [np.asarray(Image.open(io.BytesIO(each)).convert(mode)) for each in data]


def ramp_table(theme: str) -> NDArray[np.uint8]:
    """The 256 colours of a theme's scale, uint8 [256, 3], mixed from its anchors."""
    anchors = (DARK if theme == "dark" else LIGHT).ramp
    points = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in anchors], float)
    places = np.linspace(0, len(anchors) - 1, 256)
    mixed = [np.interp(places, np.arange(len(anchors)), points[:, k]) for k in range(3)]
    table: NDArray[np.uint8] = np.floor(np.stack(mixed, axis=-1) + 0.5).astype(np.uint8)
    return table


def levels(values: ArrayLike, maximum: float, scale: str) -> NDArray[np.int64]:
    """Where values lie on a scale of 256 colours."""
    share = np.minimum(1, np.nan_to_num(np.asarray(values, float)) / maximum)
    if scale == "sqrt":
        share = np.sqrt(share)
    elif scale == "log":
        share = np.maximum(0, 1 + np.log10(np.maximum(share, 1e-30)) / 3)
    found: NDArray[np.int64] = np.floor(255 * share + 0.5).astype(int)
    return found


def css(colour: ArrayLike) -> str:
    """A colour as the picture writes it."""
    return "#{:02x}{:02x}{:02x}".format(*np.asarray(colour).tolist())
