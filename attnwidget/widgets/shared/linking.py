"""Widgets that follow each other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from attnwidget.widgets.shared.circle import circle_of, tie, untie
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.widgets.shared.linked_traits import SHARED, fitting
from attnwidget.widgets.shared.relation_choice import RelationChoice

#: Times that a value is given anew while other threads change it.
_ROUNDS = 10


class Link:
    """Widgets that follow each other until `unlink()`; also a context manager."""

    def __init__(self, widgets: Sequence[HeadWidget], names: Sequence[str]) -> None:
        self.widgets = tuple(widgets)
        self.names = tuple(names)
        # Of each thread: what one gives is no reason to drop what another one changes meanwhile.
        self._giving = threading.local()
        with ExitStack() as held:
            for widget in self.widgets:
                held.enter_context(widget.hold_sync())
            for name in self.names:
                self._begin(name)
        for widget in self.widgets:
            widget.observe(self._follow, names=list(filter(widget.has_trait, self.names)))
        tie(self)

    def _begin(self, name: str) -> None:
        """Give all what the first has, or, of a trait that it lacks, what it is linked to."""
        for widget in self.widgets:
            of = next((one for one in circle_of(widget, name) if one._takes(name)), None)
            # An empty selection is nothing to start from: another's is better.
            if of is not None and (of.selected or name not in ("selected", "layer")):
                self._give(widget, name, getattr(of, name))
                return

    def _follow(self, change: Any) -> None:
        owner, name = change["owner"], change["name"]
        # What it would not take from others is of its own, and nothing for them.
        if owner._takes(name):
            self._give(owner, name, getattr(owner, name))

    def _give(self, source: HeadWidget, name: str, value: Any) -> None:
        """Give all but one widget a value; those that lack the trait give it to their own links."""
        # A target's own observers answer (layer moves its selection): no news to bring back.
        if getattr(self._giving, "now", False) or name not in self.names:
            return
        self._giving.now = True
        try:
            for _ in range(_ROUNDS):
                for widget in self.widgets:
                    if widget is source:
                        continue
                    if widget._takes(name):
                        setattr(widget, name, _fitting(widget, name, value))
                    else:
                        for other in widget._ties:
                            other._give(widget, name, value)
                # Who writes last looks last: two threads that gave at once end in one value.
                if source._takes(name):
                    value = getattr(source, name)
                if self._all_have(name, value):
                    return
        finally:
            self._giving.now = False

    def _all_have(self, name: str, value: Any) -> bool:
        return all(
            getattr(widget, name) == _fitting(widget, name, value)
            for widget in self.widgets
            if widget._takes(name)
        )

    def unlink(self) -> None:
        """Let them go their own ways."""
        for widget in self.widgets:
            widget.unobserve(self._follow, names=list(filter(widget.has_trait, self.names)))
        untie(self)

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *exc: object) -> None:
        self.unlink()


def _fitting(widget: HeadWidget, name: str, value: Any) -> Any:
    chooses = isinstance(widget, RelationChoice) and name == "relation"
    relations = widget._relations() if chooses else None
    shapes = widget._shapes()
    layers = {stack: widget._layers(stack) for stack in shapes}
    return fitting(name, value, shapes, relations, layers)


def link(*widgets: HeadWidget, names: Sequence[str] | None = None) -> Link:
    """Link widgets: what is selected, stepped, locked, hidden or scaled in one is so in all.

    All start from the first one's state; where it has no head selected, they take the selection of
    the next one that has. `names` are the traits to link, by default all of the shared ones; a
    relation or a direction goes on through a widget that has none, such as a grid. Widgets of
    different models can be linked; a head that the other model lacks is left out there, and for a
    relation that the other has no word of it shows all. `unlink()` of what is returned lets all of
    them go. Raises TypeError for fewer than two widgets and for anything but widgets of this
    package, ValueError for a trait that one lacks. For single traits and for pages without a
    kernel, `ipywidgets.link` and `ipywidgets.jslink` work as well.

    Example:
        >>> from attnwidget import HeadGrid, HeadView, link, load_model
        >>> attention = load_model().attend("The cat sat on the mat.")
        >>> grid, view = HeadGrid(attention), HeadView(attention)
        >>> both = link(grid, view)
        >>> grid.selected = [(2, 4)]
        >>> str(view.head)
        'L2 H4'
    """
    for widget in widgets:
        if not isinstance(widget, HeadWidget):
            raise TypeError(f"link takes attnwidget widgets, got {type(widget).__name__}")
    if len(widgets) < 2:
        raise TypeError(f"link takes two widgets or more, got {len(widgets)}")
    for name in names or ():
        for widget in widgets:
            if not widget.has_trait(name):
                shared = [one for one in SHARED if all(w.has_trait(one) for w in widgets)]
                raise ValueError(
                    f"{type(widget).__name__} has no trait {name!r}; all have {', '.join(shared)}"
                )
    return Link(widgets, SHARED if names is None else names)
