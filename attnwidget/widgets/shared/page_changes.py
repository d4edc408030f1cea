"""Changes that a message of a page makes, in the figure of the message and in other figures.

marimo runs the cells that read a figure again after each message from the page of that figure. A
click in a figure inside an explorer, or in a linked figure, changes the explorer in Python, without
a message from the explorer's page. Cells that read `explorer.value` would therefore show the old
choice. So the explorer asks its page for a message: the page receives a number, and sends it back
as `_changes_reported`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ipywidgets.widgets import widget as open_widgets

from attnwidget.text.thread_flag import ThreadFlag


class Figure(Protocol):
    """The part of a `HeadWidget` that this module calls."""

    comm: Any

    def _parts(self) -> Iterable[Figure]:
        """Return the figures inside the figure."""

    def _ask_for_message(self) -> None:
        """Ask the page of the figure for a message."""


class _PageChanges(ThreadFlag):
    """Whether a thread handles a message of a page.

    Attributes:
        figures: The figures whose options the message has changed so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.figures: set[Figure] = set()


_page_changes = _PageChanges()


def changed_by_page() -> bool:
    """Return whether this thread handles a change of a page, also in linked figures."""
    return _page_changes.is_up


def add_changed(figure: Figure) -> None:
    """Note that an option of a figure has changed."""
    if _page_changes.is_up:
        _page_changes.figures.add(figure)


@contextmanager
def page_changes(source: Figure) -> Iterator[None]:
    """Handle a message of a page, then let marimo know of the changes in other figures.

    Args:
        source: The figure of the message, for which marimo runs cells without being asked.
    """
    if _page_changes.is_up:
        yield
        return
    # Ctrl-C may have left figures of an earlier message.
    _page_changes.figures = set()
    try:
        with _page_changes.raised():
            yield
    finally:
        changed = _page_changes.figures
        _page_changes.figures = set()
        for figure in _figures_with_readers():
            if figure is not source and not changed.isdisjoint(_with_parts(figure)):
                figure._ask_for_message()


def _figures_with_readers() -> list[Any]:
    """Return the open figures that marimo cells can depend on; no figures in other hosts."""
    if "marimo" not in sys.modules:
        return []
    return [
        widget
        for widget in list(open_widgets._instances.values())
        # marimo sets this attribute for widgets in `mo.ui.anywidget`.
        if hasattr(widget, "_ask_for_message") and getattr(widget.comm, "ui_element_id", None)
    ]


def _with_parts(figure: Figure) -> Iterator[Figure]:
    """Yield a figure and all figures inside it."""
    yield figure
    for part in figure._parts():
        yield from _with_parts(part)
