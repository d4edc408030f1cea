"""The page's drawing code outside a page: a state goes in, SVG comes out.

The code runs in the drawing engine, a process of its own (`engine_process`, `engine_server`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from attnwidget.drawing.caption import Caption
from attnwidget.drawing.engine_process import EngineProcess

if TYPE_CHECKING:
    import pandas as pd

ThemeName = Literal["light", "dark"]

_ALIGNED = 8


@dataclass(frozen=True)
class Pixels:
    """A part of a drawing that is pixels: R, G, B, A row by row, and the size it is shown in."""

    across: int
    down: int
    width: float
    height: float
    data: bytes


@dataclass(frozen=True)
class Drawing:
    """A figure as SVG elements, with all that is said of it.

    Args:
        body: the elements; images are `raster:0`, `raster:1`, … of `rasters`.
        width: of the whole, in pixels, that it is laid out for.
        height: likewise.
        density: pixels of its images for each of its own.
        ground: the color behind it.
        caption: what it shows, in words.
        columns: names of the columns of its numbers.
        rows: its numbers.
        figures: where what a page draws lies: left, top, width, height.
        rasters: the images.
    """

    body: str
    width: float
    height: float
    density: float
    ground: str
    caption: Caption
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    figures: tuple[tuple[float, float, float, float], ...]
    rasters: tuple[Pixels, ...]

    @property
    def table(self) -> pd.DataFrame:
        """The numbers; what identifies a row is in the first column."""
        import pandas as pd

        return pd.DataFrame(list(self.rows), columns=list(self.columns))


def draw(
    figure: str,
    state: Mapping[str, Any],
    *,
    width: float | None = None,
    theme: ThemeName = "light",
    density: float | None = 2.0,
    pixels: float = 0,
    dense: bool = False,
    brief: bool = False,
    caption: bool = False,
    title: bool = True,
) -> Drawing:
    """Draw a figure as its page does.

    Args:
        figure: the folder of its widget, "head_view".
        state: the widget's synced traits; arrays as the page gets them.
        width: Width of the layout in pixels; default: the figure's own width.
        theme: "light" or "dark".
        density: Pixels of the file per pixel of the figure, so that cells fall on whole pixels;
            None for as many as `pixels` allow.
        pixels: about how many the file may have in all; the density is 1 to 2.
        dense: whether lines become pixels, which are converted sooner than thousands of strokes.
        brief: whether a long figure may show its first part alone.
        caption: whether its caption is drawn under it, in place of its notes.
        title: whether its title is drawn above it.

    Raises:
        RuntimeError: The figure cannot be drawn, in the engine's own words, or the engine ended.
        TimeoutError: The figure takes longer than a minute.
        MemoryError: The figure needs more memory than the engine may have.

    Example:
        >>> from attnwidget import HeadView, load_model
        >>> from attnwidget.drawing.engine import draw
        >>> view = HeadView(load_model().attend("The cat sat."), layer=2, head=1)
        >>> draw("head_view", view.get_state()).caption.head
        'L2 H1 (3-2)'
    """
    buffers = _Buffers()
    wish = {
        "figure": figure,
        "state": buffers.take(state),
        "width": None if width is None else float(width),
        "theme": theme,
        "density": density,
        "pixels": pixels,
        "dense": dense,
        "brief": brief,
        "caption": caption,
        "title": title,
    }
    blocks = [json.dumps(wish).encode(), buffers.joined()]
    _, (drawn, *images) = engine().ask("figure", blocks, what=f"the figure {figure!r}")
    return _drawing(json.loads(drawn.decode("utf-8", "surrogatepass")), images)


class _Buffers:
    """The bytes of a state, one after another, where every array can be read in place."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[tuple[int, memoryview]] = []

    def take(self, value: Any) -> Any:
        """Return the value as JSON, with each byte string replaced by its start and length."""
        # Most values are texts and numbers: a test for a mapping takes ten times as long.
        if isinstance(value, (str, int, float)):
            return value
        if isinstance(value, (bytes, memoryview)):
            view = memoryview(value).cast("B") if len(value) else memoryview(b"")
            start = self.length
            self._parts.append((start, view))
            self.length = -(-(start + len(view)) // _ALIGNED) * _ALIGNED
            return [start, len(view)]
        if isinstance(value, Mapping):
            return {str(name): self.take(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.take(item) for item in value]
        return value

    def joined(self) -> bytes:
        """Return all parts, each with its start."""
        room = bytearray(self.length)
        for start, view in self._parts:
            room[start : start + len(view)] = view
        return bytes(room)


def _drawing(drawing: dict[str, Any], pixels: list[bytes]) -> Drawing:
    said = drawing["caption"]
    table = drawing["table"]
    return Drawing(
        body=drawing["body"],
        width=drawing["width"],
        height=drawing["height"],
        density=drawing["density"],
        ground=drawing["ground"],
        caption=Caption(**said | {"notes": tuple(said["notes"])}),
        columns=tuple(table["columns"]),
        rows=tuple(map(tuple, table["rows"])),
        figures=tuple((f["x"], f["y"], f["width"], f["height"]) for f in drawing["figures"]),
        rasters=tuple(
            Pixels(**raster, data=data)
            for raster, data in zip(drawing["rasters"], pixels, strict=True)
        ),
    )


@cache
def engine() -> EngineProcess:
    """Return the drawing engine of this process."""
    bundle = files("attnwidget") / "widgets" / "static" / "picture.js"
    return EngineProcess(bundle.read_bytes())
