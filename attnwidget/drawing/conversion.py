"""SVG files and charts as files of other kinds, converted by the drawing engine's process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from attnwidget.drawing.engine import engine

ChartFormat = Literal["svg", "png", "pdf"]
CHART_FORMATS = get_args(ChartFormat)


def svg_to_png(svg: str) -> bytes:
    """Convert an SVG file to a PNG file, one pixel for each of the SVG.

    Args:
        svg: The whole SVG file.

    Raises:
        RuntimeError: The text is no SVG file, or the drawing engine cannot start, or ended.

    Example:
        >>> from attnwidget.drawing.conversion import svg_to_png
        >>> svg_to_png('<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>')[1:4]
        b'PNG'
    """
    return _converted("svg_to_png", svg, "the PNG")


def svg_to_pdf(svg: str) -> bytes:
    """Convert an SVG file to a PDF file of one page.

    Args:
        svg: The whole SVG file.

    Raises:
        RuntimeError: The text is no SVG file, or the drawing engine cannot start, or ended.
    """
    return _converted("svg_to_pdf", svg, "the PDF")


def draw_chart(spec: Mapping[str, Any], format: ChartFormat, **options: Any) -> bytes:
    """Draw a Vega-Lite chart as a file.

    Args:
        spec: The chart's specification.
        format: "svg", "png" or "pdf".
        options: Options of vl-convert: `vl_version`, `format_locale`, `time_format_locale`; `scale`
            of a PNG or PDF; `ppi` of a PNG.

    Raises:
        RuntimeError: The specification is no Vega-Lite chart, or the drawing engine cannot start,
            or ended.

    Example:
        >>> from attnwidget.drawing.conversion import draw_chart
        >>> spec = {"data": {"values": [{"x": 1}]}, "mark": "point"}
        >>> draw_chart(spec, "svg")[:4]
        b'<svg'
    """
    return _converted("chart", json.dumps(spec), "the chart", format=format, options=options)


def chart_scripts(vl_version: str) -> str:
    """Return the scripts that show charts in a page without a network.

    Args:
        vl_version: Version of Vega-Lite, for example "v6.1".

    Raises:
        RuntimeError: The drawing engine cannot start, or ended.
    """
    _, (scripts,) = engine().ask("chart_scripts", [], what="the page", vl_version=vl_version)
    return scripts.decode()


def _converted(task: str, source: str, what: str, **options: Any) -> bytes:
    _, (made,) = engine().ask(task, [source.encode()], what=what, **options)
    return made
