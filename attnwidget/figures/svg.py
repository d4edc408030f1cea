"""A chart as an SVG of its own: the size asked for, named and described, the same every time."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import vl_convert

from attnwidget.figures.caption import Caption
from attnwidget.figures.text_width import MEASURED_FONT, wrapped
from attnwidget.figures.theme import LABEL, LINE, Theme
from attnwidget.figures.xml_text import xml_text, xml_texts

# Vega escapes "<" and ">" in text and in attributes.
_TAG = re.compile(r"<[A-Za-z][^>]*>")
# What Vega says of each mark: a reader of the file would hear every number, images their bytes.
_SPOKEN = re.compile(r' (?:aria-[a-z]+|role)="[^"]*"')
_IDS = re.compile(r'(?<= id=")(?:clip|gradient_)\d+|(?<=url\(#)(?:clip|gradient_)\d+')
_MARGIN = 8
_PNG = "data:image/png;base64,"
_PIXEL = (
    f"{_PNG}iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR"
    "42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
_STAND_IN = re.compile(f"{re.escape(_PIXEL)}#(\\d+)")


@dataclass(frozen=True)
class Drawing:
    """An SVG: its inner elements, and the size that they are laid out for, in pixels."""

    body: str
    width: float
    height: float


def drawn(chart: Any) -> Drawing:
    """The Altair chart as SVG elements, without the numbers that Vega would have read aloud.

    Raises:
        ValueError: the chart cannot be drawn; Vega's own message.
    """
    # A chart has been checked as it was made: to check it again takes longer than to draw it.
    spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    images: list[str] = []
    svg = vl_convert.vegalite_to_svg(xml_texts(_without_images(spec, images)))
    root = _TAG.search(svg)
    if root is None:
        raise ValueError("the chart became no SVG: is it an Altair chart with at least one mark?")
    width, height = (float(_attribute(root[0], name)) for name in ("width", "height"))
    body = svg[root.end() : svg.rindex("</svg>")]
    body = _TAG.sub(lambda tag: _SPOKEN.sub("", tag[0]), body)
    return Drawing(_STAND_IN.sub(lambda found: images[int(found[1])], body), width, height)


def _without_images(part: Any, images: list[str]) -> Any:
    """The specification with a small image in place of each large one, which are put in `images`.

    Vega passes them on as they are, and takes longer to do so than to draw everything else.
    """
    if isinstance(part, dict):
        return {name: _without_images(value, images) for name, value in part.items()}
    if isinstance(part, list):
        return [_without_images(value, images) for value in part]
    if isinstance(part, str) and part.startswith(_PNG) and len(part) > len(_PIXEL):
        images.append(part)
        return f"{_PIXEL}#{len(images) - 1}"
    return part


def with_caption_below(drawing: Drawing, text: str, theme: Theme) -> Drawing:
    """The drawing with text under it, wrapped to its width."""
    lines = wrapped(text, LABEL, drawing.width - 2 * _MARGIN)
    first = drawing.height + LINE
    spans = "".join(
        f'<text x="{_MARGIN}" y="{first + k * (LINE + 2)}" font-family="{MEASURED_FONT}"'
        f' font-size="{LABEL}px" fill="{theme.muted}">{escape(line, quote=False)}</text>'
        for k, line in enumerate(lines)
    )
    height = drawing.height + LINE + (LINE + 2) * (len(lines) - 1) + _MARGIN
    return Drawing(drawing.body + xml_text(spans), drawing.width, height)


def document(
    drawing: Drawing,
    theme: Theme,
    *,
    width: float | None = None,
    caption: Caption | None = None,
    creator: str = "",
    image: Callable[[str], str] | None = None,
) -> str:
    """The drawing as an SVG file, `width` pixels wide; its height follows, in whole pixels.

    Args:
        drawing: what is in it.
        theme: its background.
        width: pixels of the whole figure; its own without one.
        caption: written into it as title, description and metadata; without one it is no file to
            keep, and its identifiers may be those of another.
        creator: program that made it.
        image: rewrites the tag of each image in it.
    """
    width = drawing.width if width is None else width
    height = max(1, round(drawing.height * width / drawing.width))
    # A whole number of pixels is not the exact shape: the ground fills what is left.
    view = drawing.width, height * drawing.width / width
    box = f"{_number(view[0])} {_number(view[1])}"
    body = drawing.body
    if image is not None:
        rewrite = image
        body = _TAG.sub(lambda t: rewrite(t[0]) if t[0].startswith("<image") else t[0], body)
    ground = f'<rect width="{_number(view[0])}" height="{_number(view[1])}" fill="{theme.ground}"/>'
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        f' version="1.1" role="img" width="{_number(width)}" height="{height}"'
        f' viewBox="0 0 {box}">{_described(caption, creator)}{ground}{body}</svg>\n'
    )
    return svg if caption is None else _with_own_ids(svg)


def _described(caption: Caption | None, creator: str) -> str:
    if caption is None:
        return ""
    fields = "".join(
        f"<caption:{name}>{escape(value, quote=False)}</caption:{name}>"
        for name, value in caption.to_dict().items()
    )
    title, text = escape(title_of(caption), quote=False), escape(caption.text(), quote=False)
    return xml_text(
        f"<title>{title}</title><desc>{text}</desc><metadata>"
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:caption="urn:attnwidget:caption">'
        f'<rdf:Description rdf:about=""><dc:title>{title}</dc:title>'
        f"<dc:description>{text}</dc:description>"
        f"<dc:creator>{escape(creator, quote=False)}</dc:creator>{fields}"
        "</rdf:Description></rdf:RDF></metadata>"
    )


def title_of(caption: Caption) -> str:
    """A short name for a file: figure, model and head."""
    return " · ".join(filter(None, (caption.figure, caption.model, caption.head)))


def _with_own_ids(svg: str) -> str:
    """Vega counts the clips of all charts of a process, and two charts on a page may not agree."""
    renamed: dict[str, str] = {}
    for found in _IDS.findall(svg):
        renamed.setdefault(found, f"{len(renamed)}")
    numbered = _in_tags(svg, lambda old: renamed[old])
    prefix = f"a{zlib.crc32(numbered.encode()):08x}-"
    return _in_tags(svg, lambda old: prefix + renamed[old])


def _in_tags(svg: str, name: Callable[[str], str]) -> str:
    return _TAG.sub(lambda tag: _IDS.sub(lambda old: name(old[0]), tag[0]), svg)


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf' {name}="([^"]*)"', tag)
    return found[1] if found else ""


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
