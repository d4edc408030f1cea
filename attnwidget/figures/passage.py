"""Running text with its mentions, the one in question, and what was chosen for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import altair as alt

from attnwidget.figures.arcs_hanging import arrow_path, verdict_path
from attnwidget.figures.passage_layout import (
    BOX,
    LEVEL,
    NUMBER,
    WORD,
    PassageMention,
    PlacedWord,
    is_right_to_left,
    mention_levels,
    mirrored,
    placed_words,
    runs,
)
from attnwidget.figures.paths import disc, rectangle
from attnwidget.figures.sheet import Sheet
from attnwidget.figures.text_width import text_width, wrapped
from attnwidget.figures.theme import LABEL, LIGHT, Theme

WIDTH = 640
"""Pixels of a line of text."""
Outcome = Literal["right", "wrong"]
_DASH = (5, 3)
_SAID, _PITCH = 12, 16
"""Font size and line height of what is said below the text."""
_KEY_WIDTH, _KEY_GAP = 16, 20


class Said(NamedTuple):
    """A line below the text: who, what, and whether that is right."""

    label: str
    text: str
    outcome: Outcome | None = None


def passage(
    words: Sequence[str],
    mentions: Sequence[PassageMention],
    *,
    title: str,
    asked: int | None = None,
    antecedents: Sequence[int] = (),
    chosen: int | None = None,
    is_right: bool = False,
    said: Sequence[Said] = (),
    width: float = WIDTH,
    theme: Theme = LIGHT,
) -> alt.LayerChart:
    """Text that wraps, mentions underlined in the colour of their cluster and with its number.

    Longer mentions are underlined below those within them. The word chosen for the mention in
    question has a solid outline where it is right, a dashed one elsewhere.

    Args:
        words: of the passage.
        mentions: those within it.
        title: what is shown; further lines become the subtitle.
        asked: index of the mention in question.
        antecedents: indices of its true antecedents.
        chosen: the word chosen for it.
        is_right: whether that is the head word of an antecedent.
        said: lines below the text.
        width: pixels at which lines break.
        theme: LIGHT or DARK.

    Returns:
        An Altair chart that displays without network; `chart.save("figure.svg")` writes it.

    Raises:
        ValueError: no words, or a mention without words or with some that there are not.

    Example:
        >>> from attnwidget.figures.passage import passage
        >>> from attnwidget.figures.passage_layout import PassageMention
        >>> mentions = [PassageMention((0,), 0, 1), PassageMention((2,), 2, 1)]
        >>> words = ["Ann", "saw", "herself"]
        >>> chart = passage(
        ...     words, mentions, title="One", asked=1, antecedents=[0], chosen=0, is_right=True
        ... )
        >>> chart.width
        640
    """
    if not words or any(not m.words or not set(m.words) <= {*range(len(words))} for m in mentions):
        raise ValueError(f"passage takes words, and mentions of words 0 to {len(words) - 1}")
    marked = asked is not None and chosen is not None
    placed = placed_words(words, mentions, width, 22 if marked else 4)
    across = max(width, *(word.right for word in placed))
    if is_right_to_left(words):
        placed = mirrored(placed, across)
    levels = mention_levels(mentions)
    sheet = Sheet(theme)
    for text, word in zip(words, placed, strict=True):
        sheet.text(word.x, word.top + 15, text, size=WORD)
        for index, x in word.numbers:
            cluster = mentions[index].cluster
            colour = _colour(cluster)
            sheet.text(
                x, word.top + 11, str(cluster), colour, size=NUMBER, align="center", bold=True
            )
    for mention, level in zip(mentions, levels, strict=True):
        _underline(sheet, mention, placed, level)
    if asked is not None:
        for index in antecedents:
            sheet.line(_outline(mentions[index].words, placed), "muted")
        own = _outline(mentions[asked].words, placed)
        sheet.line(own, "accent")
        sheet.area(own, "accent", opacity=0.16)
        if chosen is not None:
            _draw_choice(sheet, placed[mentions[asked].head], placed[chosen], is_right)
    y = placed[-1].top + BOX + LEVEL * (1 + max(levels, default=-1)) + 16
    y = _draw_said(sheet, said, y, across)
    return sheet.chart(across, _draw_key(sheet, y + 12, across), title=title)


def _colour(cluster: int) -> str:
    return f"series {cluster - 1}"


def _underline(
    sheet: Sheet, mention: PassageMention, placed: Sequence[PlacedWord], level: int
) -> None:
    path = ""
    for run in runs(mention.words, placed):
        left = min(placed[word].left for word in run)
        right = max(placed[word].right for word in run)
        y = placed[run[0]].top + BOX + LEVEL * level + 1
        path += f"M{left:.1f} {y:g}H{right:.1f}"
    if mention.cluster:
        sheet.line(path, _colour(mention.cluster), width=2)
    else:
        sheet.line(path, "muted", dash=(1, 2))


def _outline(words: Sequence[int], placed: Sequence[PlacedWord], by: float = 0) -> str:
    path = ""
    for run in runs(words, placed):
        left = min(placed[word].x for word in run) - 1 - by
        right = max(placed[word].right for word in run) + 1 + by
        top = placed[run[0]].top - by
        path += rectangle(round(left, 1), top, round(right - left, 1), BOX + 2 * by)
    return path


def _draw_choice(sheet: Sheet, own: PlacedWord, chosen: PlacedWord, is_right: bool) -> None:
    """The word chosen, outlined, and an arc to it from the head word of the mention."""
    colour = "right" if is_right else "wrong"
    dash = None if is_right else _DASH
    sheet.line(_outline([0], [chosen], 1), colour, width=2, dash=dash)
    # From below where the word chosen is on a line above, so that the arc crosses little text.
    above = chosen.top + BOX < own.top
    y2 = chosen.top + BOX + 4 if above else chosen.top - 4
    y1 = own.top - 3
    bend = (own.top + y2) / 2 if above else min(own.top, y2) - 14
    x1, x2 = round(own.middle, 1), round(chosen.middle, 1)
    end = y2 + 4 if above else y2 - 4
    path = f"M{x1:g} {y1:g}C{x1:g} {bend:g} {x2:g} {bend:g} {x2:g} {end:g}"
    sheet.line(path, colour, width=1.5, opacity=0.75, dash=dash)
    sheet.area(arrow_path(x2, y2, -1 if above else 1), colour)
    x, y = chosen.right + 3, chosen.top - 2
    sheet.area(disc(7, x, y), "ground")
    sheet.line(verdict_path(x, y - 5, is_right), colour, width=1.5)


def _draw_said(sheet: Sheet, said: Sequence[Said], y: float, across: float) -> float:
    indent = 12 + max((text_width(one.label, _SAID) for one in said), default=0)
    for one in said:
        sheet.text(0, y + 12, one.label, "muted", size=_SAID)
        if one.outcome:
            right = one.outcome == "right"
            sheet.line(verdict_path(indent + 4, y + 3, right), one.outcome, width=1.5)
        lines = wrapped(one.text, _SAID, across - indent - 14)
        for line in lines or [""]:
            at = indent + (14 if one.outcome else 0)
            sheet.text(at, y + 12, line, size=_SAID)
            y += _PITCH
    return y


def _draw_key(sheet: Sheet, y: float, across: float) -> float:
    """What the marks mean; returns where it ends."""
    x = 0.0
    keys: tuple[tuple[str, str], ...] = (
        ("own", "the mention"),
        ("antecedent", "its antecedents"),
        ("right", "solid: an antecedent's head word"),
        ("wrong", "dashed: another word"),
        ("once", "dotted: mentioned once"),
        ("", "number and colour: the cluster"),
    )
    for kind, text in keys:
        room = text_width(text, LABEL) + (_KEY_WIDTH + 6 if kind else 0)
        if x and x + room > across:
            x, y = 0.0, y + _PITCH
        box = rectangle(x + 1, y + 1, _KEY_WIDTH - 2, 10)
        if kind == "own":
            sheet.line(box, "accent")
            sheet.area(box, "accent", opacity=0.16)
        elif kind == "antecedent":
            sheet.line(box, "muted")
        elif kind == "right":
            sheet.line(box, "right", width=2)
        elif kind == "wrong":
            sheet.line(box, "wrong", width=2, dash=(4, 2))
        elif kind == "once":
            sheet.line(f"M{x:g} {y + 8:g}h{_KEY_WIDTH}", "muted", dash=(1, 2))
        at = x + (_KEY_WIDTH + 6 if kind else 0)
        sheet.text(at, y + 10, text)
        x += room + _KEY_GAP
    return y + _PITCH
