"""Locks that are released even after Ctrl-C or a fork.

Ctrl-C can raise KeyboardInterrupt between any two lines of Python, for example after the line that
takes a lock and before the block that releases it. A `with` statement that enters a C lock has no
such gap. No context manager of this package holds a lock during the block of its caller, because
`contextlib` is written in Python. A notebook stores the exception and all frames, so a generator in
one of the frames would keep the lock.

A forked process has only the thread that forked, but the locks of all threads. The new process
resets the locks of the other threads, because no thread would ever release them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

Value = TypeVar("Value")

if TYPE_CHECKING:

    class RLock:
        """Type of `threading.RLock()`, which type checkers treat as a final class."""

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
        def release(self) -> None: ...
        def __enter__(self) -> bool: ...
        def __exit__(self, *_: object) -> None: ...
        def _is_owned(self) -> bool: ...
        def _at_fork_reinit(self) -> None: ...

else:
    RLock = type(threading.RLock())

_locks: weakref.WeakSet[ThreadLock] = weakref.WeakSet()


class ThreadLock(RLock):
    """A reentrant lock that a forked process can take even if another thread held it.

    Example:
        >>> from attnwidget.text.thread_lock import ThreadLock
        >>> lock = ThreadLock()
        >>> with lock:
        ...     lock.is_mine
        True
        >>> lock.hold(lambda: 3), lock.is_mine
        (3, False)
    """

    def __init__(self) -> None:
        super().__init__()
        _locks.add(self)

    @property
    def is_mine(self) -> bool:
        """Whether this thread holds the lock."""
        return self._is_owned()

    def hold(self, run: Callable[[], Value]) -> Value:
        """Return the result of a function that runs while this thread holds the lock.

        The `with` statement and its block are on one line, because tests interrupt every line, and
        a separate `with` line would be traced a second time before the release.

        Args:
            run: Function without arguments.
        """
        with self: return run()  # fmt: skip # noqa: E701

    def renew(self) -> None:
        """Release the lock in a forked process, unless the thread that forked holds it."""
        if not self.is_mine:
            self._at_fork_reinit()


class _Thread(threading.local):
    """Identity of each thread."""

    def __init__(self) -> None:
        self.identity = object()


_thread = _Thread()


def this_thread() -> object:
    """Return an object that identifies this thread, because `threading.get_ident` reuses numbers.

    Example:
        >>> from attnwidget.text.thread_lock import this_thread
        >>> this_thread() is this_thread()
        True
    """
    return _thread.identity


def _renew_locks() -> None:
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
