"""Heads of a large input switched off on the page: in the background, with progress, and undone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from attnwidget import (
    Attention,
    AttentionModel,
    Head,
    HeadGrid,
    HeadView,
    PredictionView,
    link_figures,
)
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.maps.layer_steps import watched_layers
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.widgets.shared import attention_widget
from fixtures.recording import from_page, on_page, updates

TEXT = "The captain told his men that he would not leave the ship."
PATIENCE = 60


@pytest.fixture
def attention(model: AttentionModel, monkeypatch: pytest.MonkeyPatch) -> Attention:
    """An attention that counts as large."""
    monkeypatch.setattr(attention_widget, "LARGE", 1)
    return model.attend(TEXT)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    read = Reading.without

    def without(self: Reading[Any], *args: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            made.reached.set()
            assert made.opened.wait(PATIENCE)
        return read(self, *args)

    monkeypatch.setattr(Reading, "without", without)
    yield made
    made.opened.set()


class Gate:
    """A place in the background where reading waits."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()


def test_the_page_is_answered_while_the_model_reads(
    recording: None, attention: Attention, gate: Gate
) -> None:
    grid = HeadGrid(attention)
    from_page(grid, {"disabled": [[1, 3, "self"]]})
    assert gate.reached.wait(PATIENCE)
    # The change has been handled, and the maps are still those of before.
    assert grid.disabled == [Head(1, 3)] and grid.attention is attention
    assert on_page(grid, "working") == "Reading the text again with 1 head off (uniform)"
    assert on_page(grid, "thumbnails")["disabled"] == []
    from_page(grid, {"selected": [[2, 2, "self"]]})
    assert grid.selected == [Head(2, 2)]
    gate.opened.set()
    assert grid._editing.wait(PATIENCE)
    assert grid.attention is attention.disabled([(1, 3)]) and on_page(grid, "working") == ""
    assert on_page(grid, "thumbnails")["disabled"] == [Head(1, 3)]
    said = [state["_working"] for state, _ in updates(grid) if "_working" in state]
    assert any("steps done, undo to cancel" in text for text in said)
    grid.close()


def test_a_newer_choice_replaces_the_older(attention: Attention, gate: Gate) -> None:
    grid = HeadGrid(attention)
    from_page(grid, {"disabled": [[1, 3, "self"]]})
    assert gate.reached.wait(PATIENCE)
    from_page(grid, {"disabled": [[2, 0, "self"]]})
    gate.opened.set()
    assert grid._editing.wait(PATIENCE)
    assert grid.attention.edits == "without L2 H0 (uniform)"
    grid.close()


def test_switching_back_on_ends_the_reading(attention: Attention, gate: Gate) -> None:
    grid = HeadGrid(attention)
    from_page(grid, {"disabled": [[1, 3, "self"]]})
    assert gate.reached.wait(PATIENCE)
    from_page(grid, {"disabled": []})
    assert on_page(grid, "working") == ""
    layers: list[int] = []
    read = AttentionModel._read_again
    with patch.object(
        AttentionModel,
        "_read_again",
        autospec=True,
        side_effect=lambda *args: (layers.append(0), read(*args))[1],
    ):
        gate.opened.set()
        assert grid._editing.wait(PATIENCE)
    assert grid.attention is attention and grid.disabled == []
    assert attention.reading is not None and not attention.reading._edited
    assert len(layers) <= 1, "the reading began at most once, and was not finished"
    grid.close()


def test_a_closed_figure_reads_no_further(attention: Attention, gate: Gate) -> None:
    grid = HeadGrid(attention)
    from_page(grid, {"disabled": [[1, 3, "self"]]})
    assert gate.reached.wait(PATIENCE)
    grid.close()
    gate.opened.set()
    grid._editing._thread.join(PATIENCE)
    assert attention.reading is not None and not attention.reading._edited


def test_linked_figures_follow_in_the_background(attention: Attention) -> None:
    grid = HeadGrid(attention)
    view = HeadView(attention, 3, 0)
    answers = PredictionView(attention, position=2)
    link_figures(grid, view, answers)
    from_page(grid, {"disabled": [[1, 3, "self"]]})
    for figure in (grid, view, answers):
        assert figure._editing.wait(PATIENCE)
    assert view.disabled == answers.disabled == [Head(1, 3)]
    assert view.attention is grid.attention is attention.disabled([(1, 3)])
    assert "without L1 H3 (uniform)" in str(answers.after)
    for figure in (grid, view, answers):
        figure.close()


def test_what_the_model_refuses_goes_back_and_is_said(attention: Attention) -> None:
    grid = HeadGrid(attention)
    view = HeadView(attention)
    link_figures(grid, view)
    with patch.object(Reading, "without", side_effect=ValueError("its values are not seen")):
        from_page(grid, {"disabled": [[4, 4, "self"]]})
        for figure in (grid, view):
            # The first figure that fails ends the work of the other one.
            with suppress(ValueError):
                figure._editing.wait(PATIENCE)
    assert grid.disabled == view.disabled == [] and grid.attention is attention
    said = {on_page(figure, "refused") for figure in (grid, view)}
    assert "its values are not seen" in said <= {"its values are not seen", ""}
    assert on_page(grid, "working") == on_page(view, "working") == ""
    grid.close()
    view.close()


def test_python_waits_for_the_maps_and_an_interrupt_undoes_the_choice(
    attention: Attention,
) -> None:
    grid = HeadGrid(attention)
    grid.disabled = [(1, 3)]
    assert grid.attention is attention.disabled([(1, 3)])
    before = grid.attention
    with (
        patch.object(Reading, "without", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        grid.disabled = [(2, 2)]
    assert grid.disabled == [Head(1, 3)] and grid.attention is before
    grid.close()


def test_a_watched_reading_drawing_and_comparison_can_be_stopped(
    model: AttentionModel,
) -> None:
    attention = model.attend(TEXT)
    off = attention.disabled([(1, 3)], "zero")
    works = {
        "reading": lambda: model.attend(TEXT),
        "drawing": lambda: draw_thumbnails(attention),
        "comparing": lambda: off.changes(attention),
    }
    for name, work in works.items():
        done: list[int] = []

        def step(done: list[int] = done) -> None:
            done.append(1)
            if len(done) == 2:
                raise InterruptedError

        with watched_layers(step), pytest.raises(InterruptedError):
            work()
        assert len(done) == 2, name
        # The model and the attention are as before.
        work()
    np.testing.assert_array_equal(model.attend(TEXT).weights(), attention.weights())
