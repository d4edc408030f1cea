"""Texts that XML can hold: a token may be any sign, and an SVG may not."""

from __future__ import annotations

import re
from typing import Any

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    r"""The text with the signs that XML forbids, escaped or not, as replacement characters.

    Example:
        >>> from attnwidget.text.xml_text import xml_text
        >>> xml_text("a\x00b")
        'a\ufffdb'
    """
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def xml_texts(part: Any) -> Any:
    """A chart's specification with every text, also a field's name, as `xml_text` gives it.

    The converter ends the whole process, the kernel with it, when a text has another sign.
    """
    if isinstance(part, dict):
        return {xml_texts(name): xml_texts(value) for name, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [xml_texts(entry) for entry in part]
    return xml_text(part) if isinstance(part, str) else part
