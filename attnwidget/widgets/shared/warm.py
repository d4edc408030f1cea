"""The drawing engine, started before it is needed."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from functools import cache


@cache
def warm_up() -> None:
    """Start what draws pictures, in a thread of its own, once in a process with a live notebook.

    The first picture takes longer than any other: JavaScript and the converter have to start.
    Elsewhere nothing is displayed, and what nobody asked for is not started.
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
    """A picture that nobody sees, by all the steps of one that is shown."""
    from attnwidget.drawing.picture import Picture

    # What goes wrong is said by the first picture that somebody sees.
    with suppress(Exception):
        Picture("head_view", {"selected": [], "_source": {"model": ""}}, 64).png(1)
