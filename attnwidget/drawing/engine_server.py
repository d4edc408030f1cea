"""Drawing engine: a separate process that draws figures for its parent.

JavaScript (V8) and the converters can crash, hang or run out of memory. In a separate process they
end only the engine: the parent reads an error and starts a new engine.
"""

from __future__ import annotations

import faulthandler
import json
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from typing import TYPE_CHECKING, Any

from attnwidget.drawing.engine_messages import read_message, write_message

if TYPE_CHECKING:
    from py_mini_racer import MiniRacer

#: Memory limit of the drawing code in bytes; the largest figures need some tens of megabytes.
_MEMORY = 1_500_000_000
#: Seconds between two checks that the parent is still alive.
_WATCH = 2.0

_Answer = tuple[dict[str, Any], list[bytes]]


def serve() -> None:
    """Answer requests on the standard input until the parent closes it or ends."""
    # An interrupt from the notebook reaches the whole process group, but is meant for the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = FileIO(os.dup(0), "rb"), FileIO(os.dup(1), "wb")
    # Libraries may print, but only answers may go to the parent.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    _allow_address_space()
    parent = os.getppid()
    drawer = _Drawer()
    # These errors mean that the parent has closed its end of the pipe or died.
    with suppress(EOFError, OSError):
        while _is_asked(requests, parent):
            header, blocks = read_message(requests)
            # This timer runs in C and ends the process even if native code never returns to Python.
            faulthandler.dump_traceback_later(header.pop("seconds"), exit=True)
            answer = _answer(drawer, header, blocks)
            faulthandler.cancel_dump_traceback_later()
            write_message(answers, *answer)
    # The usual shutdown of Python would wait for V8's threads, where it may crash.
    os._exit(0)


def _is_asked(requests: FileIO, parent: int) -> bool:
    """Wait for a request; return False if the parent has died.

    Other processes forked by the parent can keep its end of the pipe open. An open pipe therefore
    does not prove that the parent is alive.
    """
    if os.name != "posix":
        return True
    while not select.select([requests], [], [], _WATCH)[0]:
        if os.getppid() != parent:
            return False
    return True


def _allow_address_space() -> None:
    """Raise the address space limit as far as the system allows, because V8 reserves 256 GB."""
    if sys.platform != "win32":
        import resource

        _, limit = resource.getrlimit(resource.RLIMIT_AS)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _answer(drawer: _Drawer, header: dict[str, Any], blocks: list[bytes]) -> _Answer:
    task: Callable[..., _Answer] = getattr(drawer, header.pop("task"))
    try:
        return task(*blocks, **header)
    # The converters are written in Rust, and a Rust panic is not an Exception.
    except BaseException as error:
        return {"error": type(error).__name__, "says": str(error)}, []


class _Drawer:
    """Tasks of the engine. Each task takes blocks of bytes and options, and returns an answer."""

    def __init__(self) -> None:
        self._bundle = ""
        self._racer: MiniRacer | None = None

    def load(self, bundle: bytes) -> _Answer:
        """Store the drawing code of all figures, which is first run for the first figure."""
        self._bundle = bundle.decode()
        return {}, []

    def figure(self, request: bytes, data: bytes) -> _Answer:
        """Draw a figure and return the drawing as JSON and the pixels of its images."""
        from py_mini_racer import JSEvalException, JSOOMException

        if self._racer is None:
            self._racer = _racer(self._bundle)
        racer = self._racer
        try:
            buffer: Any = racer.eval(f"globalThis.bytes = bundle.room({len(data)})")
            if data:
                buffer[:] = data
            drawing: Any = racer.eval(f"bundle.draw({request.decode()}, bytes)")
            count = len(json.loads(drawing)["rasters"])
            pixels = [_bytes(racer.eval(f"bundle.pixels({k})")) for k in range(count)]
        except JSOOMException as error:
            raise MemoryError(str(error)) from error
        except JSEvalException as error:
            raise RuntimeError(str(error)) from error
        return {}, [drawing.encode("utf-8", "surrogatepass"), *pixels]

    def svg_to_png(self, svg: bytes) -> _Answer:
        """Convert an SVG file to a PNG file."""
        import vl_convert

        return {}, [vl_convert.svg_to_png(svg.decode())]

    def svg_to_pdf(self, svg: bytes) -> _Answer:
        """Convert an SVG file to a PDF file."""
        import vl_convert

        return {}, [vl_convert.svg_to_pdf(svg.decode())]

    def chart(self, spec: bytes, *, format: str, options: dict[str, Any]) -> _Answer:
        """Draw a Vega-Lite chart as SVG, PNG or PDF."""
        import vl_convert

        file = getattr(vl_convert, f"vegalite_to_{format}")(spec.decode(), **options)
        return {}, [file.encode() if isinstance(file, str) else file]

    def chart_scripts(self, *, vl_version: str) -> _Answer:
        """Return the scripts that a page needs to show a chart."""
        import vl_convert

        # The type annotations require a snippet, but a snippet would replace the page's scripts.
        scripts = vl_convert.javascript_bundle(vl_version=vl_version)  # type: ignore[call-arg]
        return {}, [scripts.encode()]


def _racer(bundle: str) -> MiniRacer:
    from py_mini_racer import MiniRacer

    racer = MiniRacer()
    racer.set_hard_memory_limit(_MEMORY)
    racer.eval(bundle)
    return racer


def _bytes(view: Any) -> bytes:
    return bytes(memoryview(view))
