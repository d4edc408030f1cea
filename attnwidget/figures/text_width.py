"""How wide a text is before anything draws it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

#: Families with the same widths, so that what is placed by them fits in each: the first comes with
#: the converter that makes pictures, the others with macOS and Windows.
MEASURED_FONT = "'Liberation Sans', Arial, Helvetica, sans-serif"

# In thousandths of the font size, as in Helvetica's metrics, from the space to the tilde.
_ASCII = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556),
    *(1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556),
    *(333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556),
    *(556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
_OTHERS = dict.fromkeys("‘’‚", 222) | dict.fromkeys("“”„", 333) | dict.fromkeys("—…", 1000)
_UNKNOWN = 600
# Bold letters are wider; their table differs little from this.
_BOLD = 1.08
_POINT = "·"


@lru_cache(4096)
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Pixels that a text takes in `MEASURED_FONT`; a fair guess for scripts without a table.

    Args:
        text: one line.
        size: of the font, in pixels.
        bold: whether it is set in bold.

    Example:
        >>> from attnwidget.figures.text_width import text_width
        >>> text_width("cat", 10)
        13.34
    """
    thousandths = sum(map(_letter, text))
    return round(thousandths * size / 1000 * (_BOLD if bold else 1), 2)


def shortened(text: str, size: float, room: float) -> str:
    """The text, or as much of it as fits into `room` pixels with an ellipsis.

    Example:
        >>> from attnwidget.figures.text_width import shortened
        >>> shortened("the captain of the ship", 10, 63)
        'the captain…'
    """
    if text_width(text, size) <= room:
        return text
    left = room - text_width("…", size)
    for end, letter in enumerate(text):
        left -= _letter(letter) * size / 1000
        if left < 0:
            return text[:end].rstrip() + "…"
    return text


def wrapped(text: str, size: float, room: float, *, bold: bool = False) -> list[str]:
    """The text in lines of at most `room` pixels, broken at spaces; longer words are broken too.

    A point between two parts ends a line and never begins one.

    Example:
        >>> from attnwidget.figures.text_width import wrapped
        >>> wrapped("the captain · of the ship", 10, 60)
        ['the captain ·', 'of the ship']
        >>> wrapped("aaaaaaaaaaaa", 12, 40)
        ['aaaaa', 'aaaaa', 'aa']
    """
    lines: list[str] = []
    for word in text.split():
        if lines and word == _POINT:
            lines[-1] += f" {_POINT}"
        elif lines and text_width(f"{lines[-1]} {word}", size, bold=bold) <= room:
            lines[-1] += f" {word}"
        else:
            lines += _broken(word, size, room, bold)
    return lines


def in_lines(parts: Sequence[str], size: float, room: float) -> list[str]:
    """Parts joined by " · " in lines of at most `room` pixels, broken between parts if that helps.

    Example:
        >>> from attnwidget.figures.text_width import in_lines
        >>> in_lines(["L0 H1: 87 % of 9 words", "p < 0.001"], 12, 140)
        ['L0 H1: 87 % of 9 words ·', 'p < 0.001']
    """
    lines: list[str] = []
    for part in filter(None, parts):
        if lines and text_width(f"{lines[-1]} {_POINT} {part} {_POINT}", size) <= room:
            lines[-1] += f" {_POINT} {part}"
            continue
        if lines:
            lines[-1] += f" {_POINT}"
        lines += wrapped(part, size, room)
    return lines


def _broken(word: str, size: float, room: float, bold: bool) -> list[str]:
    if text_width(word, size, bold=bold) <= room:
        return [word]
    parts = [""]
    for letter in word:
        if parts[-1] and text_width(parts[-1] + letter, size, bold=bold) > room:
            parts.append("")
        parts[-1] += letter
    return parts


def _letter(letter: str) -> int:
    place = ord(letter) - 32
    if 0 <= place < len(_ASCII):
        return _ASCII[place]
    if letter in _OTHERS:
        return _OTHERS[letter]
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Cc", "Cf"):
        return 0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1000
    base = ord(unicodedata.normalize("NFD", letter)[0]) - 32
    return _ASCII[base] if 0 <= base < len(_ASCII) else _UNKNOWN
