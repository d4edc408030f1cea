"""Long work of one widget: steps in one thread beside the notebook's."""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

from attnwidget.capture.model_lock import PassInterrupted, background_work
from attnwidget.text.thread_lock import ThreadLock
from attnwidget.widgets.shared.page_session import PageSession, current_session

#: Seconds between two looks at jobs that somebody waits for.
_LOOK = 0.01
#: Seconds that the last step has when the interpreter ends.
_LAST_STEP = 20.0
#: The threads that do jobs now.
_running: dict[threading.Thread, Background] = {}

#: A job computes a part of its work between one `yield` and the next. It yields None, or a function
#: that changes widgets.
Job = Iterator[Callable[[], None] | None]


class _Call:
    """A function of a job that changes widgets, and its exception."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self.error: Exception | None = None
        self.done = False

    def run(self) -> None:
        try:
            self._function()
        except Exception as error:
            self.error = error
        self.done = True


class Background:
    """Jobs by name, in the given `order`; a job gives way to earlier jobs before each of its steps.

    A job computes in the thread. The functions that it yields open and change widgets. If the host
    keeps a session for each page, these functions run in the session of the page, because other
    threads cannot open widgets (see `page_session`).

    Nothing runs before `start()` or `wait()`. After `pause()`, work waits for another `start()` or
    `wait()`. The thread ends with its last job, and a later job gets a new thread (not in marimo):
    an idle thread keeps memory that the process cannot use elsewhere. A job added under the name of
    an unfinished one takes its place, also of its exception. An exception ends its job and is kept
    for `wait()`.

    Args:
        order: the names of all jobs, the most urgent first.
        failed: called with the name of a job and its exception, where widgets can be changed.
        is_asked: whether a reader waits for the jobs. Other jobs leave the models to readers:
            between two passes, and in the middle of a pass that can run again.

    Example:
        >>> from attnwidget.widgets.shared.background import Background
        >>> done = []
        >>> def job():
        ...     done.append("computed")
        ...     yield lambda: done.append("shown")
        >>> background = Background(["text"], failed=lambda name, error: None)
        >>> background.add("text", job())
        >>> background.wait()
        True
        >>> background.close()
        >>> done
        ['computed', 'shown']
    """

    def __init__(
        self,
        order: Sequence[str],
        failed: Callable[[str, Exception], None],
        *,
        is_asked: bool = False,
    ) -> None:
        self._order = list(order)
        self._is_asked = is_asked
        self._failed = failed
        self._jobs: dict[str, Job] = {}
        self._due: dict[str, float] = {}
        self._errors: dict[str, Exception] = {}
        # A block enters the lock, because Ctrl-C may leave a condition taken that it enters.
        self._lock = ThreadLock()
        self._changed = threading.Condition(cast("Any", self._lock))
        self._started = False
        self._paused = False
        self._closed = False
        self._session: PageSession | None = current_session()
        self._calls: deque[_Call] = deque()
        # The latest thread, and whether it takes the next job too.
        self._thread: threading.Thread | None = None
        self._is_working = False
        # What marimo makes while it handles a message belongs to no cell, and may open no widget.
        # So the cell that makes the widget makes the only thread, which waits for all later jobs.
        self._thread_of_cell = _thread_of_cell(self._work)

    def add(self, name: str, job: Job, *, delay: float = 0.0) -> None:
        """Do a job in `delay` seconds, in place of an unfinished one of that name.

        Raises:
            ValueError: no such name.
        """
        if name not in self._order:
            raise ValueError(f"a job is one of {', '.join(self._order)}, got {name!r}")
        with self._lock:
            self._errors.pop(name, None)
            self._jobs[name] = job
            self._due[name] = time.monotonic() + delay
            self._changed.notify_all()
            self._begin()

    def remove(self, name: str) -> None:
        """Drop an unfinished job of that name, and the exception of the last one."""
        with self._lock:
            self._errors.pop(name, None)
            if name in self._jobs:
                # An empty job, so that `wait` returns after the step that runs.
                self.add(name, iter(()))

    def start(self) -> None:
        """Begin, or go on after a pause."""
        # A widget may be made before its host has a session for the page.
        self._session = current_session() or self._session
        with self._lock:
            self._started = True
            self._paused = False
            self._begin()

    def pause(self) -> None:
        """Stop after the step that runs; the remaining work waits for `start` or `wait`."""
        with self._lock:
            self._paused = True
            self._changed.notify_all()

    def _begin(self) -> None:
        """Make a thread for the jobs, unless they have one or shall not be done now."""
        has_thread = self._is_working and self._thread is not None and self._thread.is_alive()
        if self._is_working and not has_thread:
            # A fork has no thread of its parent. A job that was running cannot go on.
            for name, job in list(self._jobs.items()):
                if getattr(job, "gi_running", False):
                    del self._jobs[name]
        if self._may_work and not has_thread:
            self._is_working = True
            self._thread = self._thread_of_cell or threading.Thread(
                target=self._work, name="attnwidget", daemon=True
            )
            _running[self._thread] = self
            self._thread.start()

    @property
    def _may_work(self) -> bool:
        return bool(self._jobs) and self._started and not self._paused and not self._closed

    def wait(self, timeout: float | None = None) -> bool:
        """Begin, and return when all is done; False where `timeout` seconds were not enough.

        A fork does not finish a job that its parent was computing.

        Raises:
            Exception: what a job has raised.
        """
        self.start()
        limit = None if timeout is None else time.monotonic() + timeout
        while True:
            # The thread of the session waits here, so it makes the waiting calls.
            if self._session is not None and self._session.is_here:
                self._make_calls()
            with self._lock:
                if not self._jobs or self._closed:
                    for error in self._errors.values():
                        raise error
                    return True
            if limit is not None and time.monotonic() > limit:
                return False
            # Ctrl-C ends a sleep on every system, and leaves no lock in another state.
            time.sleep(_LOOK)

    @property
    def started(self) -> bool:
        """Whether jobs are being done, or were."""
        return self._started

    @property
    def closed(self) -> bool:
        """Whether the step that still runs, if any, is the last one."""
        return self._closed

    def close(self) -> None:
        """Stop after the step that runs; what is not done is dropped."""
        with self._lock:
            self._closed = True
            self._jobs.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        try:
            self._do_all()
        finally:
            _running.pop(threading.current_thread(), None)

    def _do_all(self) -> None:
        while (waiting := self._next()) is not None:
            name, job = waiting
            error: Exception | None = None
            try:
                change = self._step(name, job)
                if change is not None:
                    self._call(change)
                continue
            except (StopIteration, PassInterrupted):
                pass
            except Exception as raised:
                error = raised
            with self._lock:
                # Ignore errors of jobs that have been replaced.
                is_news = error is not None and self._jobs.get(name) is job and not self._closed
            if error is not None and is_news:
                try:
                    self._call(partial(self._failed, name, error))
                except Exception as second:
                    error = second
            with self._lock:
                if self._jobs.get(name) is job:
                    del self._jobs[name]
                    if error is not None:
                        self._errors[name] = error
                self._changed.notify_all()

    def _step(self, name: str, job: Job) -> Callable[[], None] | None:
        """Compute the next part of a job, and return the change of widgets that follows.

        The change itself is no background work: it holds the lock of a figure, for which readers
        wait.

        Raises:
            StopIteration: The job has ended.
            PassInterrupted: The job was removed or replaced.
        """
        if self._is_asked:
            return next(job)
        with background_work(lambda: self._jobs.get(name) is not job):
            return next(job)

    def _call(self, function: Callable[[], None]) -> None:
        """Call a function that changes widgets: in the session of the page, if there is one."""
        session = self._session
        if session is None:
            function()
            return
        call = _Call(function)
        with self._lock:
            self._calls.append(call)
            self._changed.notify_all()
        session.soon(self._make_calls)
        with self._lock:
            # A session that has ended makes no call; then the widget is closed.
            self._changed.wait_for(lambda: call.done or self._closed)
        if call.error is not None:
            raise call.error

    def _make_calls(self) -> None:
        session = self._session
        assert session is not None
        while self._calls:
            call = self._calls.popleft()
            with session.entered():
                call.run()
            with self._lock:
                self._changed.notify_all()

    def _next(self) -> tuple[str, Job] | None:
        """Return the most urgent job when it is due; None ends the thread."""
        with self._lock:
            while self._may_work or (self._thread_of_cell is not None and not self._closed):
                soonest = None
                if self._may_work:
                    now = time.monotonic()
                    ready = [name for name in self._jobs if self._due[name] <= now]
                    if ready:
                        name = min(ready, key=self._order.index)
                        return name, self._jobs[name]
                    soonest = min(self._due[name] - now for name in self._jobs)
                self._changed.wait(soonest)
            # A job that is added from now on needs another thread.
            self._is_working = False
            return None


@atexit.register
def _end() -> None:
    """Let no thread be within torch when the interpreter goes: that would abort the process."""
    left = dict(_running)
    for background in left.values():
        background.close()
    for thread in left:
        thread.join(_LAST_STEP)


def _thread_of_cell(target: Callable[[], None]) -> threading.Thread | None:
    """Return a thread of marimo, which knows the page of the running cell; None in other hosts."""
    marimo = sys.modules.get("marimo")
    if marimo is None or not marimo.running_in_notebook():
        return None
    thread: threading.Thread = marimo.Thread(target=target)
    thread.daemon = True
    return thread
