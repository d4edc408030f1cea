"""Lines of several heads, each head with texts and marked words of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import altair as alt
import pandas as pd

from attnwidget.charts.frame_columns import checked, inline
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    PADDING,
    WIDTH,
    publication,
    text_width,
    wrapped_text,
)

KINDS = ("special", "other", "chosen")
"""Kinds of links and words, in drawing order."""
_PITCH = 13
"""Height of a word's row in pixels."""
_WEIGHT_1 = 7.0
"""Thickness of a line of weight 1 in pixels."""
_LEAST_SPAN = 40.0
_WIDEST_SPAN = 96.0
"""Limits of the horizontal distance between the two columns of words, in pixels."""
_BESIDE = 4.0
"""Gap between a word and its lines in pixels."""
_GAP = 14.0
"""Gap between two texts in pixels."""
_BELOW = 18.0
"""Gap between two rows of panels in pixels."""
_LINE = 15.0
"""Height of a line of a heading in pixels."""
_LINKS = ["panel", "text", "query", "key", "weight", "kind", "name"]
_WORDS = ["panel", "text", "side", "position", "word", "kind"]
_HEADINGS = ["panel", "heading", "name", "remark"]


@dataclass(frozen=True)
class _Text:
    """Position of a text in the figure, in pixels."""

    panel: int
    text: int
    x: float
    y: float


@dataclass(frozen=True)
class _Layout:
    """Positions of panels and texts, and the size of the figure, in pixels."""

    panels: list[tuple[float, float]]
    panel_width: float
    texts: list[_Text]
    width: float
    height: float


@dataclass(frozen=True)
class _Size:
    """Sizes of the parts of a gallery.

    Attributes:
        labels: Width of a column of words, in pixels.
        words: Number of rows of each text, by panel.
        panel_heading: Texts above each panel: head, name and remark.
    """

    labels: float
    words: list[list[int]]
    panel_heading: list[tuple[str, str, str]]

    @property
    def least_text(self) -> float:
        """Width of the narrowest legible text in pixels."""
        return 2 * (self.labels + _BESIDE) + _LEAST_SPAN


