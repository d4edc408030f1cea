"""Background jobs of a widget, which run in one separate thread."""

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

#: Seconds between two checks whether the jobs are done, in `wait`.
_LOOK = 0.01
#: Maximum time for the last step when the interpreter ends, in seconds.
_LAST_STEP = 20.0
#: Threads that are running jobs.
_running: dict[threading.Thread, Background] = {}

#: Job that does a part of its work between two `yield`s. It yields None, or a function that changes
#: widgets.
Job = Iterator[Callable[[], None] | None]


class _Call:
    """Call of a job's function that changes widgets, and its exception."""

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
    """Named background jobs with priorities: before each step, the most urgent job is chosen.

    Jobs compute in a thread. The functions that they yield open and change widgets. If the host has
    a session for each page, these functions run in the session of the page, because other threads
    cannot open widgets (see `page_session`).

    Jobs run after `start()` or `wait()`. After `pause()`, they wait for another `start()` or
    `wait()`. The thread ends after its last job, because an idle thread would hold memory, and a
    later job starts a new thread (except in marimo). A job with the name of an unfinished job
    replaces it and its exception. An exception ends its job, and `wait()` raises it.

    Args:
        order: Names of all jobs, the most urgent first.
        failed: Function that receives the name of a failed job and its exception, and may change
            widgets.
        is_asked: Whether a user waits for the jobs. Other jobs let requests of users go first:
            between two forward passes, and in the middle of a pass that can be repeated.

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
        # Enter the lock and not the condition: Ctrl-C may leave a condition acquired.
        self._lock = ThreadLock()
        self._changed = threading.Condition(cast("Any", self._lock))
        self._started = False
        self._paused = False
        self._closed = False
        self._session: PageSession | None = current_session()
        self._calls: deque[_Call] = deque()
        # Latest thread, and whether it also takes the next job.
        self._thread: threading.Thread | None = None
        self._is_working = False
        # In marimo, a thread that is made while marimo handles a message belongs to no cell and
        # cannot open widgets. The cell that makes the widget therefore makes the only thread, which
        # waits for all later jobs.
        self._thread_of_cell = _thread_of_cell(self._work)

    def add(self, name: str, job: Job, *, delay: float = 0.0) -> None:
        """Add a job, which replaces an unfinished job of the same name.

        Args:
            name: Name of the job.
            job: Work of the job.
            delay: Seconds until the job may start.

        Raises:
            ValueError: If there is no such name.
        """
        if name not in self._order:
            raise ValueError(f"a job must be one of {', '.join(self._order)}, got {name!r}")
        with self._lock:
            self._errors.pop(name, None)
            self._jobs[name] = job
            self._due[name] = time.monotonic() + delay
            self._changed.notify_all()
            self._begin()

    def remove(self, name: str) -> None:
        """Drop an unfinished job, and the exception of the last job with this name."""
        with self._lock:
            self._errors.pop(name, None)
            if name in self._jobs:
                # Add an empty job, so that `wait` returns after the current step.
                self.add(name, iter(()))

    def start(self) -> None:
        """Start the jobs, or continue after a pause."""
        # A widget may be made before the host has a session for its page.
        self._session = current_session() or self._session
        with self._lock:
            self._started = True
            self._paused = False
            self._begin()

    def pause(self) -> None:
        """Stop after the current step; the remaining work waits for `start` or `wait`."""
        with self._lock:
            self._paused = True
            self._changed.notify_all()

    def _begin(self) -> None:
        """Start a thread for the jobs, unless there is one or the jobs may not run now."""
        has_thread = self._is_working and self._thread is not None and self._thread.is_alive()
        if self._is_working and not has_thread:
            # A forked process does not have its parent's threads, so a running job cannot continue.
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
        """Start the jobs and wait until all jobs are done.

        A forked process does not finish a job that its parent was computing.

        Args:
            timeout: Time limit in seconds; None = no limit.

        Returns:
            False if the time limit was reached, otherwise True.

        Raises:
            Exception: If a job has raised an exception.
        """
        self.start()
        limit = None if timeout is None else time.monotonic() + timeout
        while True:
            # If this thread belongs to the session, it must make the pending calls itself.
            if self._session is not None and self._session.is_here:
                self._make_calls()
            with self._lock:
                if not self._jobs or self._closed:
                    for error in self._errors.values():
                        raise error
                    return True
            if limit is not None and time.monotonic() > limit:
                return False
            # Sleep instead of waiting for a lock, because Ctrl-C can interrupt a sleep safely.
            time.sleep(_LOOK)

    @property
    def started(self) -> bool:
        """True after the first `start` or `wait`."""
        return self._started

    @property
    def closed(self) -> bool:
        """True after `close`; a current step may still be running."""
        return self._closed

    def close(self) -> None:
        """Stop after the current step and drop all remaining jobs."""
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
        while (next_job := self._next()) is not None:
            name, job = next_job
            error: Exception | None = None
            try:
                change = self._step(name, job)
                if change is not None:
                    self.call(change)
                continue
            except (StopIteration, PassInterrupted):
                pass
            except Exception as raised:
                error = raised
            with self._lock:
                # Ignore errors of jobs that have been replaced.
                must_report = error is not None and self._jobs.get(name) is job and not self._closed
            if error is not None and must_report:
                try:
                    self.call(partial(self._failed, name, error))
                except Exception as failure:
                    error = failure
            with self._lock:
                if self._jobs.get(name) is job:
                    del self._jobs[name]
                    if error is not None:
                        self._errors[name] = error
                self._changed.notify_all()

    def _step(self, name: str, job: Job) -> Callable[[], None] | None:
        """Compute the next part of a job, and return the function that changes widgets.

        The function does not run as background work, because it holds a figure's lock, for which
        users wait.

        Raises:
            StopIteration: If the job has ended.
            PassInterrupted: If the job was removed or replaced.
        """
        if self._is_asked:
            return next(job)
        with background_work(lambda: self._jobs.get(name) is not job):
            return next(job)

    def call(self, function: Callable[[], None]) -> None:
        """Call a function that changes widgets, in the session of the page if there is one.

        A job calls it for results in the middle of a step, for example while edits of a model are
        open: these act in one thread, and another step may run in another thread.
        """
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
            # A session that has ended never makes the call, but then the widget is closed.
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
        """Wait for the most urgent job and return it; None = the thread must end."""
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
            # Jobs that are added from now on need another thread.
            self._is_working = False
            return None


@atexit.register
def _end() -> None:
    """End all jobs before the interpreter ends: a thread inside torch would abort the process."""
    running = dict(_running)
    for background in running.values():
        background.close()
    for thread in running:
        thread.join(_LAST_STEP)


def _thread_of_cell(target: Callable[[], None]) -> threading.Thread | None:
    """Return a marimo thread, which knows the page of the running cell; None in other hosts."""
    marimo = sys.modules.get("marimo")
    if marimo is None or not marimo.running_in_notebook():
        return None
    thread: threading.Thread = marimo.Thread(target=target)
    thread.daemon = True
    return thread
