"""The lock of a model: requests of users go before background work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Value = TypeVar("Value")


class PassInterrupted(BaseException):
    """A pass of background work ended early: a user waits for the model, or the work is dropped.

    No `except Exception` of other code takes the interruption for a fault of the model.
    """


class _Thread(threading.local):
    """What a thread does.

    Attributes:
        is_background: Whether the thread does background work.
        is_dropped: Function that says whether the background work is no longer needed.
        can_be_interrupted: Whether the pass that runs can end early and run again.
        held: The locks that the thread holds.
    """

    is_background = False
    can_be_interrupted = False

    def __init__(self) -> None:
        self.is_dropped: Callable[[], bool] = lambda: False
        self.held: list[ModelLock] = []


_thread = _Thread()


class ModelLock:
    """A reentrant lock that users get in the order of their requests, and background work last.

    Background work is what a thread does in a block of `background_work`; all other threads work
    for users.

    Example:
        >>> from attnwidget.capture.model_lock import ModelLock
        >>> lock = ModelLock()
        >>> with lock, lock:
        ...     lock.is_wanted
        False
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._owner: int | None = None
        self._depth = 0
        # The requests of users that wait, in their order.
        self._users: deque[object] = deque()

    @property
    def is_wanted(self) -> bool:
        """Whether a user waits for the lock."""
        return bool(self._users)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock, as `threading.RLock.acquire`."""
        me = threading.get_ident()
        if self._owner == me:
            self._depth += 1
            return True
        request = object()

        def is_free() -> bool:
            return self._owner is None and (not self._users or self._users[0] is request)

        with self._changed:
            if not is_free():
                if not blocking:
                    return False
                if not _thread.is_background:
                    self._users.append(request)
                try:
                    is_mine = self._changed.wait_for(is_free, None if timeout < 0 else timeout)
                finally:
                    if request in self._users:
                        self._users.remove(request)
                        # The next request may take the lock if this request was given up.
                        self._changed.notify_all()
                if not is_mine:
                    return False
            self._owner = me
            self._depth = 1
        _thread.held.append(self)
        return True

    def release(self) -> None:
        """Return the lock, as `threading.RLock.release`.

        Raises:
            RuntimeError: This thread does not hold the lock.
        """
        if self._owner != threading.get_ident():
            raise RuntimeError("cannot release a lock of a model that this thread does not hold")
        self._depth -= 1
        if not self._depth:
            self._let_go()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _let_go(self) -> None:
        _thread.held.remove(self)
        with self._changed:
            self._owner = None
            self._changed.notify_all()

    def _give_way(self) -> None:
        """Return the lock to users who wait, and take it again after them."""
        depth = self._depth
        self._depth = 0
        self._let_go()
        self.acquire()
        self._depth = depth


@contextmanager
def background_work(is_dropped: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Do the work of the block in the background: users get the locks of models first.

    Args:
        is_dropped: Function that says whether the work is no longer needed. A pass that can be
            interrupted then ends at the next layer.

    Raises:
        PassInterrupted: The work was dropped during a pass.

    Example:
        >>> from attnwidget.capture.model_lock import background_work, give_way
        >>> with background_work():
        ...     give_way()
    """
    before = _thread.is_background, _thread.is_dropped
    _thread.is_background, _thread.is_dropped = True, is_dropped
    try:
        yield
    finally:
        _thread.is_background, _thread.is_dropped = before


def give_way() -> None:
    """Let users have the models that this thread holds, if it does background work.

    Call it between two passes. Edits and taps of this thread stay as they are, because they act in
    this thread only.
    """
    if _thread.is_background:
        for lock in tuple(_thread.held):
            if lock.is_wanted:
                lock._give_way()


def stop_if_wanted() -> None:
    """End a pass of background work at this layer, if a user waits or the work is dropped.

    Raises:
        PassInterrupted: So it is, and the pass runs in `uninterrupted`.
    """
    if _thread.can_be_interrupted and _thread.is_background:
        is_wanted = any(lock.is_wanted for lock in _thread.held)
        if is_wanted or _thread.is_dropped():
            raise PassInterrupted


def uninterrupted(run: Callable[[], Value]) -> Value:
    """Return the result of a pass; background work runs it again after each request of a user.

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
        before = _thread.can_be_interrupted
        _thread.can_be_interrupted = True
        try:
            return run()
        except PassInterrupted:
            if _thread.is_dropped():
                raise
        finally:
            _thread.can_be_interrupted = before
