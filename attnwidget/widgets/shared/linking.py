"""Links between widgets: linked widgets share their selection and other traits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any

from attnwidget.text.thread_flag import ThreadFlag
from attnwidget.widgets.shared.head_widget import HeadWidget

#: How often a value is set again while other threads change it.
_ROUNDS = 10


class _Given(ThreadFlag):
    """Whether a link gives a trait in this thread.

    Attributes:
        name: Name of the trait, while the flag is up.
    """

    name = ""


_given = _Given()


class FigureLink:
    """Linked widgets. `unlink()` ends the link; a link is also a context manager."""

    def __init__(self, widgets: Sequence[HeadWidget], traits: Sequence[str] | None = None) -> None:
        self.widgets = tuple(widgets)
        # None = all shared traits.
        self._traits = None if traits is None else tuple(traits)
        # A flag per thread, so that a thread never drops a change of a second thread.
        self._giving = ThreadFlag()
        try:
            self._begin_all()
        except BaseException:
            self.unlink()
            raise

    def _begin_all(self) -> None:
        # Observe first: another thread may change a trait while the widgets get their first values.
        for widget in self.widgets:
            widget.observe(self._follow, names=self._joined(widget))
        with ExitStack() as held:
            for widget in self.widgets:
                held.enter_context(widget.hold_sync())
            # A trait that no widget has passes from a circle to a circle.
            linked = [linked for widget in self.widgets for linked in circle_of(widget)]
            joined = dict.fromkeys(name for widget in linked for name in self._joined(widget))
            last = {name for widget in linked for name in widget.trait_names(set_last=True)}
            for name in sorted(joined, key=last.__contains__):
                self._begin(name)
        for widget in self.widgets:
            widget._ties.append(self)
        _name_circles(self.widgets)

    def __repr__(self) -> str:
        figures = ", ".join(type(widget).__name__ for widget in self.widgets)
        return f"FigureLink({figures}): they share their choices until unlink()"

    def joins(self, name: str) -> bool:
        """Whether the widgets share a trait."""
        return self._traits is None or name in self._traits

    def _joined(self, widget: HeadWidget) -> list[str]:
        """Return the traits of a widget that this link shares."""
        traits = widget.shared_traits() if self._traits is None else self._traits
        return list(filter(widget.has_trait, traits))

    def _begin(self, name: str) -> None:
        """Set a trait of all widgets to the value of the first widget.

        If the first widget lacks the trait, a widget that it is linked to has the value.
        """
        for widget in self.widgets:
            of = next((linked for linked in circle_of(widget, name) if linked._takes(name)), None)
            # If this widget has no selection, try the next widget.
            if of is not None and (of.selected or name not in ("selected", "layer")):
                self._give(widget, name, getattr(of, name))
                return

    def _follow(self, change: Any) -> None:
        owner = change["owner"]
        name = change["name"]
        # A layer moves the selection of each figure. The figures may be linked twice, and the
        # second link would give this selection to the figure whose layer has just changed.
        is_of_layer = _given.is_up and _given.name == "layer" and self.joins("layer")
        if name == "selected" and is_of_layer:
            return
        # The layer of a new selection is announced before the selection. Given alone, it would move
        # every figure to another head of this layer first.
        is_of_selection = name == "layer" and owner.head and owner.head.layer == owner.layer
        if is_of_selection and owner._takes("selected"):
            self._give(owner, "selected", owner.selected)
        # Places of tokens are of the unit, which may be announced after them.
        if name == "tokens" and owner._takes("unit"):
            self._give(owner, "unit", owner.unit)
        # A widget that does not accept a trait from linked widgets does not pass the trait on.
        if owner._takes(name):
            self._give(owner, name, getattr(owner, name))

    def _give(self, source: HeadWidget, name: str, value: Any) -> None:
        """Set a trait of all widgets but `source`.

        A widget that lacks the trait passes the value on to its other links.
        """
        # The observers of a widget change its other traits (a layer moves the selection). These
        # changes are not passed back.
        if self._giving.is_up or not self.joins(name):
            return
        with _given.raised(), self._giving.raised():
            self._give_others(source, name, value)

    def _give_others(self, source: HeadWidget, name: str, value: Any) -> None:
        outer = _given.name
        _given.name = name
        try:
            having = [widget for widget in self.widgets if widget._takes(name)]
            for _ in range(_ROUNDS):
                for widget in self.widgets:
                    if widget in having and widget is not source:
                        setattr(widget, name, widget._fitting(name, value))
                    elif widget is not source:
                        for other in widget._ties:
                            other._give(widget, name, value)
                # Look again after writing: if two threads write at once, both end with one value.
                if source in having:
                    value = getattr(source, name)
                if all(getattr(w, name) == w._fitting(name, value) for w in having):
                    return
        finally:
            _given.name = outer

    def unlink(self) -> None:
        """End the link."""
        for widget in self.widgets:
            self._release(widget)
        _name_circles(self.widgets)

    def leave(self, widget: HeadWidget) -> None:
        """Take a widget out of the link, because it is closed; the other widgets stay linked."""
        self.widgets = tuple(other for other in self.widgets if other is not widget)
        self._release(widget)
        _name_circles((widget, *self.widgets))

    def _release(self, widget: HeadWidget) -> None:
        """Stop following a widget."""
        for name in self._joined(widget):
            # A link that could not be made does not observe all traits.
            with suppress(ValueError):
                widget.unobserve(self._follow, names=name)
        if self in widget._ties:
            widget._ties.remove(self)

    def __enter__(self) -> FigureLink:
        return self

    def __exit__(self, *exc: object) -> None:
        self.unlink()


def circle_of(widget: HeadWidget, name: str | None = None) -> list[HeadWidget]:
    """Return a widget and all widgets that are linked to it, the nearest first.

    Args:
        widget: The widget.
        name: Follow links of this trait only; None = links of any trait.
    """
    members = [widget]
    for member in members:
        ties = [tie for tie in member._ties if name is None or tie.joins(name)]
        members += dict.fromkeys(w for tie in ties for w in tie.widgets if w not in members)
    return members


def _name_circles(widgets: Sequence[HeadWidget]) -> None:
    """Give every circle of linked figures a name of its own, and an unlinked figure none."""
    for widget in widgets:
        circle = circle_of(widget)
        # A closed widget has no name on the page.
        names = [member.model_id for member in circle if member.comm is not None]
        name = min(names) if len(names) > 1 else ""
        for one in circle:
            one._circle = name


def link_figures(*widgets: HeadWidget, traits: Sequence[str] | None = None) -> FigureLink:
    """Link widgets: they share the selection, layer, locked tokens, hidden tokens and scale.

    All widgets start from the state of the first widget. If it has no head selected, the selection
    comes from the next widget that has a selection. A relation or a direction passes through a
    widget without relations, such as a grid. Widgets of different models can be linked: a widget
    leaves out heads that its model lacks, and shows all relations if it lacks the chosen relation.
    For single traits, and for pages without a kernel, `ipywidgets.link` and `ipywidgets.jslink`
    work too.

    Args:
        widgets: Two or more widgets of this package.
        traits: The traits to link. None = all shared traits.

    Returns:
        The link. Its `unlink()` ends the link.

    Raises:
        TypeError: There are fewer than two widgets, or an argument is not a widget of this package.
        ValueError: A widget lacks a trait of `traits`.

    Example:
        >>> from attnwidget import HeadGrid, HeadView, link_figures, load_model
        >>> attention = load_model().attend("The cat sat on the mat.")
        >>> grid, view = HeadGrid(attention), HeadView(attention)
        >>> both = link_figures(grid, view)
        >>> grid.selected = [(2, 4)]
        >>> str(view.head)
        'L2 H4'
    """
    for widget in widgets:
        if not isinstance(widget, HeadWidget):
            raise TypeError(f"link takes attnwidget widgets, got {type(widget).__name__}")
    if len(widgets) < 2:
        raise TypeError(f"link takes two widgets or more, got {len(widgets)}")
    for name in traits or ():
        for widget in widgets:
            if not widget.has_trait(name):
                first, *others = widgets
                shared = [
                    trait
                    for trait in first.shared_traits()
                    if all(other.has_trait(trait) for other in others)
                ]
                raise ValueError(
                    f"{type(widget).__name__} has no trait {name!r}; all have {', '.join(shared)}"
                )
    return FigureLink(widgets, traits)
