"""Picture of a figure at one moment, as SVG, PNG or PDF, with its caption and table."""

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
#: Limits of a figure's width in pixels: no label fits a narrower figure, no screen a wider one.
_NARROWEST = 40
_WIDEST = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Picture:
    """Widget state at one moment, drawn by the page's drawing code.

    A notebook displays the picture. `save` chooses the file format by the file's suffix.

    Args:
        figure: Folder of the widget, for example "head_view".
        state: Synced traits of the widget.
        width: Width of the layout in pixels; default: the figure's own width.
        theme: "light" or "dark".
        drawn_caption: Whether to draw the caption under the figure.
        drawn_title: Whether to draw the title above the figure.

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
        """Return the state for pickles and copies, without the drawing, which is drawn again."""
        fields = {name: value for name, value in self.__dict__.items() if name != "drawing"}
        return fields | {"state": _with_bytes(self.state)}

    @cached_property
    def drawing(self) -> Drawing:
        """Figure as SVG elements, with its caption and its numbers."""
        return self.drawn()

    def drawn(self, **how: Any) -> Drawing:
        """Draw the figure again, with options of `drawing.engine.draw`."""
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
        """Caption of the figure."""
        return self.drawing.caption

    @property
    def table(self) -> pd.DataFrame:
        """Numbers of the figure; the first column identifies the row."""
        return self.drawing.table

    @property
    def svg(self) -> str:
        """Figure as the text of an SVG file, with its description."""
        return svg(self.drawing, width=self.width)

    def png(self, scale: float = _PNG_SCALE) -> bytes:
        """Return the figure as a PNG file with `scale` pixels per pixel of the figure.

        Raises:
            ValueError: If `scale` is not above 0, or if the PNG would have more than 100 million
                pixels.
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
        caption = drawing.caption
        text = {
            "Title": title_of(caption),
            "Description": caption.text(),
            "Software": creator(),
            **_fields(caption),
        }
        text = {name: xml_text(value) for name, value in text.items()}
        return png(drawing, pixels=pixels, scale=pixels / width, text=text)

    def pdf(self) -> bytes:
        """Return the figure as a one-page PDF file with one point (1/72 inch) per pixel."""
        from attnwidget.drawing.pdf import pdf

        caption = self.caption
        info = {
            "Title": title_of(caption),
            "Subject": caption.text(),
            "Keywords": "; ".join(_fields(caption).values()),
            "Creator": creator(),
            **_fields(caption),
        }
        return pdf(self.svg, {name: xml_text(value) for name, value in info.items()})

    def save(
        self, path: str | Path, *, scale: float | None = None, dpi: float | None = None
    ) -> Path:
        """Save the figure as .svg, .pdf or .png and return the path.

        The file contains the caption as metadata. An existing file is replaced atomically. The same
        figure gives the same bytes.

        Args:
            path: File path; its folder must exist.
            scale: Pixels of a PNG per pixel of the figure; default 2.
            dpi: Pixels of a PNG per inch, in place of `scale`: 300 is a scale of 300/96.

        Raises:
            ValueError: If the suffix is not one of the three, `scale` or `dpi` is not above 0, both
                are passed, or the PNG would have more than 100 million pixels.
            FileNotFoundError: If the folder does not exist.
        """
        path = Path(path)
        check_file(path, scale=scale, dpi=dpi)
        if dpi is not None:
            from attnwidget.drawing.png import INCH

            scale = dpi / INCH
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
    """Return a state with bytes in place of memory views, which cannot be pickled."""
    if isinstance(value, memoryview):
        return value.tobytes()
    if isinstance(value, Mapping):
        return {name: _with_bytes(inner) for name, inner in value.items()}
    if type(value) in (list, tuple):  # This excludes named tuples, such as heads.
        return type(value)(map(_with_bytes, value))
    return value


def captioned(picture: Picture) -> Picture:
    """Return the same picture with its caption drawn under it."""
    return replace(picture, drawn_caption=True)


def check_theme(theme: str) -> None:
    """Raise a ValueError if there is no such theme."""
    if theme not in THEMES:
        raise ValueError(f"there is no theme {theme!r}: {among(theme, THEMES)}")


def check_drawn(part: str, value: object) -> None:
    """Raise a TypeError if an option such as "title" or "caption" is not a bool."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{part} must be True or False (whether the figure's own is drawn), got {value!r}"
        )


def check_file(
    path: Path,
    *,
    width: float | None = None,
    scale: float | None = None,
    dpi: float | None = None,
    page: bool = False,
) -> None:
    """Raise an error for a file that cannot be written, before anything is drawn.

    Args:
        path: File path.
        width: Width of the figure in pixels.
        scale: Pixels of a PNG per pixel of the figure.
        dpi: Pixels of a PNG per inch; with `scale`, an error.
        page: Whether the file is an HTML page.
    """
    if not page and path.suffix.lower() not in FORMATS:
        ending = f"ends in {path.suffix!r}" if path.suffix else "has no suffix"
        raise ValueError(
            f"{path.name!r} {ending}: a figure is saved as one of {', '.join(FORMATS)}; "
            "a widget as .html too"
        )
    _check_number("width", width, "pixels of the whole figure")
    _check_number("scale", scale, "pixels of a PNG for each of the figure")
    _check_number("dpi", dpi, "pixels of a PNG per inch")
    if scale is not None and dpi is not None:
        raise ValueError(
            f"scale={scale!r} and dpi={dpi!r} both set the size of a PNG: pass one of them"
        )
    refuse_no_replacing(path)


def _check_number(name: str, value: float | None, unit: str) -> None:
    if value is None:
        return
    number = isinstance(value, _NUMBERS) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be a number above 0 ({unit}), got {value!r}")
    if name == "width" and not _NARROWEST <= value <= _WIDEST:
        raise ValueError(
            f"width is {_NARROWEST} to {_WIDEST:,} {unit}, got {value:,}; scale= gives a PNG more "
            "of them"
        )


def _fields(caption: Caption) -> dict[str, str]:
    """Return the parts of the caption by their names in file metadata."""
    parts = caption.to_dict()
    return {name.title(): parts[name] for name in parts if name != "figure"}
