"""Early start of the drawing engine, before the first picture needs it."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from functools import cache


@cache
def warm_up() -> None:
    """Start the drawing engine in a background thread, once per notebook kernel.

    The first picture takes longer than later pictures, because JavaScript and the converter have to
    start. Processes that are not kernels display no figures, so the engine does not start there.
    """
    kernel = sys.modules.get("ipykernel.kernelapp")
    if kernel is None or not kernel.IPKernelApp.initialized():
        return
    thread = threading.Thread(target=_draw_nothing, name="attnwidget-warm-up", daemon=True)
    # A process that is forked during an import would wait forever for this import.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=thread.join)
    thread.start()


def _draw_nothing() -> None:
    """Draw a picture that is not displayed, with all steps of a displayed picture."""
    from attnwidget.drawing.picture import Picture

    # Ignore errors here, because the first displayed picture raises them again.
    with suppress(Exception):
        Picture("head_view", {"selected": [], "_source": {"model": ""}}, 64).png(1)
