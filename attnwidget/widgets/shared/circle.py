"""Which figures are linked, directly or through others: on a page they show each other's heads."""

from __future__ import annotations

from typing import Protocol

from attnwidget.widgets.shared.head_widget import HeadWidget


class Tie(Protocol):
    """Widgets that follow each other in some traits."""

    widgets: tuple[HeadWidget, ...]
    names: tuple[str, ...]


def tie(tied: Tie) -> None:
    """Widgets follow each other from now on: with all that they are linked to they are one circle.

    Example:
        >>> from attnwidget import HeadGrid, HeadView, link, load_model
        >>> attention = load_model().attend("The cat sat on the mat.")
        >>> grid, view = HeadGrid(attention), HeadView(attention)
        >>> both = link(grid, view)
        >>> grid._circle == view._circle != ""
        True
        >>> both.unlink()
        >>> grid._circle, view._circle
        ('', '')
    """
    for widget in tied.widgets:
        widget._ties.append(tied)
    _name_circles(tied)


def untie(tied: Tie) -> None:
    """Widgets that were tied no longer follow each other."""
    for widget in tied.widgets:
        widget._ties.remove(tied)
    _name_circles(tied)


def _name_circles(tied: Tie) -> None:
    for widget in tied.widgets:
        circle = circle_of(widget)
        # One that is closed has no name and shows nothing.
        names = [one.model_id for one in circle if one.comm is not None]
        name = min(names) if len(names) > 1 else ""
        for one in circle:
            one._circle = name


def circle_of(widget: HeadWidget, name: str | None = None) -> list[HeadWidget]:
    """The widget, and all that are linked to it directly or through others, the nearest first.

    Args:
        widget: one of them.
        name: the trait that is linked; None = any.
    """
    found = [widget]
    for one in found:
        ties = [tied for tied in one._ties if name is None or name in tied.names]
        found += dict.fromkeys(w for tied in ties for w in tied.widgets if w not in found)
    return found
