"""Answers to the page's "save" menu: a file's bytes, or the figure's code."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ASKED = "attnwidget-save"
ANSWERED = "attnwidget-saved"
#: MIME type of each file format.
TYPES = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "html": "text/html",
}


def answer_page(widget: Any, content: Any, buffers: Any = None) -> None:
    """Answer the page's request for a file or the code, and ignore all other messages.

    Errors are sent to the page, which shows them in the figure.

    Args:
        widget: Figure that received the message.
        content: Message of the page.
        buffers: Binary data of the message, which is ignored.
    """
    if not isinstance(content, Mapping) or content.get("kind") != ASKED:
        return
    answer = {"kind": ANSWERED, "id": content.get("id")}
    data: list[bytes] = []
    try:
        format = content.get("format")
        if format == "code":
            answer["text"] = widget.code()
        elif format in TYPES:
            answer["name"] = f"{widget.kind.replace('_', '-')}.{format}"
            answer["type"] = TYPES[format]
            data = [_file(widget, str(format))]
        else:
            raise ValueError(
                f"unknown format {format!r}: reload the page, because its code is outdated"
            )
    except Exception as error:
        answer["error"] = str(error) or type(error).__name__
    widget.send(answer, data)


def _file(widget: Any, suffix: str) -> bytes:
    """Return the bytes that `save` writes, from a temporary file because pages need a file."""
    with tempfile.TemporaryDirectory() as folder:
        path: Path = widget.save(Path(folder) / f"figure.{suffix}")
        return path.read_bytes()
