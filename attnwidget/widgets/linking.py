"""Widgets that follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attnwidget.widgets.base import SHARED
from attnwidget.widgets.heads import HeadWidget
from attnwidget.widgets.relation_choice import ALL, RelationChoice


class Link:
    """Two widgets that follow each other until `unlink()`; also a context manager."""

    def __init__(self, first: HeadWidget, second: HeadWidget, names: Sequence[str]) -> None:
        self._widgets = (first, second)
        self._names = list(names)
        self._busy = False
        with second.hold_sync():
            for name in self._names:
                # An empty selection is nothing to start from: the other's is better.
                if name == "selected" and not first.selected:
                    self._copy(second, first, name)
                elif name != "layer" or first.selected:
                    self._copy(first, second, name)
        for widget in self._widgets:
            widget.observe(self._follow, names=self._names)

    def _follow(self, change: Any) -> None:
        # The target's own observers answer (layer moves its selection): no news to bring back.
        if self._busy:
            return
        source, target = (
            self._widgets if change["owner"] is self._widgets[0] else self._widgets[::-1]
        )
        self._busy = True
        try:
            self._copy(source, target, change["name"])
        finally:
            self._busy = False

    def _copy(self, source: HeadWidget, target: HeadWidget, name: str) -> None:
        value = getattr(source, name)
        if name == "selected":
            value = [head for head in value if target.has(head)]
        elif name == "layer":
            value = min(value, target.n_layers - 1)
        elif isinstance(target, RelationChoice) and name == "relation":
            value = value if target.has_relation(value) else ALL
        setattr(target, name, value)

    def unlink(self) -> None:
        """Let the two go their own ways."""
        for widget in self._widgets:
            widget.unobserve(self._follow, names=self._names)

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *exc: object) -> None:
        self.unlink()


def link(first: HeadWidget, second: HeadWidget, names: Sequence[str] | None = None) -> Link:
    """Link two widgets: what is selected, stepped, locked, hidden or scaled in one is so in both.

    `second` starts from `first`'s state; where `first` has no head selected, it takes `second`'s.
    `names` are the traits to link, by default all that both have of the shared ones. Widgets of
    different models can be linked; a head that the other model lacks is left out there, and for a
    relation that the other has no word of it shows all. Raises TypeError for anything but widgets
    of this package, ValueError for a trait that one lacks. For single traits and for pages without
    a kernel, `ipywidgets.link` and `ipywidgets.jslink` work as well.

    Example:
        >>> from attnwidget import HeadGrid, HeadView, link, load_model
        >>> attention = load_model().attend("The cat sat on the mat.")
        >>> grid, view = HeadGrid(attention), HeadView(attention)
        >>> both = link(grid, view)
        >>> grid.selected = [(2, 4)]
        >>> str(view.head)
        'L2 H4'
    """
    for widget in (first, second):
        if not isinstance(widget, HeadWidget):
            raise TypeError(f"link takes two attnwidget widgets, got {type(widget).__name__}")
    both = [name for name in SHARED if first.has_trait(name) and second.has_trait(name)]
    for name in both if names is None else names:
        for widget in (first, second):
            if not widget.has_trait(name):
                raise ValueError(
                    f"{type(widget).__name__} has no trait {name!r}; both have {', '.join(both)}"
                )
    return Link(first, second, both if names is None else names)
