"""What the page's "save" menu asks for, and the answer: a file's bytes, or the figure's code."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ASKED = "attnwidget-save"
ANSWERED = "attnwidget-saved"
#: The type of each kind of file, as browsers call it.
TYPES = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "html": "text/html",
}


def answer_page(widget: Any, content: Any, buffers: Any = None) -> None:
    """Answer the page's request for a file or for the code, and ignore all other messages.

    Errors are sent to the page, which shows them in the figure.
    """
    if not isinstance(content, Mapping) or content.get("kind") != ASKED:
        return
    answer = {"kind": ANSWERED, "id": content.get("id")}
    data: list[bytes] = []
    try:
        wish = content.get("format")
        if wish == "code":
            answer["text"] = widget.code()
        elif wish in TYPES:
            answer["name"] = f"{widget.kind.replace('_', '-')}.{wish}"
            answer["type"] = TYPES[wish]
            data = [_file(widget, str(wish))]
        else:
            raise ValueError(
                f"unknown format {wish!r}: reload the page, because its code is outdated"
            )
    except Exception as error:
        answer["error"] = str(error) or type(error).__name__
    widget.send(answer, data)


def _file(widget: Any, suffix: str) -> bytes:
    """What `save` writes: a page is only ever written to a file."""
    with tempfile.TemporaryDirectory() as folder:
        written: Path = widget.save(Path(folder) / f"figure.{suffix}")
        return written.read_bytes()
