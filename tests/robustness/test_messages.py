"""Messages that made a figure fall, or changed what only the kernel computes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import comm
import ipywidgets
import pytest
import traitlets

from attnwidget.widgets.shared.head_widget import HeadWidget
from fixtures.recording import RecordingComm, from_page, updates
from refusals import naming
from robustness.page_messages import message_of, shown, widgets


@pytest.fixture(scope="module")
def made() -> Iterator[dict[str, HeadWidget]]:
    patch = pytest.MonkeyPatch()
    patch.setattr(comm, "create_comm", RecordingComm)
    yield widgets()
    ipywidgets.Widget.close_all()
    patch.undo()


@pytest.mark.parametrize(
    ("name", "trait", "value"),
    [
        ("grid", "_thumbnails", {"shape": [1], "dtype": "<f4"}),
        ("grid", "_error", "<b>all is lost</b>"),
        ("view", "_tile", None),
        ("view", "_axes", {}),
        ("view", "_stacks", []),
        ("view", "_esm", "alert(1)"),
        ("coreference", "_source", {}),
        ("arcs", "_drawn", 7),
        ("explorer", "progress", {"why": 0.5}),
        ("explorer", "grid", None),
        ("explorer", "_shown", {"text": "another"}),
    ],
)
def test_what_the_kernel_computes_goes_back_to_the_page(
    made: dict[str, HeadWidget], name: str, trait: str, value: Any
) -> None:
    widget = made[name]
    before = shown(made[name])
    widget.comm.sent.clear()
    from_page(widget, {trait: value})
    assert shown(widget) == before
    assert any(trait in state for state, _ in updates(widget))


@pytest.mark.parametrize(
    ("name", "trait", "value"),
    [
        ("view", "selected", [{"a": 1, "b": 2}]),
        ("view", "hidden", 3),
        ("view", "hidden", {"cls": 1}),
        ("view", "tokens", [["query", float("inf")]]),
        ("view", "tokens", [["query", 2.7]]),
        ("explorer", "example", []),
        ("arcs", "_jump", {"": []}),
        ("arcs", "_jump", {"outcome": "neither", "step": 1, "n": 1}),
        ("coreference", "_jump", {"outcome": "right", "step": 10**30, "n": 1}),
    ],
)
def test_what_no_option_can_be_is_refused(
    made: dict[str, HeadWidget], name: str, trait: str, value: Any
) -> None:
    widget = made[name]
    before = shown(made[name])
    widget.comm.sent.clear()
    with pytest.raises(traitlets.TraitError, match=trait):
        widget.set_state({trait: value})
    assert shown(widget) == before
    assert any(trait in state for state, _ in updates(widget)), "the page is not told"


def test_what_a_refused_message_sets_to_an_equal_value_is_set_back(
    made: dict[str, HeadWidget],
) -> None:
    view = made["view"]
    before = shown(made["view"])
    with pytest.raises(traitlets.TraitError, match=naming("'unit'", "'letters'")):
        view.set_state({"layer": bool(view.layer), "unit": "letters"})
    assert shown(view) == before


@pytest.mark.parametrize("paths", [[["layer"]], [["no such"]], [[]], ["x"], 7])
def test_bytes_are_refused(
    made: dict[str, HeadWidget], paths: Any, caplog: pytest.LogCaptureFixture
) -> None:
    view = made["view"]
    before = shown(made["view"])
    view.log.addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.WARNING):
            view._handle_msg(message_of({"layer": None}, paths, [memoryview(b"ab")]))
    finally:
        view.log.removeHandler(caplog.handler)
    assert "HeadView takes no binary values" in caplog.text and shown(view) == before
