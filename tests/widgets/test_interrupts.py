"""Ctrl-C at any line of the code of figures: afterwards every figure follows, in every thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from attnwidget import Attention, HeadGrid, HeadView, link_figures
from fixtures.interrupts import interrupted_lines
from fixtures.recording import from_page, on_page

pytestmark = pytest.mark.usefixtures("recording")

FILES = (
    "computed.py",
    "contextlib.py",
    "head_widget.py",
    "linking.py",
    "thread_flag.py",
    "thread_lock.py",
    "thread_messages.py",
)
#: Seconds after which a thread hangs.
PATIENCE = 60


def small_attention() -> Attention:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), (2, 3, 3))
    return Attention.from_weights(weights, ["a", "b", "c"])


def in_thread(work: Any) -> None:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "a lock is taken"
    assert not errors, errors


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_linked_figures_follow_after_ctrl_c_at_any_line(step: int) -> None:
    attention = small_attention()
    grid, view = HeadGrid(attention), HeadView(attention, 0, 0)
    grid.open()
    view.open()
    link_figures(grid, view)

    def change() -> None:
        from_page(grid, {"selected": [[1, 2, "self"]]})
        view.scale = "sqrt"

    def follows(layer: int, head: int) -> None:
        from_page(grid, {"selected": [[layer, head, "self"]]})
        assert (view.head.layer, view.head.head) == (layer, head)
        sent = np.frombuffer(on_page(view, "tile")["values"]["view"], np.float32)
        np.testing.assert_allclose(sent, attention.weights(layer, head).ravel(), atol=1e-6)

    count = 0
    for place in interrupted_lines(change, FILES, step=step):
        count += 1
        try:
            follows(1, 1)
            in_thread(lambda: follows(0, 1))
            follows(0, 0)
            for scale in ("linear", "absolute"):
                view.scale = scale
                assert grid.scale == scale
            assert not view._error
        except AssertionError as error:
            raise AssertionError(f"after Ctrl-C at {place}") from error
    assert count * step > 500
