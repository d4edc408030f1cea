"""Theme of the package's charts, which does not affect other Altair charts."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import astuple, dataclass
from typing import Any, TypeVar

import altair as alt

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.short_name import short_name

_LONGEST_LINE = 2000
"""Maximum number of characters in a title line, because users choose names of any length."""
_SEPARATORS = " \t·:;,|"
_BETWEEN = re.compile(r"( · |; |, |: | → )")
_HEAD_NAME = re.compile(r"\b(L\d+) (H\d+)\b")
# Control character for a space at which no line ends.
_JOINED = "\x1f"
_LEAST_REPEATED = 6
"""Minimum length of a title part that is left out when it is repeated, in characters."""


def title_lines(title: str) -> list[str]:
    r"""Return the cleaned lines of a title.

    - Separators at the ends of a line, which come from empty parts, are removed.
    - A part that an earlier line contains, such as the model name, is left out, unless it follows a
      colon.
    - "A → A" becomes "A".
    - Words of more than 40 characters, such as sentence identifiers, lose their middle.

    Args:
        title: Figure title; further lines become the subtitle.

    Raises:
        ValueError: If no line has any text.

    Example:
        >>> from attnwidget.charts.theme import title_lines
        >>> title_lines("Loss: small BERT\nsmall BERT, 24 texts; ")
        ['Loss: small BERT', '24 texts']
    """
    earlier_parts: set[str] = set()
    lines: list[str] = []
    for line in title.splitlines():
        parts = _BETWEEN.split(line)
        shortened = _without_repetitions(parts, earlier_parts)
        earlier_parts |= set(parts[::2])
        text = " ".join(short_name(word) for word in shortened.split(" "))
        text = text.strip(" \t") if not lines else text.strip(_SEPARATORS)
        text = text.rstrip(_SEPARATORS)
        if text:
            lines.append(text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…")
    if not lines:
        raise ValueError("the title is empty: say what the figure shows")
    return lines


def _without_repetitions(parts: list[str], said: set[str]) -> str:
    """Return a line without its repeated parts; `parts` alternates parts and separators."""
    line = ""
    last = ""
    for number in range(0, len(parts), 2):
        part = parts[number]
        separator = parts[number - 1] if number else ""
        # Keep a repeated value after a colon, because a label without its value says nothing.
        is_repeated = separator != ": " and len(part) >= _LEAST_REPEATED and part in said
        if is_repeated or (separator == " → " and part == last):
            continue
        line += f"{separator}{part}" if line else part
        last = part
    return line


S = TypeVar("S", alt.Chart, alt.LayerChart)
C = TypeVar("C", alt.Chart, alt.LayerChart, alt.HConcatChart, alt.VConcatChart, alt.ConcatChart)

FONT = "'Liberation Sans', Arial, Helvetica, sans-serif"
"""Fonts of the charts, the same as in widget pictures; the converter ships the first font."""
WIDTH = 640
"""Default width of a figure in pixels, including axes, labels and legends."""
PADDING = 8
"""Padding around a figure in pixels."""
HEIGHT = 240
LABEL = 11
"""Font size of labels, which is the smallest size in a figure."""
LINE = 13
"""Line height of labels in pixels."""
LIGHT_TEXT_FROM = 0.57
"""Position on the color ramp from which text on a cell is light.

