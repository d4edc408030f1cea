"""A figure as it was when it was asked for: SVG, PNG, a file for print, a table of its numbers."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.drawing.caption import Caption
from attnwidget.drawing.engine import Drawing, ThemeName, draw
from attnwidget.drawing.svg import creator, svg, title_of
from attnwidget.text.atomic_file import refuse_no_replacing, write_whole
from attnwidget.text.near_names import among
from attnwidget.text.xml_text import xml_text

if TYPE_CHECKING:
    import pandas as pd

FORMATS = (".svg", ".pdf", ".png")
PAGE_FORMATS = (".html", ".htm")
THEMES = ("light", "dark")
_PNG_SCALE = 2.0
_NUMBERS = (int, float, np.integer, np.floating)
_MOST_PIXELS = 100_000_000
#: Pixels of a figure's width: what is narrower holds no label, what is wider no screen shows.
_NARROWEST = 40
_WIDEST = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Picture:
    """A widget's state at one moment, drawn by the drawing code of the page.

    It shows itself in a notebook, and is saved by the suffix of a file.

    Args:
        figure: the folder of its widget, "head_view".
        state: the widget's synced traits.
        width: Width of the layout in pixels; default: the figure's own width.
        theme: "light" or "dark".
        drawn_caption: whether the caption is drawn under the figure.
        drawn_title: whether the title is drawn above the figure.

    Example:
        >>> from attnwidget import HeadView, load_model
        >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
        >>> picture = view.figure(width=480)
        >>> picture.svg[:4], picture.png()[1:4]
        ('<svg', b'PNG')
    """

    figure: str
    state: Mapping[str, Any] = field(repr=False)
    width: float | None = None
    theme: ThemeName = "light"
    drawn_caption: bool = False
    drawn_title: bool = True

    def __post_init__(self) -> None:
        check_theme(self.theme)
        _check_number("width", self.width, "pixels of the whole figure")
        check_drawn("title", self.drawn_title)
        check_drawn("caption", self.drawn_caption)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles and copies; the picture is drawn again from it."""
        kept = {name: value for name, value in self.__dict__.items() if name != "drawing"}
        return kept | {"state": _with_bytes(self.state)}

    @cached_property
    def drawing(self) -> Drawing:
        """The figure as SVG elements, with its caption and its numbers."""
        return self.drawn()

    def drawn(self, **how: Any) -> Drawing:
        """The figure drawn anew, with what `drawing.engine.draw` takes."""
        return draw(
            self.figure,
            self.state,
            width=self.width,
            theme=self.theme,
            caption=self.drawn_caption,
            title=self.drawn_title,
            **how,
        )

    @property
    def caption(self) -> Caption:
        """What it shows, in words."""
        return self.drawing.caption

    @property
    def table(self) -> pd.DataFrame:
        """Its numbers; what identifies a row is in the first column."""
        return self.drawing.table

    @property
    def svg(self) -> str:
        """Return the figure as an SVG file with its description."""
        return svg(self.drawing, width=self.width)

    def png(self, scale: float = _PNG_SCALE) -> bytes:
        """The figure as a PNG with `scale` pixels for each of the figure.

        Raises:
            ValueError: `scale` is not above 0; more than 100 million pixels.
        """
        from attnwidget.drawing.png import png

        _check_number("scale", scale, "pixels of a PNG for each of the figure")
        drawing = self.drawn(density=_PNG_SCALE, dense=True)
        width = self.width or drawing.width
        pixels = max(1, round(width * scale))
        total = pixels * pixels * drawing.height / drawing.width
        if total > _MOST_PIXELS:
            raise ValueError(
                f"the PNG would have {total / 1e6:.0f} million pixels ({pixels} across), the most "
                f"is {_MOST_PIXELS / 1e6:.0f} million: make width or scale smaller, or save an SVG"
            )
        density = pixels / drawing.width
        if density != _PNG_SCALE:
            drawing = self.drawn(density=density, dense=True)
        said = drawing.caption
        text = {
            "Title": title_of(said),
            "Description": said.text(),
            "Software": creator(),
            **_fields(said),
        }
        text = {name: xml_text(value) for name, value in text.items()}
        return png(drawing, pixels=pixels, scale=pixels / width, text=text)

    def pdf(self) -> bytes:
        """The figure as a PDF of one page, a point (1/72 inch) for each of its pixels."""
        from attnwidget.drawing.pdf import pdf

        said = self.caption
        info = {
            "Title": title_of(said),
            "Subject": said.text(),
            "Keywords": "; ".join(_fields(said).values()),
            "Creator": creator(),
            **_fields(said),
        }
        return pdf(self.svg, {name: xml_text(value) for name, value in info.items()})

    def save(self, path: str | Path, *, scale: float | None = None) -> Path:
        """Save it as .svg, .pdf or .png; returns the path.

        The caption is in the file as metadata. The file is replaced at once, or not at all; the
        same figure gives the same bytes.

        Args:
            path: the file; its folder must exist.
            scale: pixels of a PNG for each of the figure, 2 without one.

        Raises:
            ValueError: another suffix; a scale that is not above 0; a PNG of more than 100 million
                pixels.
            FileNotFoundError: the folder does not exist.
        """
        path = Path(path)
        check_file(path, scale=scale)
        suffix = path.suffix.lower()
        if suffix == ".svg":
            data = self.svg.encode("utf-8")
        else:
            data = self.pdf() if suffix == ".pdf" else self.png(scale or _PNG_SCALE)
        write_whole(path, data)
        return path

    def _repr_mimebundle_(self, **keywords: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        size = {"width": round(self.drawing.width), "height": round(self.drawing.height)}
        data = {
            "image/svg+xml": self.svg,
            "image/png": base64.b64encode(self.png()).decode("ascii"),
            "text/plain": repr(self),
        }
        return data, {"image/png": size | {"alt": self.caption.text()}}

    def __repr__(self) -> str:
        drawing = self.drawing
        return f"Picture({title_of(self.caption)}, {drawing.width:.0f}×{drawing.height:.0f})"


def _with_bytes(value: Any) -> Any:
    """Return a state with bytes in place of views of arrays, which cannot be pickled."""
    if isinstance(value, memoryview):
        return value.tobytes()
    if isinstance(value, Mapping):
        return {name: _with_bytes(inner) for name, inner in value.items()}
    if type(value) in (list, tuple):  # no named tuples, such as heads
        return type(value)(map(_with_bytes, value))
    return value


def captioned(picture: Picture) -> Picture:
    """The same picture with its caption drawn under it."""
    return replace(picture, drawn_caption=True)


def check_theme(theme: str) -> None:
    """Refuse a theme that there is not, with a ValueError."""
    if theme not in THEMES:
        raise ValueError(f"there is no theme {theme!r}: {among(theme, THEMES)}")


def check_drawn(part: str, value: object) -> None:
    """Refuse anything but True and False for whether a "title" or "caption" is drawn."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{part} is True or False, whether the figure's own is drawn, got {value!r}"
        )


def check_file(
    path: Path, *, width: float | None = None, scale: float | None = None, page: bool = False
) -> None:
    """Refuse a file that cannot be written, before anything is drawn; `page`: it will be one."""
    if not page and path.suffix.lower() not in FORMATS:
        ending = f"ends in {path.suffix!r}" if path.suffix else "has no suffix"
        raise ValueError(
            f"{path.name!r} {ending}: a figure is saved as one of {', '.join(FORMATS)}; "
            "a widget as .html too"
        )
    _check_number("width", width, "pixels of the whole figure")
    _check_number("scale", scale, "pixels of a PNG for each of the figure")
    refuse_no_replacing(path)


def _check_number(name: str, value: float | None, unit: str) -> None:
    if value is None:
        return
    number = isinstance(value, _NUMBERS) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} is a number above 0 ({unit}), got {value!r}")
    if name == "width" and not _NARROWEST <= value <= _WIDEST:
        raise ValueError(
            f"width is {_NARROWEST} to {_WIDEST:,} {unit}, got {value:,}; scale= gives a PNG more "
            "of them"
        )


def _fields(caption: Caption) -> dict[str, str]:
    """Return the parts of the caption, by their names in the metadata of files."""
    parts = caption.to_dict()
    return {name.title(): parts[name] for name in parts if name != "figure"}
