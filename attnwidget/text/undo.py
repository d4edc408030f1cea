"""Cleanup of a block that also runs if Ctrl-C interrupts it between two lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def undone(undo: Callable[[], object]) -> Iterator[None]:
    """Call a function at the end of the block.

    `undo` runs twice, because Ctrl-C may interrupt the first run. The second run must not change
    anything. The block may end early, so `undo` must work even if some steps were not done.

    Args:
        undo: Function without arguments that undoes the changes of the block.

    Example:
        >>> from attnwidget.text.undo import undone
        >>> names = {"model"}
        >>> with undone(lambda: names.discard("tap")):
        ...     names.add("tap")
        >>> names
        {'model'}
    """
    try:
        try:
            yield
        finally:
            undo()
    finally:
        undo()
