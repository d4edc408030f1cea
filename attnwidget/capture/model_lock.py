"""The lock of a model, which serves user requests before background work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar, cast

from attnwidget.text.thread_flag import ThreadFlag
from attnwidget.text.thread_lock import ThreadLock

Value = TypeVar("Value")

#: Seconds that background work sleeps, so that a waiting user can take the lock.
_PAUSE = 0.001


class PassInterrupted(BaseException):
    """A pass of background work ended early: a user waits for the model, or the work is dropped.

    This is a BaseException, so that `except Exception` elsewhere does not treat the interruption as
    an error of the model.
    """


class _Thread(threading.local):
    """State of background work in a thread.

    Attributes:
        is_background: Whether the thread does background work.
        is_dropped: Function that returns whether the background work is no longer needed.
        held: Locks that the background work holds.
    """

    is_background = False

    def __init__(self) -> None:
        self.is_dropped: Callable[[], bool] = lambda: False
        self.held: list[ModelLock] = []


_thread = _Thread()
# Whether the current pass can end early and run again.
_interruptible = ThreadFlag()


class ModelLock(ThreadLock):
    """A reentrant lock that users get before background work.

    Background work is what a thread does in a `background_work` block; all other threads work for
    users. The lock itself is written in C, so Ctrl-C never leaves it locked. Priority is managed
    next to the lock: users wait in a queue, and background work checks the queue.

    Example:
        >>> from attnwidget.capture.model_lock import ModelLock
        >>> lock = ModelLock()
        >>> with lock.in_turn(), lock.in_turn():
        ...     lock.is_mine
        True
    """

    def __init__(self) -> None:
        super().__init__()
        # Lock held by the user who gets the model next.
        self._line = threading.Lock()
        # Latest request of a user, and latest request to which background work has given way.
        self._latest: object = None
        self._passed: object = None

    def renew(self) -> None:
        """Release the lock in a forked process, unless the thread that forked holds it."""
        super().renew()
        self._line = threading.Lock()

    @property
    def is_wanted(self) -> bool:
        """Whether a user waits for this lock, which background work of this thread holds."""
        return self._line.locked() or self._latest is not self._passed

    def in_turn(self) -> AbstractContextManager[bool]:
        """Return the lock for a `with` statement, after earlier requests.

        Background work waits until no user waits.
        """
        if not self.is_mine:
            if _thread.is_background:
                return _BackgroundHold(self)
            self._wait_in_line()
            # The user has left the queue, but may not have the lock yet.
            self._latest = object()
        return self

    def _wait_in_line(self) -> None:
        # Keep this on one line: Ctrl-C may arrive at the second line event of a longer block, after
        # its body and before its end.
        with self._line, self: pass  # fmt: skip # noqa: E701


class _BackgroundHold:
    """A block in which background work holds the lock of a model, after all users."""

    def __init__(self, lock: ModelLock) -> None:
        self._lock = lock

    def __enter__(self) -> bool:
        lock = self._lock
        while True:
            latest = lock._latest
            if latest is not lock._passed:
                time.sleep(_PAUSE)
            lock.acquire()
            lock._passed = latest
            if not lock.is_wanted:
                break
            lock.release()
            time.sleep(_PAUSE)
        _thread.held.append(lock)
        return True

    def __exit__(self, *_: object) -> None:
        _thread.held.remove(self._lock)
        self._lock.release()


@contextmanager
def background_work(is_dropped: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Run the block as background work: users get model locks first.

    Args:
        is_dropped: Function that returns whether the work is no longer needed. A pass that can be
            interrupted then ends at the next layer.

    Raises:
        PassInterrupted: The work was dropped during a pass.

    Example:
        >>> from attnwidget.capture.model_lock import background_work, give_way
        >>> with background_work():
        ...     give_way()
    """
    previous = _thread.is_background, _thread.is_dropped
    try:
        _thread.is_background, _thread.is_dropped = True, is_dropped
        yield
    finally:
        _thread.is_background, _thread.is_dropped = previous


def give_way() -> None:
    """Let users have the models that this thread holds, if the thread does background work.

    Call it between two passes. Edits and taps of this thread stay as they are, because they act in
    this thread only.
    """
    if _thread.is_background:
        for lock in tuple(_thread.held):
            while lock.is_wanted:
                latest = lock._latest
                # A condition can release a lock that is held several times.
                threading.Condition(cast("Any", lock)).wait(_PAUSE)
                lock._passed = latest


def stop_if_wanted() -> None:
    """End a pass of background work at this layer, if a user waits or the work is dropped.

    Raises:
        PassInterrupted: A user waits or the work is dropped, and the pass runs in `uninterrupted`.
    """
    if _thread.is_background and _interruptible.is_up:
        is_wanted = any(lock.is_wanted for lock in _thread.held)
        if is_wanted or _thread.is_dropped():
            raise PassInterrupted


def uninterrupted(run: Callable[[], Value]) -> Value:
    """Return the result of a pass; background work repeats it after each user request.

    Args:
        run: Function that runs a pass, which may end at any layer with `PassInterrupted`.

    Raises:
        PassInterrupted: The background work was dropped.

    Example:
        >>> from attnwidget.capture.model_lock import uninterrupted
        >>> uninterrupted(lambda: 3)
        3
    """
    while True:
        give_way()
        try:
            with _interruptible.raised():
                return run()
        except PassInterrupted:
            if _thread.is_dropped():
                raise
