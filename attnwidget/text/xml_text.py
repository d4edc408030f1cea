"""Texts without the characters that XML, and therefore SVG, forbids."""

from __future__ import annotations

import re
from typing import Any

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    r"""Replace the characters that XML forbids, escaped or not, by replacement characters.

    Example:
        >>> from attnwidget.text.xml_text import xml_text
        >>> xml_text("a\x00b")
        'a\ufffdb'
    """
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def xml_texts(part: Any) -> Any:
    """Apply `xml_text` to every text in the specification of a chart, also to names of fields.

    A forbidden character would make the converter end the whole process with the kernel.
    """
    if isinstance(part, dict):
        return {xml_texts(name): xml_texts(value) for name, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [xml_texts(entry) for entry in part]
    return xml_text(part) if isinstance(part, str) else part
