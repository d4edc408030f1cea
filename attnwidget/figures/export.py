"""A chart as a file for print and for the web: SVG, PDF or PNG, of exactly the size asked for."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from attnwidget.figures.caption import Caption
from attnwidget.figures.svg import Drawing, document, drawn, title_of, with_caption_below
from attnwidget.figures.theme import Theme, theme_named
from attnwidget.figures.whole_file import write_whole
from attnwidget.figures.xml_text import xml_text

FORMATS = (".svg", ".pdf", ".png")
PAGE_FORMATS = (".html", ".htm")
_PNG_SCALE = 2.0
_NUMBERS = (int, float, np.integer, np.floating)
_MOST_PIXELS = 100_000_000


def write_chart(
    chart: Any,
    path: str | Path,
    *,
    caption: Caption,
    width: float | None = None,
    scale: float | None = None,
    theme: Literal["light", "dark"] = "light",
    drawn_caption: bool = False,
) -> Path:
    """Write a chart as SVG, PDF or PNG, by the suffix of `path`; returns its path.

    The caption is in the file as metadata: title, description and each of its parts. The same chart
    gives the same bytes. The file is replaced at once, or not at all.

    Args:
        chart: any Altair chart, or its Vega-Lite specification as a dict.
        path: the file; its folder must exist.
        caption: what the figure shows.
        width: of the whole figure: pixels of an SVG, points (1/72 inch) of a PDF; a PNG has
            round(width * scale) pixels. The chart's own width without one. The height follows.
        scale: pixels of a PNG for each of `width`, 2 without one; vector files have no pixels.
        theme: the theme that the chart is drawn in: the colour of the ground and of the caption.
        drawn_caption: whether the caption is also drawn under the figure.

    Raises:
        ValueError: another suffix or theme, a width or scale that is not above 0, a PNG of more
            than 100 million pixels.
        FileNotFoundError: the folder does not exist.

    Example:
        >>> import tempfile
        >>> import altair as alt
        >>> from attnwidget.figures.caption import Caption
        >>> from attnwidget.figures.export import write_chart
        >>> chart = alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q")
        >>> path = tempfile.mkdtemp() + "/point.svg"
        >>> write_chart(chart, path, caption=Caption("A point"), width=300).name
        'point.svg'
    """
    path = Path(path)
    check_export(path, width=width, scale=scale, theme=theme)
    colours, suffix = theme_named(theme), path.suffix.lower()
    drawing = drawn(chart)
    if drawn_caption:
        drawing = with_caption_below(drawing, caption.text(), colours)
    if suffix == ".png":
        data = _png(drawing, colours, caption, width or drawing.width, scale or _PNG_SCALE)
    else:
        svg = document(drawing, colours, width=width, caption=caption, creator=creator())
        data = svg.encode("utf-8") if suffix == ".svg" else _pdf(svg, caption)
    write_whole(path, data)
    return path


def check_export(
    path: str | Path,
    *,
    width: float | None = None,
    scale: float | None = None,
    theme: str = "light",
    page: bool = False,
) -> None:
    """Refuse what `write_chart` would, before anything is drawn; raises as it does.

    `page` says that the file will be one, whatever its suffix.
    """
    path = Path(path)
    if not page and path.suffix.lower() not in FORMATS:
        given = f"ends in {path.suffix!r}" if path.suffix else "has no suffix"
        raise ValueError(
            f"{path.name!r} {given}: a figure is saved as one of {', '.join(FORMATS)}; "
            "a widget as .html too"
        )
    theme_named(theme)
    for name, value, unit in (
        ("width", width, "pixels of the whole figure"),
        ("scale", scale, "pixels of a PNG for each of the figure"),
    ):
        if value is None:
            continue
        number = isinstance(value, _NUMBERS) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value <= 0:
            raise ValueError(f"{name} is a number above 0 ({unit}), got {value!r}")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(path.absolute().parent)!r} to save {path.name!r} in: "
            "make it first"
        )


def creator() -> str:
    """The program that made a file."""
    package = __name__.partition(".")[0]
    return f"{package} {import_module(package).__version__}"


def fields(caption: Caption) -> dict[str, str]:
    """What the caption says, by the names that it has in the metadata of files."""
    parts = caption.to_dict()
    return {name.title(): parts[name] for name in parts if name != "figure"}


def _png(drawing: Drawing, theme: Theme, caption: Caption, width: float, scale: float) -> bytes:
    from attnwidget.figures.raster import png

    pixels = max(1, round(width * scale))
    total = pixels * pixels * drawing.height / drawing.width
    if total > _MOST_PIXELS:
        raise ValueError(
            f"the PNG would have {total / 1e6:.0f} million pixels ({pixels} across), the most is "
            f"{_MOST_PIXELS / 1e6:.0f} million: make width or scale smaller, or save an SVG"
        )
    text = {
        "Title": title_of(caption),
        "Description": caption.text(),
        "Software": creator(),
        **fields(caption),
    }
    text = {name: xml_text(value) for name, value in text.items()}
    return png(drawing, theme, pixels=pixels, scale=pixels / width, text=text)


def _pdf(svg: str, caption: Caption) -> bytes:
    from attnwidget.figures.pdf import pdf

    info = {
        "Title": title_of(caption),
        "Subject": caption.text(),
        "Keywords": "; ".join(fields(caption).values()),
        "Creator": creator(),
        **fields(caption),
    }
    return pdf(svg, {name: xml_text(value) for name, value in info.items()})
