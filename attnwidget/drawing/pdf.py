"""Conversion of an SVG to a one-page PDF with text in embedded fonts and caption metadata."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from html import unescape
from typing import Any, cast

import pypdf
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DictionaryObject,
    IndirectObject,
    NameObject,
    NumberObject,
    StreamObject,
    TextStringObject,
)

from attnwidget.drawing.conversion import svg_to_pdf
from attnwidget.hidden_frames import warn_caller

_TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)
_MISSING = re.compile(r"<0000> <([0-9A-F]+)>")
_TAGS = re.compile(r"<[^>]*>")


def pdf(svg: str, info: Mapping[str, str]) -> bytes:
    """Convert an SVG file to a PDF whose page has the same size, with one point per pixel.

    A warning names characters that the installed fonts lack. The same SVG gives the same bytes.

    Args:
        svg: Text of the complete SVG file.
        info: Entries of the PDF's document information by name: "Title", "Subject", …
    """
    reader = pypdf.PdfReader(io.BytesIO(svg_to_pdf(svg)))
    _warn_of_missing_signs(svg, reader.pages[0])
    for number in reader.xref[0]:
        _sort(IndirectObject(number, 0, reader).get_object())
    # A clone may hold a shared object twice. With a small size, pypdf would log a warning about it.
    reader.trailer[NameObject("/Size")] = NumberObject(2 * len(reader.xref[0]) + 1)
    writer = pypdf.PdfWriter(clone_from=reader)
    writer.metadata = {f"/{name}": value for name, value in info.items()}
    root = writer.root_object
    root[NameObject("/Lang")] = TextStringObject("en")
    root[NameObject("/ViewerPreferences")] = DictionaryObject(
        {NameObject("/DisplayDocTitle"): BooleanObject(True)}
    )
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def _sort(part: Any) -> None:
    """Sort the names in dictionaries, because the converter's order changes between calls."""
    if isinstance(part, DictionaryObject):
        # A stream stores its data apart from its entries, so do not clear it.
        entries = sorted(part.items())
        if not isinstance(part, StreamObject):
            part.clear()
            part.update(entries)
        for _, entry in entries:
            _sort(entry)
    elif isinstance(part, ArrayObject):
        for entry in part:
            _sort(entry)


def _warn_of_missing_signs(svg: str, page: pypdf.PageObject) -> None:
    boxes = {character for font in _fonts(page) for character in _boxes(font)}
    if not boxes:
        return
    # The font lists only one missing character, so compare the SVG's text with the page's text.
    text = {character for part in _TEXT.findall(svg) for character in unescape(_TAGS.sub("", part))}
    missing = {
        character for character in text - set(page.extract_text()) if not character.isspace()
    }
    # Characters that are not printable are written as escape sequences.
    labels = [c if c.isprintable() else ascii(c)[1:-1] for c in sorted(boxes | missing)[:20]]
    warn_caller(
        f"no font of this machine has {' '.join(labels)}: the file shows boxes "
        "in their place. Install a font that has them, such as Noto Sans CJK, and save again.",
    )


def _fonts(page: pypdf.PageObject) -> list[DictionaryObject]:
    """Return the fonts in a page and its groups."""
    fonts = []
    parts = [page.get("/Resources")]
    while parts:
        resources = cast("DictionaryObject", (parts.pop() or DictionaryObject()).get_object())
        fonts += [font.get_object() for font in resources.get("/Font", {}).values()]
        groups = [group.get_object() for group in resources.get("/XObject", {}).values()]
        parts += [group.get("/Resources") for group in groups]
    return fonts


def _boxes(font: DictionaryObject) -> str:
    """Return the text of the glyph for missing characters in a font's Unicode table."""
    if "/ToUnicode" not in font:
        return ""
    table = cast("StreamObject", font["/ToUnicode"].get_object()).get_data()
    glyphs = table.decode("ascii", "replace").partition("endcodespacerange")[2]
    return "".join(
        bytes.fromhex(code).decode("utf-16-be", "replace") for code in _MISSING.findall(glyphs)
    )
