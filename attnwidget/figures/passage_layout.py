"""Running text with mentions: where words break into lines, and where their marks stand."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from attnwidget.figures.text_width import text_width

WORD = 14
"""Font size of the words."""
NUMBER = 10
"""Font size of the number of a cluster."""
BOX = 20
"""Pixels of a word from top to bottom."""
LEVEL = 4
"""Pixels between two lines under the words."""
_BETWEEN_LINES, _SPACE, _AFTER_NUMBER = 8, 4.5, 3
# Corpora set these apart; in print no space stands before, or after, them.
_CLOSING = re.compile(r"([.,;:!?%)\]}”’]+|['’](s|re|ve|ll|d|m)|n['’]t)", re.IGNORECASE)
_OPENING = re.compile(r"[(\[{“‘]")


@dataclass(frozen=True)
class PassageMention:
    """A mention in a passage; words are counted from the passage's first.

    Attributes:
        words: its words.
        head: its head word.
        cluster: the number of what it refers to, from 1; 0 for what is mentioned once.
    """

    words: tuple[int, ...]
    head: int
    cluster: int


@dataclass(frozen=True)
class PlacedWord:
    """A word on its line.

    Attributes:
        line: from 0.
        left: where its first number, or else the word, begins.
        x: where the word begins.
        width: of the word.
        top: of the word.
        numbers: the mentions whose number stands before it, by index, and the middle of each.
    """

    line: int
    left: float
    x: float
    width: float
    top: float
    numbers: tuple[tuple[int, float], ...]

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.x + self.width

    @property
    def middle(self) -> float:
        """Its middle."""
        return self.x + self.width / 2


def mention_levels(mentions: Sequence[PassageMention]) -> list[int]:
    """Lines under the words: 0 is nearest to them; what lies within a mention is drawn above it.

    Example:
        >>> from attnwidget.figures.passage_layout import PassageMention, mention_levels
        >>> mention_levels([PassageMention((0, 1), 1, 1), PassageMention((0,), 0, 2)])
        [1, 0]
    """
    levels = [0] * len(mentions)
    lines: list[set[int]] = []
    for i in sorted(range(len(mentions)), key=lambda i: len(mentions[i].words)):
        own = set(mentions[i].words)
        level = max((at + 1 for at, taken in enumerate(lines) if taken & own), default=0)
        if level == len(lines):
            lines.append(set())
        lines[level] |= own
        levels[i] = level
    return levels


def placed_words(
    words: Sequence[str], mentions: Sequence[PassageMention], width: float, top: float
) -> list[PlacedWord]:
    """Where each word stands in lines of at most `width` pixels, the first of them at `top`.

    Example:
        >>> from attnwidget.figures.passage_layout import placed_words
        >>> [word.line for word in placed_words(["The", "end", "."], [], 40, 0)]
        [0, 1, 1]
    """
    starting: dict[int, list[int]] = {}
    for i, mention in enumerate(mentions):
        if mention.cluster:
            starting.setdefault(mention.words[0], []).append(i)
    # Longer mentions open first, as brackets would.
    for here in starting.values():
        here.sort(key=lambda i: -len(mentions[i].words))
    number = [text_width(str(m.cluster), NUMBER, bold=True) + _AFTER_NUMBER for m in mentions]
    before = [sum(number[i] for i in starting.get(word, ())) for word in range(len(words))]
    widths = [text_width(text, WORD) for text in words]
    pitch = BOX + _BETWEEN_LINES + LEVEL * (1 + max(mention_levels(mentions), default=-1))
    placed: list[PlacedWord] = []
    x, line = 0.0, 0
    for group in _groups(words):
        room = sum(before[word] + widths[word] for word in group)
        if x and x + _SPACE + room > width:
            x, line = 0.0, line + 1
        x += _SPACE if x else 0
        for word in group:
            left, numbers = x, []
            for i in starting.get(word, ()):
                numbers.append((i, x + (number[i] - _AFTER_NUMBER) / 2))
                x += number[i]
            placed.append(
                PlacedWord(line, left, x, widths[word], top + line * pitch, tuple(numbers))
            )
            x += widths[word]
    return placed


def mirrored(placed: Sequence[PlacedWord], width: float) -> list[PlacedWord]:
    """The same words from right to left."""
    return [
        replace(
            word,
            left=width - word.right,
            x=width - word.right,
            numbers=tuple((i, width - x) for i, x in word.numbers),
        )
        for word in placed
    ]


def is_right_to_left(words: Sequence[str]) -> bool:
    """Whether the first letter with a direction runs from right to left.

    Example:
        >>> from attnwidget.figures.passage_layout import is_right_to_left
        >>> is_right_to_left(["1", "שלום"]), is_right_to_left(["cat"])
        (True, False)
    """
    for letter in "".join(words):
        kind = unicodedata.bidirectional(letter)
        if kind in ("L", "R", "AL"):
            return kind != "L"
    return False


def runs(mention: Sequence[int], placed: Sequence[PlacedWord]) -> Iterator[list[int]]:
    """Words of a mention that stand side by side on one line."""
    run: list[int] = []
    for word in mention:
        if run and (word != run[-1] + 1 or placed[word].line != placed[run[-1]].line):
            yield run
            run = []
        run.append(word)
    yield run


def _groups(words: Sequence[str]) -> list[list[int]]:
    """Words that no line may part."""
    groups: list[list[int]] = []
    for i, text in enumerate(words):
        if i and (_CLOSING.fullmatch(text) or _OPENING.fullmatch(words[i - 1])):
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups
