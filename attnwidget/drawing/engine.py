"""The page's drawing code in a JavaScript engine: a state goes in, SVG comes out."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from attnwidget.drawing.caption import Caption

if TYPE_CHECKING:
    import pandas as pd
    from py_mini_racer import MiniRacer

ThemeName = Literal["light", "dark"]

#: Seconds that a figure may take: the largest take less than one.
_PATIENCE = 60.0
#: Bytes that the engine may hold; the largest figures need some tens of millions.
_MEMORY = 1_500_000_000
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
        ground: the colour behind it.
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
        RuntimeError: the figure cannot be drawn; the engine's own words.
        TimeoutError: it takes longer than a minute.
        MemoryError: it needs more than the engine may have.

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
    return _engine.draw(json.dumps(wish), buffers.joined())


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


class _Engine:
    """The engine of this process.

    The engine runs in the thread that creates it, for requests from any thread.

    An engine made within a running event loop is bound to it: no other thread could call it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._racer: MiniRacer | None = None
        self._other: subprocess.Popen[bytes] | None = None
        self._is_child = False

    def forked(self) -> None:
        """Start anew after a fork: the child has neither the thread nor a working engine."""
        used = self._is_child or self._thread is not None
        if self._racer is not None:
            # To let go of it would wait for ever for its thread, which is not here.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._racer))
        self.__init__()  # type: ignore[misc]
        self._is_child = used

    def close(self) -> None:
        """Let go of the engine while there are threads that can: an exit without it may hang."""
        racer, self._racer = self._racer, None
        if racer is not None:
            racer.close()

    def draw(self, wish: str, data: bytes) -> Drawing:
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="attnwidget-drawing")
            thread = self._thread
        answer = self._asked if self._is_child else self.answer
        return _drawing(*thread.submit(answer, wish, data).result())

    def answer(self, wish: str, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """What the drawing code says, and the bytes of its images."""
        from py_mini_racer import JSEvalException, JSOOMException, JSTimeoutException

        if self._racer is None:
            self._racer = _racer()
        racer = self._racer
        try:
            room: Any = racer.eval(f"globalThis.bytes = bundle.room({len(data)})")
            if data:
                room[:] = data
            made: Any = racer.eval(f"bundle.draw({wish}, bytes)", timeout_sec=_PATIENCE)
            drawing = json.loads(made)
            pixels = [_bytes(racer, k) for k in range(len(drawing["rasters"]))]
        except JSTimeoutException as error:
            self._racer = None
            raise TimeoutError(f"the figure was not drawn within {_PATIENCE:.0f} s") from error
        except JSOOMException as error:
            self._racer = None
            raise MemoryError("the figure needs more memory than its engine may have") from error
        except JSEvalException as error:
            raise RuntimeError(f"the figure could not be drawn: {error}") from error
        return drawing, pixels

    def _asked(self, wish: str, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """The answer of another process, which runs `serve`."""
        if self._other is None or self._other.poll() is not None:
            code = f"from {__name__} import serve; serve()"
            self._other = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        there = cast("IO[bytes]", self._other.stdin)
        back = cast("IO[bytes]", self._other.stdout)
        pickle.dump((wish, data), there)
        there.flush()
        answer = pickle.load(back)
        if isinstance(answer, Exception):
            raise answer
        message: tuple[dict[str, Any], list[bytes]] = answer
        return message


def serve() -> None:
    """Draw what is asked for on the standard input until it ends, for a forked process."""
    engine = _Engine()
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            engine.close()
            return
        try:
            answer: Any = engine.answer(*request)
        except Exception as error:
            answer = type(error)(str(error))
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _racer() -> MiniRacer:
    from py_mini_racer import MiniRacer

    racer = MiniRacer()
    racer.set_hard_memory_limit(_MEMORY)
    bundle = files("attnwidget") / "widgets" / "static" / "picture.js"
    racer.eval(bundle.read_text("utf-8"))
    return racer


def _bytes(racer: MiniRacer, index: int) -> bytes:
    view: Any = racer.eval(f"bundle.pixels({index})")
    return bytes(memoryview(view))


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


_engine = _Engine()
atexit.register(_engine.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_engine.forked)
