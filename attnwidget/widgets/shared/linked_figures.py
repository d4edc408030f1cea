"""Circles of figures that are linked, directly or through another figure."""

from __future__ import annotations

from typing import Protocol

from attnwidget.widgets.shared.head_widget import HeadWidget


class Tie(Protocol):
    """Linked widgets, and the traits that they share."""

    widgets: tuple[HeadWidget, ...]

    def joins(self, name: str) -> bool:
        """Whether the widgets share a trait."""


def tie(tied: Tie) -> None:
    """Join widgets, and all their linked widgets, into one circle.

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
        widget.ties.append(tied)
    _name_circles(tied)


def untie(tied: Tie) -> None:
    """Take a tie between widgets away."""
    for widget in tied.widgets:
        widget.ties.remove(tied)
    _name_circles(tied)


def _name_circles(tied: Tie) -> None:
    for widget in tied.widgets:
        circle = circle_of(widget)
        # A closed widget has no name on the page.
        names = [member.model_id for member in circle if member.comm is not None]
        name = min(names) if len(names) > 1 else ""
        for one in circle:
            one._circle = name


def circle_of(widget: HeadWidget, name: str | None = None) -> list[HeadWidget]:
    """Return a widget and all widgets that are linked to it, the nearest first.

    Args:
        widget: The widget.
        name: Follow links of this trait only; None = links of any trait.
    """
    members = [widget]
    for member in members:
        ties = [tied for tied in member.ties if name is None or tied.joins(name)]
        members += dict.fromkeys(w for tied in ties for w in tied.widgets if w not in members)
    return members
