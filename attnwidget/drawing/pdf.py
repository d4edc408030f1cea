"""An SVG as a PDF of one page: text as text in embedded fonts, its caption inside."""

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
    """The SVG as a PDF whose page has its size, a point for each pixel.

    Warns where the fonts of this machine lack signs of the text. The same SVG gives the same bytes.

    Args:
        svg: a whole SVG file.
        info: what is written into the file's information, by name: "Title", "Subject", …
    """
    reader = pypdf.PdfReader(io.BytesIO(svg_to_pdf(svg)))
    _warn_of_missing_signs(svg, reader.pages[0])
    for number in reader.xref[0]:
        _sort(IndirectObject(number, 0, reader).get_object())
    # A clone may hold a shared object twice, of which pypdf would log a warning.
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
    """Sort names: the converter's own order changes between calls."""
    if isinstance(part, DictionaryObject):
        # A stream's data is stored beside its entries, so every entry can be restored alone.
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
    boxes = {sign for font in _fonts(page) for sign in _boxes(font)}
    if not boxes:
        return
    # The font names only one missing character: the page does not name the remaining ones.
    text = {sign for part in _TEXT.findall(svg) for sign in unescape(_TAGS.sub("", part))}
    lost = {sign for sign in text - set(page.extract_text()) if not sign.isspace()}
    # Signs that no terminal should get are named by their numbers.
    named = [s if s.isprintable() else ascii(s)[1:-1] for s in sorted(boxes | lost)[:20]]
    warn_caller(
        f"no font of this machine has {' '.join(named)}: the file shows boxes "
        "in their place. Install a font that has them, such as Noto Sans CJK, and save again.",
    )


def _fonts(page: pypdf.PageObject) -> list[DictionaryObject]:
    """The fonts of a page, and of the groups in it."""
    fonts = []
    parts = [page.get("/Resources")]
    while parts:
        resources = cast("DictionaryObject", (parts.pop() or DictionaryObject()).get_object())
        fonts += [font.get_object() for font in resources.get("/Font", {}).values()]
        groups = [group.get_object() for group in resources.get("/XObject", {}).values()]
        parts += [group.get("/Resources") for group in groups]
    return fonts


def _boxes(font: DictionaryObject) -> str:
    """What stands for the glyph of missing signs in a font's table of texts."""
    if "/ToUnicode" not in font:
        return ""
    table = cast("StreamObject", font["/ToUnicode"].get_object()).get_data()
    glyphs = table.decode("ascii", "replace").partition("endcodespacerange")[2]
    return "".join(
        bytes.fromhex(code).decode("utf-16-be", "replace") for code in _MISSING.findall(glyphs)
    )
