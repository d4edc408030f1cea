"""Progress bars for long computations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tqdm.std import tqdm

from attnwidget.corpus.notebook_outputs import in_notebook
from attnwidget.text.thread_lock import ThreadLock

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

#: Function that is called with the number of finished inputs and the total number, or None if it is
#: not known. If it raises KeyboardInterrupt, the work ends as after Ctrl-C.
OnProgress = Callable[[int, int | None], None]

#: Number of seconds after which a notebook shows progress.
_PATIENCE = 0.2
_label: ContextVar[str] = ContextVar("attnwidget_progress_label", default="")


class _Line:
    """Line in a cell output, to which a progress bar writes as to a terminal.

    tqdm's own notebook bar is a widget, for which a reopened notebook would show an error.
    """

    encoding = "utf-8"

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None

    def write(self, text: str) -> None:
        from IPython.display import DisplayHandle

        line = {"text/plain": text.strip("\r\n").rstrip()}
        if text == "\n":
            return
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(line, raw=True)
        else:
            self._handle.update(line, raw=True)

    def flush(self) -> None:
        """Do nothing, because a line is shown as soon as it is written."""


class _Bar(tqdm):  # type: ignore[type-arg]
    """Progress bar that no other process, and no interrupted thread, can block.

    tqdm's own lock is shared with all forked processes. A fork that ends while it holds this lock
    blocks every later bar of all the others, even a bar that is not shown.
    """

    _lock = ThreadLock()
    #: No thread that counts time, because a bar with `miniters=1` looks at the clock by itself.
    monitor_interval = 0

    def refresh(self, nolock: bool = False, lock_args: tuple[Any, ...] | None = None) -> None:
        if nolock:
            super().refresh(nolock=True)
        else:
            # tqdm would keep the lock if Ctrl-C interrupts the writing.
            self._lock.hold(lambda: super(_Bar, self).refresh(nolock=True))

    def clear(self, nolock: bool = False) -> None:
        if nolock:
            super().clear(nolock=True)
        else:
            self._lock.hold(lambda: super(_Bar, self).clear(nolock=True))


class _Calling(_Bar):
    """Progress bar that calls a function instead of writing."""

    def __init__(self, total: int | None, done: int, call: OnProgress) -> None:
        super().__init__(total=total, initial=done, disable=True)
        self._call = call
        call(done, total)

    def update(self, n: float | None = 1) -> bool | None:
        self.n += n or 0
        self._call(int(self.n), None if self.total is None else int(self.total))
        return None


@contextmanager
def progress_label(label: str) -> Iterator[None]:
    """Write a label before the progress bars of the block, which are one stage of longer work.

    Args:
        label: Name of the stage in a few words.

    Example:
        >>> from attnwidget.corpus.progress_bar import progress_bar, progress_label
        >>> with progress_label("effects"), progress_bar(2, "segment") as bar:
        ...     bar.desc
        'effects'
    """
    token = _label.set(label)
    try:
        yield
    finally:
        _label.reset(token)


def progress_bar(
    total: int | None,
    unit: str,
    *,
    done: int = 0,
    shown: bool | OnProgress = True,
    delay: float = 0,
) -> tqdm[Any]:
    """Return a progress bar that counts up to `total`.

    Args:
        total: Number of inputs; None if it is not known.
        unit: Noun for one input.
        done: Number of inputs that are already finished.
        shown: Whether to show the bar; or a function to call instead.
        delay: Number of seconds before the bar appears.

    Example:
        >>> from attnwidget.corpus.progress_bar import progress_bar
        >>> with progress_bar(2, "segment", shown=print) as bar:
        ...     _ = bar.update()
        0 2
        1 2
    """
    if callable(shown):
        return _Calling(total, done, shown)
    return _Bar(
        total=total,
        initial=done,
        unit=unit,
        disable=not shown,
        delay=delay,
        miniters=1,
        desc=_label.get() or None,
        file=_Line() if shown and in_notebook() else None,
    )


@contextmanager
def said_when_slow(text: str) -> Iterator[None]:
    """Show a text in a notebook until the block ends, if the block takes longer than 0.2 s.

    Args:
        text: Description of the work.

    Example:
        >>> from attnwidget.corpus.progress_bar import said_when_slow
        >>> with said_when_slow("Reading the text …"):
        ...     pass
    """
    if not in_notebook():
        yield
        return
    line = _Line()
    lock = threading.Lock()
    done = said = False

    def say() -> None:
        nonlocal said
        with lock:
            if not done:
                said = True
                line.write(text)

    timer = threading.Timer(_PATIENCE, say)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        # Use the lock instead of a join, because the thread of a canceled timer takes time to end.
        with lock:
            done = True
        if said:
            line.write("")
