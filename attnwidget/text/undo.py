"""Steps that end a block, also if Ctrl-C comes between any two lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def undone(undo: Callable[[], object]) -> Iterator[None]:
    """Call a function at the end of the block.

    `undo` runs twice, because Ctrl-C may come before or in its first run. The second run must
    change nothing. The block may end early, so `undo` must accept that steps were not done.

    Args:
        undo: Function without arguments that undoes what the block has done.

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
