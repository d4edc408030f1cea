"""Changes by a page message, in the figure that receives the message and in other figures.

marimo reruns the cells that read a figure after each message from the figure's page. A click in a
panel of an explorer, or in a linked figure, changes the explorer in Python without a message from
the explorer's page. Cells that read `explorer.value` would therefore keep the old choice. So the
explorer asks its page for a message: the page receives a number, and returns it as
`_changes_reported`.
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
    """Flag that is up while a thread handles a message from a page.

    Attributes:
        figures: Figures whose options the message has changed so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.figures: set[Figure] = set()


_page_changes = _PageChanges()


def changed_by_page() -> bool:
    """Return True if this thread handles a change from a page, including in linked figures."""
    return _page_changes.is_up


def add_changed(figure: Figure) -> None:
    """Record that an option of a figure has changed."""
    if _page_changes.is_up:
        _page_changes.figures.add(figure)


@contextmanager
def page_changes(source: Figure) -> Iterator[None]:
    """Handle a message from a page, then report changes in other figures to marimo.

    Args:
        source: Figure that received the message, for which marimo reruns cells anyway.
    """
    if _page_changes.is_up:
        yield
        return
    # Ctrl-C may have left figures from an earlier message.
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
    """Return the open figures that marimo cells can depend on; [] in other hosts."""
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