def gallery_lines(
    words: pd.DataFrame,
    links: pd.DataFrame,
    headings: pd.DataFrame,
    *,
    title: str,
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw the links of several heads between columns of words: Clark et al. 2019, Figure 5.

    The thickness of a line is linear in the weight. Panels stand in as many columns as the width
    allows, and the texts of a panel beside or below each other, whichever makes the figure lower.

    Args:
        words: Table with the columns panel, text (both from 0), side ("query" or "key"), position,
            word and kind: "special", "other" or "chosen".
        links: Table with the columns panel, text, query, key, weight (0 to 1), kind, and name for
            the tooltip.
        headings: Table with the columns panel, heading (the head), name and remark.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column is missing, or if there are no words.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.gallery_lines import gallery_lines
        >>> word = {"panel": 0, "text": 0, "position": 0, "word": "cats", "kind": "other"}
        >>> words = pd.DataFrame([word | {"side": "query"}, word | {"side": "key"}])
        >>> link = {"panel": 0, "text": 0, "query": 0, "key": 0, "weight": 0.5, "kind": "chosen"}
        >>> links = pd.DataFrame([link | {"name": "cats to cats: 50 %"}])
        >>> heading = {"panel": 0, "heading": "L0 H1", "name": "current token", "remark": ""}
        >>> len(gallery_lines(words, links, pd.DataFrame([heading]), title="A head").layer)
        5
    """
    word_table = checked(words, _WORDS, "gallery_lines")
    word_table = word_table.astype({"panel": int, "text": int, "position": int})
    heading_table = checked(headings, _HEADINGS, "gallery_lines").astype({"panel": int})
    size = _sizes(word_table, heading_table)
    available = width - 2 * PADDING
    layout = _layout(size, available)
    places = {(at.panel, at.text): at for at in layout.texts}
    span = _span_of(layout, size)
    across = alt.Scale(domain=[0, layout.width], nice=False, zero=False)
    down = alt.Scale(domain=[layout.height, 0], nice=False, zero=False)
    x = alt.X("x:Q", axis=None, scale=across)
    y = alt.Y("y:Q", axis=None, scale=down)
    layers = []
    if len(links):
        link_table = checked(links, _LINKS, "gallery_lines")
        positions = dict.fromkeys(("panel", "text", "query", "key"), int)
        link_table = link_table.astype(positions).astype({"weight": float})
        link_table = link_table.sort_values("weight", kind="stable")
        for kind, color in zip(KINDS, _line_colors(), strict=True):
            rows = link_table[link_table["kind"] == kind]
            if len(rows):
                layers.append(_lines(_curves(rows, places, size.labels, span), x, y, color))
    layers += _labels(word_table, places, size.labels, span, x, y)
    layers += _headings(size, layout, x, y)
    chart = alt.LayerChart(layer=layers).properties(width=layout.width, height=layout.height)
    return offline(publication(chart, title, width))


def _line_colors() -> tuple[str, str, str]:
    return LIGHT.hairline, LIGHT.ramp[1], LIGHT.second


def _sizes(words: pd.DataFrame, headings: pd.DataFrame) -> _Size:
    counts = words.groupby(["panel", "text"])["position"].max() + 1
    panels = sorted(words["panel"].unique())
    rows = [[int(n) for n in counts[panel]] for panel in panels]
    by_panel = headings.set_index("panel")
    texts = [
        (by_panel["heading"][panel], by_panel["name"][panel], by_panel["remark"][panel])
        for panel in panels
    ]
    return _Size(max(map(text_width, words["word"])), rows, texts)


def _layout(size: _Size, available: float) -> _Layout:
    """Return the lower one of two arrangements: texts of a panel side by side, or stacked."""
    most = max(map(len, size.words))
    arrangements = [_arranged(size, available, 1)]
    side_by_side = _arranged(size, available, most)
    if most > 1 and side_by_side.width <= available:
        arrangements.append(side_by_side)
    return min(arrangements, key=lambda layout: layout.height)


def _arranged(size: _Size, available: float, beside: int) -> _Layout:
    """Return the positions with `beside` texts of a panel next to each other."""
    least = size.least_text * beside + _GAP * (beside - 1)
    columns = max(1, min(len(size.words), int((available + _GAP) / (least + _GAP))))
    # Equal rows look better than a full row above a single panel.
    columns = math.ceil(len(size.words) / math.ceil(len(size.words) / columns))
    panel_width = max(least, (available - _GAP * (columns - 1)) / columns)
    text_step = (panel_width + _GAP) / beside
    panels = []
    texts = []
    top = 0.0
    for first in range(0, len(size.words), columns):
        row = range(first, min(first + columns, len(size.words)))
        heading = max(_n_lines(size.panel_heading[panel], panel_width) for panel in row)
        bottom = top
        for column, panel in enumerate(row):
            left = column * (panel_width + _GAP)
            panels.append((left, top))
            y = top + heading * _LINE + 4
            for start in range(0, len(size.words[panel]), beside):
                line = size.words[panel][start : start + beside]
                for number in range(len(line)):
                    texts.append(_Text(panel, start + number, left + number * text_step, y))
                y += max(line) * _PITCH + _BELOW / 2
            bottom = max(bottom, y)
        top = bottom + _BELOW
    total = columns * panel_width + _GAP * (columns - 1)
    return _Layout(panels, panel_width, texts, max(available, total), top - 1.5 * _BELOW)


def _heading_lines(heading: tuple[str, str, str], width: float) -> list[tuple[str, str]]:
    """Return the lines above a panel as text and style: "head", "name" or "remark".

    The style "beside" is a name on the line of the head, where it fits.
    """
    head, name, remark = heading
    lines = [(head, "head")]
    if name and text_width(f"{head}  {name}", 12) <= width:
        lines = [(head, "head"), (name, "beside")]
    elif name:
        lines += [(part, "name") for part in wrapped_text(name, width, 12)]
    return lines + [(part, "remark") for part in wrapped_text(remark, width)]


def _n_lines(heading: tuple[str, str, str], width: float) -> int:
    return sum(style != "beside" for _, style in _heading_lines(heading, width))


def _span_of(layout: _Layout, size: _Size) -> float:
    """Return the horizontal distance between the two columns of words, in pixels."""
    lefts = sorted({at.x for at in layout.texts})
    steps = [b - a - _GAP for a, b in pairwise(lefts)]
    room = min([*steps, layout.width - lefts[-1]]) - 2 * (size.labels + _BESIDE)
    return min(max(room, _LEAST_SPAN), _WIDEST_SPAN)


def _curves(
    links: pd.DataFrame, places: dict[tuple[int, int], _Text], labels: float, span: float
) -> pd.DataFrame:
    """Return four control points of a curve for each link."""
    rows = []
    for number, link in enumerate(links.to_dict("records")):
        at = places[link["panel"], link["text"]]
        left = at.x + labels + _BESIDE
        start, end = (at.y + (link[side] + 0.5) * _PITCH for side in ("query", "key"))
        for share, y in ((0.0, start), (0.4, start), (0.6, end), (1.0, end)):
            x = round(left + share * span, 1)
            point = {"link": number, "x": x, "y": round(y, 1), "name": link["name"]}
            rows.append(point | {"weight": round(link["weight"], 4)})
    return pd.DataFrame(rows)


def _lines(curves: pd.DataFrame, x: alt.X, y: alt.Y, color: str) -> alt.Chart:
    thickness = alt.Scale(domain=[0, 1], range=[0, _WEIGHT_1])
    chart = alt.Chart(inline(curves)).mark_line(interpolate="basis", color=color, strokeCap="butt")
    return chart.encode(
        x=x,
        y=y,
        detail="link:N",
        strokeWidth=alt.StrokeWidth("weight:Q", scale=thickness, legend=None),
        tooltip=alt.Tooltip("name:N", title="link"),
    )


def _labels(
    words: pd.DataFrame,
    places: dict[tuple[int, int], _Text],
    labels: float,
    span: float,
    x: alt.X,
    y: alt.Y,
) -> list[alt.Chart]:
    """Return one layer of texts for each side and kind of words."""
    at = [places[key] for key in zip(words["panel"], words["text"], strict=True)]
    right = labels + 2 * _BESIDE + span
    table = pd.DataFrame(
        {
            "x": [
                text.x + (labels if side == "query" else right)
                for text, side in zip(at, words["side"], strict=True)
            ],
            "y": [
                text.y + (position + 0.5) * _PITCH
                for text, position in zip(at, words["position"], strict=True)
            ],
            "word": words["word"],
            "side": words["side"],
            "kind": words["kind"],
        }
    )
    colors = dict(zip(KINDS, (LIGHT.muted, LIGHT.text, LIGHT.second), strict=True))
    layers = []
    for (side, kind), rows in table.groupby(["side", "kind"], sort=False):
        text = alt.Chart(inline(rows[["x", "y", "word"]])).mark_text(
            align="right" if side == "query" else "left",
            baseline="middle",
            fontSize=LABEL,
            fontWeight=600 if kind == "chosen" else "normal",
            color=colors[str(kind)],
        )
        layers.append(text.encode(x=x, y=y, text="word:N"))
    return layers


def _headings(size: _Size, layout: _Layout, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    rows: dict[str, list[dict[str, float | str]]] = {"head": [], "name": [], "remark": []}
    for heading, (left, top) in zip(size.panel_heading, layout.panels, strict=True):
        line = 0
        for text, style in _heading_lines(heading, layout.panel_width):
            beside = style == "beside"
            offset = text_width(f"{heading[0]}  ", 12) if beside else 0.0
            line -= beside
            place: dict[str, float | str] = {
                "x": left + offset,
                "y": top + (line + 0.5) * _LINE,
                "text": text,
            }
            rows["name" if beside else style].append(place)
            line += 1
    styles: dict[str, tuple[int, Literal["normal", 600], str]] = {
        "head": (12, 600, LIGHT.text),
        "name": (12, "normal", LIGHT.text),
        "remark": (LABEL, "normal", LIGHT.muted),
    }
    layers = []
    for style, (font_size, weight, color) in styles.items():
        if rows[style]:
            text = alt.Chart(alt.InlineData(values=rows[style])).mark_text(
                align="left",
                baseline="middle",
                fontSize=font_size,
                fontWeight=weight,
                color=color,
            )
            layers.append(text.encode(x=x, y=y, text="text:N"))
    return layers
