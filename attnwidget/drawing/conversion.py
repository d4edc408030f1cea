"""Conversion of SVG files and charts to other file formats, in the drawing engine's process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from attnwidget.drawing.engine import engine

ChartFormat = Literal["svg", "png", "pdf"]
CHART_FORMATS = get_args(ChartFormat)


def svg_to_png(svg: str) -> bytes:
    """Convert an SVG file to a PNG file, with one pixel per pixel of the SVG.

    Args:
        svg: Text of the complete SVG file.

    Raises:
        RuntimeError: If the text is not an SVG file, or if the drawing engine cannot start or ends.

    Example:
        >>> from attnwidget.drawing.conversion import svg_to_png
        >>> svg_to_png('<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>')[1:4]
        b'PNG'
    """
    return _converted("svg_to_png", svg, "the PNG")


def svg_to_pdf(svg: str) -> bytes:
    """Convert an SVG file to a PDF file with one page.

    Args:
        svg: Text of the complete SVG file.

    Raises:
        RuntimeError: If the text is not an SVG file, or if the drawing engine cannot start or ends.
    """
    return _converted("svg_to_pdf", svg, "the PDF")


def draw_chart(spec: Mapping[str, Any], format: ChartFormat, **options: Any) -> bytes:
    """Draw a Vega-Lite chart as a file.

    Args:
        spec: Vega-Lite specification of the chart.
        format: File format: "svg", "png" or "pdf".
        options: Options of vl-convert: `vl_version`, `format_locale` and `time_format_locale`;
            `scale` for PNG and PDF; `ppi` for PNG.

    Raises:
        RuntimeError: If the specification is not a Vega-Lite chart, or if the drawing engine cannot
            start or ends.

    Example:
        >>> from attnwidget.drawing.conversion import draw_chart
        >>> spec = {"data": {"values": [{"x": 1}]}, "mark": "point"}
        >>> draw_chart(spec, "svg")[:4]
        b'<svg'
    """
    return _converted("chart", json.dumps(spec), "the chart", format=format, options=options)


def chart_scripts(vl_version: str) -> str:
    """Return the scripts that a page needs to show charts without a network.

    Args:
        vl_version: Version of Vega-Lite, for example "v6.1".

    Raises:
        RuntimeError: If the drawing engine cannot start or ends.
    """
    _, (scripts,) = engine().ask("chart_scripts", [], what="the page", vl_version=vl_version)
    return scripts.decode()


def _converted(task: str, source: str, what: str, **options: Any) -> bytes:
    _, (file,) = engine().ask(task, [source.encode()], what=what, **options)
    return file
