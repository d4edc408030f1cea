"""Progress bars of long work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm as bar_of_host
from tqdm.std import tqdm

from attnwidget.corpus.notebook_outputs import in_notebook

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

#: Called with the number of inputs that are read, and with their number where it is known. A
#: KeyboardInterrupt that it raises ends the work as Ctrl-C does.
OnProgress = Callable[[int, int | None], None]

#: Seconds of work after which a notebook shows progress.
_PATIENCE = 0.2
_label: ContextVar[str] = ContextVar("attnwidget_progress_label", default="")


class _Line:
    """A line of a cell's output, to which a progress bar writes as to a terminal.

    tqdm's own bar for notebooks is a widget, and a reopened notebook would show an error.
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


class _Calling(tqdm):  # type: ignore[type-arg]
    """A progress bar that calls a function in place of writing."""

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
        unit: Name of an input.
        done: Number of inputs that are read already.
        shown: Whether the bar is written; or a function that is called in place of this.
        delay: Seconds of work before the bar is written.

    Example:
        >>> from attnwidget.corpus.progress_bar import progress_bar
        >>> with progress_bar(2, "segment", shown=print) as bar:
        ...     _ = bar.update()
        0 2
        1 2
    """
    if callable(shown):
        return _Calling(total, done, shown)
    how: dict[str, Any] = {"total": total, "initial": done, "unit": unit, "disable": not shown}
    how["delay"] = delay
    how["desc"] = _label.get() or None
    return tqdm(**how, file=_Line()) if shown and in_notebook() else bar_of_host(**how)


@contextmanager
def said_when_slow(text: str) -> Iterator[None]:
    """Report progress in a notebook until the work is done, unless the work takes only an instant.

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
        # The lock, instead of a join, because the thread of a cancelled timer takes time to end.
        with lock:
            done = True
        if said:
            line.write("")