At this position, light and dark text have equal contrast.
"""
_TITLE = 13
# Upper bounds of letter widths in a semibold font, as a share of the font size.
_LETTER = 0.58
_NARROW = 0.32
_NARROW_LETTERS = frozenset("ijlIft.,:;'|!()[] ")
_NARROWEST = 60

# Extra subtitle line that `added_to_titles` sets for a block of code.
_added_line: ContextVar[str] = ContextVar("added_line", default="")


@dataclass(frozen=True)
class Theme:
    """Colors of figures on a light or a dark background.

    `series` colors have a contrast of 4.5 with the background, which is enough for labels, and stay
    distinct under protanopia, deuteranopia and tritanopia. `rest` is the gray of unnamed data.
    `accent` is for the selection, `second` for a comparison, `right` and `wrong` for predictions,
    as in the widgets. `layers` are the anchor colors from the first to the last layer, with the
    same contrast. `ramp` is the widgets' scale of attention weights and begins with the background.
    `factors` are position, grammar, same word and the rest of what decides where a head looks.
    `families` are names about neighbors, grammar, pronouns and equal words, and other names.
    """

    ground: str
    text: str
    muted: str
    hairline: str
    rest: str
    accent: str
    second: str
    right: str
    wrong: str
    series: tuple[str, ...]
    ramp: tuple[str, ...]
    diverging: tuple[str, ...]
    layers: tuple[str, ...]
    factors: tuple[str, ...]
    families: tuple[str, ...]


LIGHT = Theme(
    ground="#ffffff",
    text="#1b1b1f",
    muted="#5f6368",
    hairline="#d9dade",
    rest="#70737a",
    accent="#1565c0",
    second="#c8102e",
    right="#0067a3",
    wrong="#b84e00",
    series=("#0f6fe6", "#c94f0a", "#002f14", "#90156e", "#60460e", "#4c2cb6"),
    ramp=("#ffffff", "#b5b4f0", "#5a53cd", "#170a5e"),
    diverging=("#8c3403", "#d98a5c", "#e9e9ec", "#7fa6ec", "#124a9c"),
    layers=("#b05400", "#b22f59", "#7e03a8", "#0d0887"),
    factors=("#0f7d62", "#b5661a", "#3f74b8", "#d3d5d9"),
    families=("#0f9d7a", "#d17a22", "#c2559d", "#5a8fd0", "#6f5bd0"),
)
DARK = Theme(
    ground="#111111",
    text="#ececf1",
    muted="#a0a3ab",
    hairline="#3a3b41",
    rest="#a0a3ab",
    accent="#64b5f6",
    second="#ff6b57",
    right="#56b4e9",
    wrong="#f08a3c",
    series=("#45bafb", "#f7944a", "#b9f5d6", "#a76d9c", "#f1da37", "#7f6ffb"),
    ramp=("#111111", "#34307c", "#7a74e6", "#f3f2ff"),
    diverging=("#ffb98a", "#b0602c", "#2e2f34", "#3a68b5", "#a6c8ff"),
    layers=("#8080d6", "#d678c8", "#f8a06e", "#f6e896"),
    factors=("#35b08d", "#dd8f45", "#7aa7e6", "#45474d"),
    families=("#35c39f", "#f0a04b", "#e58ac6", "#86b4ee", "#a99bf5"),
)


def text_width(text: str, size: float = LABEL) -> float:
    """Return an upper estimate of a text's width in pixels.

    Example:
        >>> from attnwidget.charts.theme import text_width
        >>> text_width("attention") < text_width("attention", 13)
        True
    """
    return size * sum(_NARROW if letter in _NARROW_LETTERS else _LETTER for letter in text)


def fitted(chart: S, width: float, height: Any) -> S:
    """Return a single-plot chart whose total width, with axes, legends and texts, is `width`.

    Args:
        chart: Chart with one plot.
        width: Figure width in pixels.
        height: Height of the plot in pixels, or an Altair step.
    """
    sized: S = chart.properties(
        width=width,
        height=height,
        padding=PADDING,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
    return sized


def panel_width(width: float, count: int, *, gap: float, axis: float) -> int:
    """Return the plot width for `count` plots side by side, in pixels.

    Args:
        width: Figure width in pixels.
        count: Number of plots side by side.
        gap: Gap between two plots in pixels.
        axis: Width of the axis and the texts of each plot in pixels.

    Example:
        >>> from attnwidget.charts.theme import panel_width
        >>> panel_width(640, 2, gap=16, axis=56)
        248
    """
    available = width - 2 * PADDING - gap * (count - 1)
    return max(_NARROWEST, int(available / count - axis))


def panels_in_row(width: float, most: int, *, least: float, gap: float, axis: float) -> int:
    """Return the number of plots that fit side by side, from 1 to `most`.

    Args:
        width: Figure width in pixels.
        most: Maximum number of plots side by side.
        least: Minimum width of a plot in pixels.
        gap: Gap between two plots in pixels.
        axis: Width of the axis and the texts of each plot in pixels.

    Example:
        >>> from attnwidget.charts.theme import panels_in_row
        >>> [panels_in_row(width, 3, least=96, gap=12, axis=48) for width in (640, 380, 200)]
        [3, 2, 1]
    """
    available = width - 2 * PADDING + gap
    return min(most, max(1, int(available / (least + axis + gap))))


@contextmanager
def added_to_titles(line: str) -> Iterator[None]:
    """Add a line to the subtitle and the description of every chart that is made in the block.

    Args:
        line: Subtitle line.
    """
    token = _added_line.set(line)
    try:
        yield
    finally:
        _added_line.reset(token)


def publication(chart: C, title: str, width: float = WIDTH) -> C:
    """Return a chart in the light theme with a title.

    Args:
        chart: Chart to style.
        title: Figure title; further lines become the subtitle. Lines that are wider than the
            figure are wrapped.
        width: Figure width in pixels.

    Raises:
        ValueError: If the title is empty.
    """
    head, *rest = title_lines(title)
    if (added := _added_line.get()) and added not in title:
        rest = [*rest, added]
    available = width - 2 * PADDING
    subtitle = [part for line in rest for part in wrapped_text(line, available)]
    text = alt.TitleParams(
        wrapped_text(head, available, _TITLE), subtitle=subtitle or alt.Undefined
    )
    description = ": ".join(filter(None, [head, "; ".join(rest)]))
    return chart.properties(title=text, description=description).configure(**_config())


def wrapped_text(text: str, width: float, size: float = LABEL) -> list[str]:
    """Return a text as lines of at most about `width` pixels.

    Example:
        >>> from attnwidget.charts.theme import wrapped_text
        >>> wrapped_text("share of the gap", 60)
        ['share of', 'the gap']
        >>> wrapped_text("gap of L3 H1", 60)
        ['gap of', 'L3 H1']
    """
    letters = text_width(text, size) / max(1, len(text))
    if not letters:
        return []
    # The name of a head, such as L3 H1, stays on one line.
    joined = _HEAD_NAME.sub(r"\1" + _JOINED + r"\2", text)
    lines = textwrap.wrap(joined, max(1, int(width / letters)))
    return [line.replace(_JOINED, " ") for line in lines]


def ink_scale(largest: float = 1.0) -> alt.Scale:
    """Return the color scale for values from 0, which has the background color, to the largest.

    Example:
        >>> from attnwidget.charts.theme import ink_scale
        >>> ink_scale(0.0).domain
        [0.0, 1.0]
    """
    # A scale from 0 to 0 has no colors.
    return alt.Scale(domain=[0.0, largest or 1.0], range=list(LIGHT.ramp), interpolate="rgb")


@hides_frames
def in_dark(chart: C) -> C:
    """Return a chart of this package in the colors of the dark theme.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.charts import in_dark
        >>> chart = load_model().predict("The woman washed [MASK] hands.").chart()
        >>> in_dark(chart).to_dict()["config"]["background"]
        '#111111'
    """
    counterpart = dict(zip(_colors(LIGHT), _colors(DARK), strict=True))
    repainted: C = _repainted(chart, counterpart)
    return repainted


def _colors(theme: Theme) -> list[str]:
    return [
        color
        for field in astuple(theme)
        for color in ([field] if isinstance(field, str) else field)
    ]


def _repainted(part: Any, colors: dict[str, str]) -> Any:
    if isinstance(part, alt.Data):
        return part
    if isinstance(part, alt.SchemaBase):
        # Copy the properties directly: recreating a chart from its JSON takes ten times as long.
        copy = object.__new__(type(part))
        copy.__dict__.update(part.__dict__)
        object.__setattr__(copy, "_args", _repainted(part._args, colors))
        object.__setattr__(copy, "_kwds", _repainted(part._kwds, colors))
        return copy
    if isinstance(part, dict):
        return {k: v if k == "datasets" else _repainted(v, colors) for k, v in part.items()}
    if isinstance(part, (list, tuple)):
        return type(part)(_repainted(entry, colors) for entry in part)
    return colors.get(part, part) if isinstance(part, str) else part


def _config() -> dict[str, Any]:
    return {
        "background": LIGHT.ground,
        "font": FONT,
        "padding": PADDING,
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
        "title": {
            "anchor": "start",
            "frame": "bounds",
            "color": LIGHT.text,
            "fontSize": _TITLE,
            "fontWeight": 600,
            "offset": 8,
            "subtitleColor": LIGHT.muted,
            "subtitleFontSize": LABEL,
            "subtitlePadding": 4,
        },
        "axis": {
            "domainColor": LIGHT.muted,
            "tickColor": LIGHT.muted,
            "tickSize": 4,
            "gridColor": LIGHT.hairline,
            "labelColor": LIGHT.text,
            "labelFontSize": LABEL,
            "titleColor": LIGHT.text,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 8,
        },
        "axisX": {"grid": False, "labelAngle": 0},
        "axisY": {"domain": False, "ticks": False, "tickCount": 5},
        "legend": {
            "labelColor": LIGHT.text,
            "labelFontSize": LABEL,
            "titleColor": LIGHT.text,
            "titleFontSize": LABEL,
            "titleFontWeight": "normal",
            "labelLimit": 0,
            "titleLimit": 0,
            "symbolOpacity": 1,
            "symbolSize": 60,
            "symbolStrokeWidth": 0,
        },
    }
