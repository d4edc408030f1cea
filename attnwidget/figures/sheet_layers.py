"""The rows of a sheet as layers of a chart, and the chart under its title."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import altair as alt

from attnwidget.figures.offline import offline
from attnwidget.figures.text_width import MEASURED_FONT, wrapped
from attnwidget.figures.theme import DARK, LABEL, Theme, in_dark, publication

TITLE = 13
"""Font size of the title."""

Row = dict[str, Any]

# A symbol of this size is drawn from its path as it is, one pixel a unit.
_UNIT = 4
_PLACE = {"type": "quantitative", "scale": None}
_AXIS = {**_PLACE, "axis": None}
_PAINT = {"type": "nominal", "scale": None}


class SheetChart(alt.LayerChart):
    """A chart that is known to be sound: checking it takes longer than drawing it."""

    def to_dict(self, validate: bool = False, **options: Any) -> dict[str, Any]:
        """The chart as Vega-Lite."""
        return super().to_dict(validate=validate, **options)


def layer(kind: str, rows: list[Row]) -> alt.Chart:
    """Rows of one kind, "path", "clipped", "text" or "image", as a layer of the chart.

    Colours are written as they are: no scale has to be computed.
    """
    if kind == "image":
        [row] = rows
        mark, encoding = _image(row)
        values: Any = [{"url": row["url"]}]
        text = row["url"]
    else:
        used = set().union(*rows)
        mark, encoding = _text(used) if kind == "text" else _path(used, kind == "clipped")
        # As text rows cost Altair nothing: it would look into every number of a list.
        values = text = json.dumps(rows, ensure_ascii=False)
    # Of data with a name Altair does not look for others like them.
    name = f"{kind}-{zlib.crc32(text.encode('utf-8', 'replace')):08x}"
    data = {"name": name, "values": values, "format": {"type": "json"}}
    drawn: Any = mark
    return alt.Chart(data=data, mark=drawn, encoding=alt.FacetedEncoding(**encoding))


def sheet_chart(
    layers: list[alt.Chart],
    width: float,
    height: float,
    theme: Theme,
    title: str,
    notes: Sequence[str],
) -> SheetChart:
    """Layers as one chart; further lines of the title and the notes become the subtitle.

    Raises:
        ValueError: the title is empty.
    """
    head, *rest = [line for line in title.splitlines() if line.strip()] or [""]
    if not head:
        raise ValueError("the title is empty: say what the figure shows")
    if notes:
        rest = [*rest[:-1], " · ".join([*rest[-1:], *notes])]
    # Room for the point that a line may end with.
    under = [line for one in rest for line in wrapped(one, LABEL, width - 8)]
    chart = _empty(theme).copy(deep=["config", "title"])
    chart.width, chart.height = width, height
    chart.title.text = wrapped(head, TITLE, width, bold=True)
    if under:
        chart.title.subtitle = under
    chart.description = " ".join([head, *under])
    # Last: Altair would copy all of them, time and again.
    chart.layer = [*layers]
    return chart


@cache
def _empty(theme: Theme) -> SheetChart:
    chart: Any = publication(SheetChart(layer=[]), "sheet")
    chart.config.font = MEASURED_FONT
    empty: SheetChart = offline(in_dark(chart) if theme == DARK else chart)
    return empty


def _path(used: set[str], clipped: bool) -> tuple[Row, Row]:
    mark: Row = {"type": "point", "size": _UNIT, "opacity": 1, "aria": False}
    if clipped:
        mark["clip"] = True
        # Of each path by itself: a clipped layer blends with nothing below it.
        mark["blend"] = {"expr": "datum.blend"}
    encoding: Row = {
        "x": {"field": "x", **_AXIS} if "x" in used else {"value": 0},
        "y": {"field": "y", **_AXIS} if "y" in used else {"value": 0},
        "shape": {"field": "path", **_PAINT},
        "fill": {"field": "fill", **_PAINT},
        "stroke": {"field": "stroke", **_PAINT},
        "strokeWidth": {"field": "width", **_PLACE},
        # Plain opacity makes a renderer draw each path on a sheet of its own first.
        "fillOpacity": {"field": "opacity", **_PLACE},
        "strokeOpacity": {"field": "opacity", **_PLACE},
    }
    if "dash" in used:
        encoding["strokeDash"] = {"field": "dash", **_PAINT}
    return mark, encoding


def _text(used: set[str]) -> tuple[Row, Row]:
    mark: Row = {
        "type": "text",
        "baseline": "alphabetic",
        "font": MEASURED_FONT,
        "aria": False,
        # Of each text by itself, so that one layer has them all.
        "align": {"expr": "datum.align"},
        "fontSize": {"expr": "datum.size"},
        "fontWeight": {"expr": "datum.weight"},
    }
    encoding: Row = {
        "x": {"field": "x", **_AXIS},
        "y": {"field": "y", **_AXIS},
        "text": {"field": "text", "type": "nominal"},
        "fill": {"field": "fill", **_PAINT},
    }
    if "angle" in used:
        mark["angle"] = {"expr": "datum.angle"}
    if "opacity" in used:
        encoding["opacity"] = {"field": "opacity", **_PLACE}
    if "stroke" in used:
        mark |= {"strokeWidth": 2, "strokeJoin": "round"}
        encoding["stroke"] = {"field": "stroke", **_PAINT}
    return mark, encoding


def _image(row: Row) -> tuple[Row, Row]:
    mark = {
        "type": "image",
        "aspect": False,
        "smooth": False,
        "aria": False,
        "align": "left",
        "baseline": "top",
        "width": row["width"],
        "height": row["height"],
    }
    place = {"x": {"value": row["x"]}, "y": {"value": row["y"]}}
    return mark, {**place, "url": {"field": "url", "type": "nominal"}}
