"""Removal of characters that XML, and therefore SVG, forbids."""

from __future__ import annotations

import re
from typing import Any

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    r"""Replace each character that XML forbids by a replacement character.

    Args:
        text: Text.

    Example:
        >>> from attnwidget.text.xml_text import xml_text
        >>> xml_text("a\x00b")
        'a\ufffdb'
    """
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def xml_texts(part: Any) -> Any:
    """Apply `xml_text` to every text in a chart specification, including field names.

    A forbidden character would make the converter end the process, and with it the kernel.

    Args:
        part: Chart specification, or a part of it.
    """
    if isinstance(part, dict):
        return {xml_texts(name): xml_texts(value) for name, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [xml_texts(entry) for entry in part]
    return xml_text(part) if isinstance(part, str) else part
