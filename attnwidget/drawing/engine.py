"""Drawing of a widget's state as SVG, by the page's drawing code outside a page.

The code runs in a separate process, the drawing engine (`engine_process`, `engine_server`).
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
    """Raster image in a drawing: R, G, B and A row by row, and the displayed size."""

    across: int
    down: int
    width: float
    height: float
    data: bytes


@dataclass(frozen=True)
class Drawing:
    """Figure as SVG elements, with its caption and its table.

    Args:
        body: SVG elements; `raster:0`, `raster:1`, … refer to `rasters`.
        width: Width of the layout in pixels.
        height: Height of the layout in pixels.
        density: Pixels of the raster images per pixel of the layout.
        ground: Background color.
        caption: Caption of the figure.
        columns: Column names of the table.
        rows: Rows of the table.
        figures: Boxes of the parts that a page draws: left, top, width, height.
        rasters: Raster images of the figure.
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
        """Numbers of the figure; the first column identifies the row."""
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
    """Draw a figure in the same way as its page.

    Args:
        figure: Folder of the widget, for example "head_view".
        state: Synced traits of the widget, with arrays in the form that the page receives.
        width: Width of the layout in pixels; default: the figure's own width.
        theme: "light" or "dark".
        density: Pixels of the file per pixel of the figure, so that cells fall on whole pixels;
            None = the highest density that `pixels` allows.
        pixels: Approximate maximum number of pixels in the file, for a density between 1 and 2.
        dense: Whether to draw lines as pixels, which is faster to convert than thousands of
            strokes.
        brief: Whether a long figure may show only its first part.
        caption: Whether to draw the caption under the figure, in place of its notes.
        title: Whether to draw the title above the figure.

    Raises:
        RuntimeError: If the engine cannot draw the figure, or ends while drawing.
        TimeoutError: If the figure takes longer than a minute.
        MemoryError: If the figure needs more memory than the engine may use.

    Example:
        >>> from attnwidget import HeadView, load_model
        >>> from attnwidget.drawing.engine import draw
        >>> view = HeadView(load_model().attend("The cat sat."), layer=2, head=1)
        >>> draw("head_view", view.get_state()).caption.head
        'L2 H1 (3-2)'
    """
    buffers = _Buffers()
    request = {
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
    blocks = [json.dumps(request).encode(), buffers.joined()]
    _, (drawing_json, *rasters) = engine().ask("figure", blocks, what=f"the figure {figure!r}")
    return _drawing(json.loads(drawing_json.decode("utf-8", "surrogatepass")), rasters)


class _Buffers:
    """Bytes of a state in one buffer, aligned so that every array can be read in place."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[tuple[int, memoryview]] = []

    def take(self, value: Any) -> Any:
        """Return the value as JSON, with each byte string replaced by its start and length."""
        # Test for text and numbers first, because most values are text or numbers. A test for a
        # mapping takes ten times as long.
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
        """Return one buffer with every part at its start position."""
        buffer = bytearray(self.length)
        for start, view in self._parts:
            buffer[start : start + len(view)] = view
        return bytes(buffer)


def _drawing(drawing: dict[str, Any], pixels: list[bytes]) -> Drawing:
    caption = drawing["caption"]
    table = drawing["table"]
    return Drawing(
        body=drawing["body"],
        width=drawing["width"],
        height=drawing["height"],
        density=drawing["density"],
        ground=drawing["ground"],
        caption=Caption(**caption | {"notes": tuple(caption["notes"])}),
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
