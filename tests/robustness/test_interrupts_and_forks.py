"""Ctrl-C at random times, and forks while another thread reads: nothing hangs afterwards."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tqdm.std import tqdm

from attnwidget import (
    AttentionModel,
    HeadGrid,
    HeadView,
    link_figures,
    load_model,
    make_segments,
    measure,
)
from attnwidget.corpus.progress_bar import progress_bar
from attnwidget.text.thread_lock import ThreadLock
from fixtures.forks import in_fork
from fixtures.recording import from_page, on_page

pytestmark = [
    pytest.mark.usefixtures("recording"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks"),
]

#: Seconds after which a process hangs.
PATIENCE = 120
TEXT = "The captain told his men that he would not leave the ship."


def ctrl_c(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model()


def test_locks_of_other_threads_are_free_in_a_fork_and_own_locks_are_held() -> None:
    theirs = ThreadLock()
    mine = ThreadLock()
    taken, end = threading.Event(), threading.Event()

    def take() -> None:
        with theirs:
            taken.set()
            end.wait(PATIENCE)

    def state_in_fork() -> str:
        in_fork_and_mine = mine.is_mine
        mine.release()
        return f"{theirs.acquire(blocking=False)} {in_fork_and_mine}"

    thread = threading.Thread(target=take)
    thread.start()
    assert taken.wait(PATIENCE)
    with mine:
        assert in_fork(state_in_fork, PATIENCE) == "True True"
        assert not theirs.acquire(blocking=False)
    end.set()
    thread.join(PATIENCE)


def test_bars_need_no_lock_of_other_processes(model: AttentionModel) -> None:
    """Processes share tqdm's own lock, and keep it when one of them ends in its midst."""
    segments = make_segments([TEXT], model)
    taken, end = threading.Event(), threading.Event()

    def take() -> None:
        with tqdm.get_lock():
            taken.set()
            end.wait(PATIENCE)

    thread = threading.Thread(target=take)
    thread.start()
    assert taken.wait(PATIENCE)
    try:
        for progress in (False, True, lambda done, total: None):
            measured: list[object] = []
            work = threading.Thread(
                target=lambda shown=progress, found=measured: found.append(
                    measure(model, segments, ["entropy"], progress=shown)
                ),
                daemon=True,
            )
            work.start()
            work.join(PATIENCE)
            assert measured, progress
    finally:
        end.set()
        thread.join(PATIENCE)


def test_a_bar_that_is_interrupted_while_it_writes_blocks_no_other_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bar = progress_bar(3, "segment")
    with monkeypatch.context() as patch:
        patch.setattr(bar, "display", ctrl_c)
        patch.setattr(bar, "sp", ctrl_c)
        for write in (bar.refresh, bar.clear):
            with pytest.raises(KeyboardInterrupt):
                write()
    bar.close()
    finished: list[int | None] = []

    def count() -> None:
        with progress_bar(2, "segment") as other:
            other.update(2)
            finished.append(other.n)

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert finished == [2]


@pytest.mark.slow
def test_a_fork_reads_and_draws_while_another_thread_reads_the_model(
    model: AttentionModel,
) -> None:
    attention = model.attend(TEXT)
    expected = attention.weights(3, 3)
    view = HeadView(attention, 1, 2)
    stopped = threading.Event()
    passes = itertools.count()
    latest = 0

    def read() -> None:
        nonlocal latest
        while not stopped.is_set():
            with model.disabled([(0, 1)]):
                model.attend(TEXT)
            latest = next(passes)

    def maps() -> str:
        np.testing.assert_array_equal(attention.weights(3, 3), expected)
        return "read"

    def attend() -> str:
        np.testing.assert_array_equal(model.attend(TEXT).weights(3, 3), expected)
        # No module keeps the hooks, or the eval mode, of the thread that does not exist here.
        assert all(
            module.training == model.hf_model.training for module in model.hf_model.modules()
        )
        return "read"

    def draw() -> str:
        assert "<svg" in view.figure().svg
        return "read"

    def figure() -> str:
        assert HeadView(attention, 2, 2)._tile["heads"] == [(2, 2, "self")]
        return "read"

    thread = threading.Thread(target=read)
    thread.start()
    try:
        while latest < 1:
            time.sleep(0.01)
        for run in (attend, maps, draw, figure, lambda: str(bool(load_model().attend(TEXT)))):
            for _ in range(3):
                assert in_fork(run, PATIENCE) in ("read", "True")
    finally:
        stopped.set()
        thread.join(PATIENCE)
    view.close()


@pytest.mark.slow
def test_nothing_hangs_after_ctrl_c_at_random_times(model: AttentionModel, tmp_path: Path) -> None:
    attention = model.attend(TEXT)
    grid, view = HeadGrid(attention), HeadView(attention, 0, 0)
    grid.open()
    view.open()
    link_figures(grid, view)
    segments = make_segments([TEXT] * 4, model)
    numbers = itertools.count()

    def click() -> None:
        for number in itertools.islice(numbers, 20):
            from_page(grid, {"selected": [[number % 6, number % 12, "self"]]})

    works: dict[str, tuple[int, Callable[[], object]]] = {
        "click": (200, click),
        "maps": (100, lambda: [attention.weights(i, j) for i in range(6) for j in range(12)]),
        "attend": (100, lambda: model.attend(TEXT)),
        "measure": (50, lambda: measure(model, segments, ["entropy"], progress=False)),
        "save": (50, lambda: grid.save(tmp_path / "grid.html")),
    }

    def follows(layer: int, head: int) -> None:
        from_page(grid, {"selected": [[layer, head, "self"]]})
        assert (view.head.layer, view.head.head) == (layer, head)
        sent = np.frombuffer(on_page(view, "tile")["values"]["view"], np.float32)
        np.testing.assert_allclose(sent, attention.weights(layer, head).ravel(), atol=1e-6)

    def interrupted(work: Callable[[], object], delay: float) -> str:
        signal.signal(signal.SIGALRM, ctrl_c)
        said = "missed"
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            work()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt as error:
            # Notebooks keep the latest exception, and with it the frames that it left.
            sys.last_value = error
            said = "interrupted"
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        for where in ("thread", "main"):
            done: list[bool] = []

            def use(done: list[bool] = done) -> None:
                work()
                follows(2, 3)
                follows(4, 5)
                done.append(True)

            if where == "main":
                use()
            else:
                thread = threading.Thread(target=use, daemon=True)
                thread.start()
                thread.join(PATIENCE / 2)
            assert done, f"the figures do not follow in the {where}"
        return said

    ends: Counter[str] = Counter()
    for name, (count, work) in works.items():
        work()
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        for seed in range(count):
            delay = max(0.0005, random.Random(seed).random() * seconds)
            ends[name, in_fork(lambda w=work, d=delay: interrupted(w, d), PATIENCE)] += 1
    assert {end for _, end in ends} <= {"interrupted", "missed"}, ends
    assert sum(n for (_, end), n in ends.items() if end == "interrupted") > 200, ends
    for figure in (grid, view):
        figure.close()
