"""Jobs beside a host that opens widgets in the session of a page only."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from attnwidget.widgets.shared import background as background_module
from attnwidget.widgets.shared.background import Background, Job


class OneThread:
    """A session whose thread makes the calls that it was asked for, when `turn` is called."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.asked: queue.Queue[Callable[[], None]] = queue.Queue()
        self.depth = 0

    @property
    def is_here(self) -> bool:
        return threading.get_ident() == self.thread

    @contextmanager
    def entered(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    def soon(self, function: Callable[[], None]) -> None:
        self.asked.put(function)

    def turn(self) -> None:
        self.asked.get(timeout=60)()


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> OneThread:
    session = OneThread()
    monkeypatch.setattr(
        background_module, "current_session", lambda: session if session.is_here else None
    )
    return session


def note(notes: list[tuple[str, bool, int]], session: OneThread, name: str) -> None:
    notes.append((name, session.is_here, session.depth))


def job(notes: list[tuple[str, bool, int]], session: OneThread) -> Job:
    for name in ("first", "second"):
        note(notes, session, f"compute {name}")
        yield partial(note, notes, session, f"show {name}")


EXPECTED = [
    ("compute first", False, 0),
    ("show first", True, 1),
    ("compute second", False, 0),
    ("show second", True, 1),
]


def test_a_job_computes_in_the_thread_and_shows_in_the_session(session: OneThread) -> None:
    notes: list[tuple[str, bool, int]] = []
    background = Background(["job"], failed=lambda name, error: None)
    background.add("job", job(notes, session))
    background.start()
    session.turn()
    session.turn()
    assert background.wait(60)
    background.close()
    assert notes == EXPECTED


def test_the_thread_of_the_session_makes_the_calls_while_it_waits(session: OneThread) -> None:
    notes: list[tuple[str, bool, int]] = []
    background = Background(["job"], failed=lambda name, error: None)
    background.add("job", job(notes, session))
    assert background.wait(60)
    background.close()
    assert notes == EXPECTED
    # The host makes its own calls later, and they have nothing left to do.
    session.turn()
    session.turn()
    assert notes == EXPECTED


def test_an_error_in_the_session_ends_the_job_and_is_told_there(session: OneThread) -> None:
    told: list[tuple[str, str, bool, int]] = []

    def failed(name: str, error: Exception) -> None:
        told.append((name, str(error), session.is_here, session.depth))

    def fails() -> None:
        raise ValueError("no such figure")

    def steps() -> Job:
        yield fails
        raise AssertionError("the job goes on after an error")

    background = Background(["job"], failed)
    background.add("job", steps())
    with pytest.raises(ValueError, match="no such figure"):
        background.wait(60)
    background.close()
    assert told == [("job", "no such figure", True, 1)]


def test_closing_ends_a_thread_whose_session_makes_no_calls(session: OneThread) -> None:
    notes: list[tuple[str, bool, int]] = []
    background = Background(["job"], failed=lambda name, error: None)
    background.add("job", job(notes, session))
    background.start()
    session.asked.get(timeout=60)  # the session has ended, and does not call it
    background.close()
    background._thread.join(60)
    assert not background._thread.is_alive()
    assert notes == EXPECTED[:1]


def test_a_session_that_began_after_the_widget_is_used(session: OneThread) -> None:
    notes: list[tuple[str, bool, int]] = []
    here, session.thread = session.thread, -1
    background = Background(["job"], failed=lambda name, error: None)
    session.thread = here
    background.add("job", job(notes, session))
    assert background.wait(60)
    background.close()
    assert notes == EXPECTED


def test_the_thread_ends_with_its_last_job_and_a_later_job_gets_another() -> None:
    threads: list[threading.Thread] = []

    def job() -> Job:
        threads.append(threading.current_thread())
        yield None

    background = Background(["job"], failed=lambda name, error: None)
    for _ in range(2):
        background.add("job", job())
        assert background.wait(60)
        threads[-1].join(60)
        assert not threads[-1].is_alive()
    assert threads[0] is not threads[1]
    background.close()
    background.add("job", job())
    assert background.wait(60) and len(threads) == 2


def test_work_goes_on_after_a_pause_where_it_stopped() -> None:
    steps: list[int] = []
    reached = threading.Event()
    go_on = threading.Event()

    def job() -> Job:
        for step in range(3):
            steps.append(step)
            reached.set()
            assert go_on.wait(60)
            yield None

    background = Background(["job"], failed=lambda name, error: None)
    background.add("job", job())
    background.start()
    assert reached.wait(60)
    background.pause()
    go_on.set()
    assert background._thread is not None
    background._thread.join(60)
    assert steps == [0]
    assert background.wait(60) and steps == [0, 1, 2]
    background.close()
