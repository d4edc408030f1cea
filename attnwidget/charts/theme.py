"""The theme of the charts, set on every chart without effect on further charts."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import astuple, dataclass
from typing import Any, TypeVar

import altair as alt

from attnwidget.text.short_name import short_name

_LONGEST_LINE = 2000
"""Characters of a line of a title that are drawn: names come from users, of any length."""
_SEPARATORS = " \t·:;,|"
_BETWEEN = re.compile(r"( · |; |, |: | → )")
_LEAST_REPEATED = 6
"""Characters of a part that is left out where it stands a second time."""


def title_lines(title: str) -> list[str]:
    r"""Return the lines of a title as they are drawn.

    - Separators at the ends of a line, which stand beside an empty part, are left out.
    - A part that an earlier line says already, such as the name of the model, is left out, unless
      it stands behind a colon.
    - "A → A" becomes "A".
    - Words of more than 40 characters, such as identifiers of sentences, lose their middle.

    Args:
        title: The title; further lines are the subtitle.

    Raises:
        ValueError: No line has a text.

    Example:
        >>> from attnwidget.charts.theme import title_lines
        >>> title_lines("Loss: small BERT\nsmall BERT, 24 texts; ")
        ['Loss: small BERT', '24 texts']
    """
    said: set[str] = set()
    lines: list[str] = []
    for line in title.splitlines():
        parts = _BETWEEN.split(line)
        shown = _without_repetitions(parts, said)
        said |= set(parts[::2])
        text = " ".join(short_name(word) for word in shown.split(" "))
        text = text.strip(" \t") if not lines else text.strip(_SEPARATORS)
        text = text.rstrip(_SEPARATORS)
        if text:
            lines.append(text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…")
    if not lines:
        raise ValueError("the title is empty: say what the figure shows")
    return lines


def _without_repetitions(parts: list[str], said: set[str]) -> str:
    """Return the parts of a line, which alternate with their separators, that are new."""
    shown = ""
    last = ""
    for number in range(0, len(parts), 2):
        part = parts[number]
        separator = parts[number - 1] if number else ""
        # A label without its value says nothing.
        is_repeated = separator != ": " and len(part) >= _LEAST_REPEATED and part in said
        if is_repeated or (separator == " → " and part == last):
            continue
        shown += f"{separator}{part}" if shown else part
        last = part
    return shown


S = TypeVar("S", alt.Chart, alt.LayerChart)
C = TypeVar("C", alt.Chart, alt.LayerChart, alt.HConcatChart, alt.VConcatChart, alt.ConcatChart)

FONT = "'Liberation Sans', Arial, Helvetica, sans-serif"
"""That of widgets' pictures, so that one paper has one font; the converter brings the first."""
WIDTH = 640
"""Pixels of a whole figure with its axes, labels and legends, if no other width is given."""
PADDING = 8
"""Pixels of ground around a figure."""
HEIGHT = 240
LABEL = 11
"""Font size of axis labels and of labels in the figure; titles are larger, nothing is smaller."""
LINE = 13
"""Pixels between two lines of that size."""
LIGHT_TEXT_FROM = 0.57
"""Share of the ramp from which a text on a cell is light: there, both colors have one contrast."""
_TITLE = 13
# Widths of letters, as a share of the font size, in semibold letters at most.
_LETTER = 0.58
_NARROW = 0.32
_NARROW_LETTERS = frozenset("ijlIft.,:;'|!()[] ")
_NARROWEST = 60

# A further line of the subtitles, of the block that draws a chart.
_added_line: ContextVar[str] = ContextVar("added_line", default="")


