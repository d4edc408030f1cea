"""The drawing engine, started before it is needed."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from functools import cache


@cache
def warm_up() -> None:
    """Start the drawing engine in a background thread, once per process with a live notebook.

    The first picture takes longer than any other: JavaScript and the converter have to start.
    In other processes no figure is displayed, so the engine does not start.
    """
    kernel = sys.modules.get("ipykernel.kernelapp")
    if kernel is None or not kernel.IPKernelApp.initialized():
        return
    thread = threading.Thread(target=_draw_nothing, name="attnwidget-warm-up", daemon=True)
    # A child forked during an import would wait forever for this import.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=thread.join)
    thread.start()


def _draw_nothing() -> None:
    """Draw a picture that is not shown, through all the steps of a shown picture."""
    from attnwidget.drawing.picture import Picture

    # What goes wrong is said by the first picture that somebody sees.
    with suppress(Exception):
        Picture("head_view", {"selected": [], "_source": {"model": ""}}, 64).png(1)
