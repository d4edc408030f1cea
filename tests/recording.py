"""A comm that records what widgets send, and plays the page's side."""

from __future__ import annotations

from typing import Any

import comm
import ipywidgets


class RecordingComm(comm.base_comm.BaseComm):
    """Keeps what Python sends."""

    sent: list[tuple[str, dict[str, Any], list[Any]]]

    def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys) -> None:
        self.__dict__.setdefault("sent", []).append((msg_type, data or {}, buffers or []))


def from_page(widget: ipywidgets.Widget, state: dict[str, Any]) -> None:
    """A message as the page sends it: JSON lists, no tuples."""
    widget._handle_msg({"content": {"data": {"method": "update", "state": state}}, "buffers": []})


def updates(widget: ipywidgets.Widget) -> list[tuple[dict[str, Any], list[Any]]]:
    """States and buffers that Python has sent after the widget opened."""
    return [
        (data["state"], buffers)
        for kind, data, buffers in widget.comm.sent
        if kind == "comm_msg" and data.get("method") == "update"
    ]


def on_page(widget: ipywidgets.Widget, name: str) -> Any:
    """The value that the page has of the trait `_name`, which users do not set."""
    assert f"_{name}" in widget.keys, f"the page of {type(widget).__name__} has no _{name}"
    return getattr(widget, f"_{name}")
