"""What the page's "save" menu is answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import comm
import pytest

from attnwidget import HeadView, load_model
from fixtures.recording import RecordingComm


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeadView]:
    monkeypatch.setattr(comm, "create_comm", RecordingComm)
    made = HeadView(load_model().attend("The cat sat on the mat."), 2, 1)
    yield made
    made.close()


def asked(view: HeadView, **content: Any) -> list[tuple[dict[str, Any], list[bytes]]]:
    """The answers to one message of the page."""
    before = len(view.comm.sent)
    content = {"kind": "attnwidget-save", "id": "q1", **content}
    view._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
    return [(data["content"], buffers) for _, data, buffers in view.comm.sent[before:]]


@pytest.mark.parametrize(
    ("wish", "begins"),
    [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("html", b"<!doctype")],
)
def test_a_file_is_what_save_writes(
    view: HeadView, wish: str, begins: bytes, tmp_path: Path
) -> None:
    ((answer, (data,)),) = asked(view, format=wish)
    assert (answer["kind"], answer["id"]) == ("attnwidget-saved", "q1")
    assert answer["name"] == f"head-view.{wish}" and "error" not in answer
    assert data.startswith(begins)
    assert data == view.save(tmp_path / f"head-view.{wish}").read_bytes()


def test_the_code_is_text(view: HeadView) -> None:
    ((answer, buffers),) = asked(view, format="code")
    assert answer["text"] == view.code() and buffers == []


def test_what_goes_wrong_is_said_to_the_page(
    view: HeadView, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((answer, buffers),) = asked(view, format="gif")
    assert "'gif'" in answer["error"] and buffers == []

    def fails(*_: Any, **__: Any) -> None:
        raise ValueError("the page would be larger than 20 MB")

    monkeypatch.setattr(view, "save", fails)
    ((answer, _),) = asked(view, format="html")
    assert answer["error"] == "the page would be larger than 20 MB"


def test_other_messages_are_left_alone(view: HeadView) -> None:
    assert asked(view, kind="anywidget-command", format="svg") == []
