"""Per-thread flags that Ctrl-C cannot leave raised."""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class ThreadFlag(threading.local):
    """A per-thread flag that is up during a block.

    The flag is lowered at the end of the block. If Ctrl-C prevents this, the flag counts as down as
    soon as the function with the block has ended.

    Example:
        >>> from attnwidget.text.thread_flag import ThreadFlag
        >>> flag = ThreadFlag()
        >>> with flag.raised(), flag.raised():
        ...     flag.is_up
        True
        >>> flag.is_up
        False
    """

    _function: FrameType | None = None

    @property
    def is_up(self) -> bool:
        """Whether a block of this thread has raised the flag."""
        if self._function is not None and not _is_called_by(sys._getframe(), self._function):
            self._function = None
        return self._function is not None

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Raise the flag in the block; blocks may be nested."""
        if self.is_up:
            yield
            return
        function = function_with_block()
        try:
            self._function = function
            yield
        finally:
            # A block that Ctrl-C interrupted may end later, during another block.
            if self._function is function:
                self._function = None


def is_running(function: FrameType, thread: int) -> bool:
    """Return whether a call of a function has not ended.

    Args:
        function: Frame of the call.
        thread: Identifier of the thread, as returned by `threading.get_ident`.
    """
    return _is_called_by(sys._current_frames().get(thread), function)


def _is_called_by(frame: FrameType | None, function: FrameType) -> bool:
    """Return whether a frame is the frame of a function, or was called by it."""
    while frame is not None and frame is not function:
        frame = frame.f_back
    return frame is not None


def function_with_block() -> FrameType | None:
    """Return the frame whose `with` statement runs the calling context manager.

    A generator-based context manager does not run during its block, but its caller does.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_flags & inspect.CO_GENERATOR and code.co_filename != contextlib.__file__:
            return frame
        frame = frame.f_back
    return None
