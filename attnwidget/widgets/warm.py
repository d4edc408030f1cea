"""The drawing engine, started before it is needed."""

from __future__ import annotations

import os
import sys
import threading
from functools import cache

_EMPTY = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "data": {"values": [{}]},
    "mark": "text",
    "encoding": {"text": {"value": "0"}},
}


@cache
def warm_up() -> None:
    """Start what draws pictures, in a thread of its own, once in a process with a live notebook.

    The first picture takes a second longer than any other, most of it to start JavaScript and to
    import Altair. Elsewhere nothing is displayed, and what nobody asked for is not started.
    """
    kernel = sys.modules.get("ipykernel.kernelapp")
    if kernel is None or not kernel.IPKernelApp.initialized():
        return
    thread = threading.Thread(target=_draw_nothing, name="attnwidget-warm-up", daemon=True)
    # A child that is forked meanwhile would wait for ever for an import that nobody finishes.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=thread.join)
    thread.start()


def _draw_nothing() -> None:
    import vl_convert

    vl_convert.svg_to_png(vl_convert.vegalite_to_svg(_EMPTY))
    import altair  # noqa: F401