@dataclass(frozen=True)
class Theme:
    """The colors of figures on a light or on a dark ground.

    `series` colors have a contrast of 4.5 with the background, enough for labels, and remain
    distinct under protanopia, deuteranopia and tritanopia; `rest` is the gray of unnamed data.
    `accent` is for the selection, `second` for a comparison, `right` and `wrong` for predictions,
    as in the widgets. `layers` go from the first to the last, with the same contrast. `ramp` is the
    widgets' scale of attention weights and begins with the ground.
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
)


def text_width(text: str, size: float = LABEL) -> float:
    """Return about how many pixels a text takes, rounded up.

    Example:
        >>> from attnwidget.charts.theme import text_width
        >>> text_width("attention") < text_width("attention", 13)
        True
    """
    return size * sum(_NARROW if letter in _NARROW_LETTERS else _LETTER for letter in text)


def fitted(chart: S, width: float, height: Any) -> S:
    """Return a chart of one plot that is `width` pixels wide with its axes, legends and texts.

    Args:
        chart: The chart.
        width: Pixels of the whole figure.
        height: Pixels of the plot, or a step.
    """
    sized: S = chart.properties(
        width=width,
        height=height,
        padding=PADDING,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
    return sized


def panel_width(width: float, count: int, *, gap: float, axis: float) -> int:
    """Return the pixels of each of `count` plots side by side in a figure of a width.

    Args:
        width: Pixels of the whole figure.
        count: Plots side by side.
        gap: Pixels between two plots.
        axis: Pixels that the axis and the texts of each plot take.

    Example:
        >>> from attnwidget.charts.theme import panel_width
        >>> panel_width(640, 2, gap=16, axis=56)
        248
    """
    room = width - 2 * PADDING - gap * (count - 1)
    return max(_NARROWEST, int(room / count - axis))


def panels_in_row(width: float, most: int, *, least: float, gap: float, axis: float) -> int:
    """Return the number of plots side by side in a figure of a width, from 1 to `most`.

    Args:
        width: Pixels of the whole figure.
        most: Largest number of plots side by side.
        least: Smallest width of a plot in pixels.
        gap: Pixels between two plots.
        axis: Pixels that the axis and the texts of each plot take.

    Example:
        >>> from attnwidget.charts.theme import panels_in_row
        >>> [panels_in_row(width, 3, least=96, gap=12, axis=48) for width in (640, 380, 200)]
        [3, 2, 1]
    """
    room = width - 2 * PADDING + gap
    return min(most, max(1, int(room / (least + axis + gap))))


@contextmanager
def added_to_titles(line: str) -> Iterator[None]:
    """Add a line to the subtitles, and so to the descriptions, of the charts made in the block."""
    token = _added_line.set(line)
    try:
        yield
    finally:
        _added_line.reset(token)


def publication(chart: C, title: str, width: float = WIDTH) -> C:
    """Return the chart in the light theme; lines after the first of its title are the subtitle.

    Only lines that are longer than the figure of this `width` are wrapped.

    Raises:
        ValueError: the title is empty.
    """
    head, *rest = title_lines(title)
    if (added := _added_line.get()) and added not in title:
        rest = [*rest, added]
    room = width - 2 * PADDING
    below = [part for line in rest for part in wrapped_text(line, room)]
    text = alt.TitleParams(wrapped_text(head, room, _TITLE), subtitle=below or alt.Undefined)
    described = ": ".join(filter(None, [head, "; ".join(rest)]))
    return chart.properties(title=text, description=described).configure(**_config())


def wrapped_text(text: str, width: float, size: float = LABEL) -> list[str]:
    """Return the lines of a text that is about `width` pixels wide.

    Example:
        >>> from attnwidget.charts.theme import wrapped_text
        >>> wrapped_text("share of the gap", 60)
        ['share of', 'the gap']
    """
    letters = text_width(text, size) / max(1, len(text))
    return textwrap.wrap(text, max(1, int(width / letters))) if letters else []


def ink_scale(largest: float = 1.0) -> alt.Scale:
    """Return the colors of values from 0, which is the page's ground, to the largest one.

    Example:
        >>> from attnwidget.charts.theme import ink_scale
        >>> ink_scale(0.0).domain
        [0.0, 1.0]
    """
    # A scale of which both ends are 0 has no colors.
    return alt.Scale(domain=[0.0, largest or 1.0], range=list(LIGHT.ramp), interpolate="rgb")


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
    return [c for field in astuple(theme) for c in ([field] if isinstance(field, str) else field)]


def _repainted(part: Any, colors: dict[str, str]) -> Any:
    if isinstance(part, alt.Data):
        return part
    if isinstance(part, alt.SchemaBase):
        # Its properties as they are: reading a chart back from its JSON takes ten times as long.
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
