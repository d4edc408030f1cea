"""Links between widgets, which share their selection and other traits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.thread_flag import ThreadFlag
from attnwidget.widgets.shared.head_widget import HeadWidget

#: Maximum number of times that a value is set again while other threads change it.
_ROUNDS = 10


class _Given(ThreadFlag):
    """Flag that is up while a link sets a trait in this thread.

    Attributes:
        name: Name of the trait while the flag is up.
    """

    name = ""


_given = _Given()


class FigureLink:
    """Link between widgets. `unlink()` ends the link; a link is also a context manager."""

    def __init__(self, widgets: Sequence[HeadWidget], traits: Sequence[str] | None = None) -> None:
        self.widgets = tuple(widgets)
        # None = all shared traits.
        self._traits = None if traits is None else tuple(traits)
        # This flag is per thread, so that a change made in another thread is still forwarded.
        self._giving = ThreadFlag()
        try:
            self._begin_all()
        except BaseException:
            self.unlink()
            raise

    def _begin_all(self) -> None:
        # Observe first, because another thread may change a trait while the first values are set.
        for widget in self.widgets:
            widget.observe(self._follow, names=self._joined(widget))
        with ExitStack() as stack:
            for widget in self.widgets:
                stack.enter_context(widget.hold_sync())
            # Include the traits of indirectly linked widgets, because a trait that no widget of
            # this link has still passes through it.
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
        """Return True if the widgets share a trait."""
        return self._traits is None or name in self._traits

    def _joined(self, widget: HeadWidget) -> list[str]:
        """Return the traits of a widget that this link shares."""
        traits = widget.shared_traits() if self._traits is None else self._traits
        return list(filter(widget.has_trait, traits))

    def _begin(self, name: str) -> None:
        """Set a trait of all widgets to the value of the first widget.

        If the first widget lacks the trait, the value comes from a widget that it is linked to.
        """
        for widget in self.widgets:
            source = next(
                (linked for linked in circle_of(widget, name) if linked._takes(name)), None
            )
            # Skip widgets with an empty selection: start from a widget that has one.
            if source is not None and (source.selected or name not in ("selected", "layer")):
                self._give(widget, name, getattr(source, name))
                return

    def _follow(self, change: Any) -> None:
        owner = change["owner"]
        name = change["name"]
        # A layer change moves the selection of each figure. If figures are linked twice, the second
        # link must not forward this selection to the figure whose layer has just changed.
        is_of_layer = _given.is_up and _given.name == "layer" and self.joins("layer")
        if name == "selected" and is_of_layer:
            return
        # The layer of a new selection changes before the selection. If it were forwarded first,
        # every figure would move to another head of this layer.
        is_of_selection = name == "layer" and owner.head and owner.head.layer == owner.layer
        if is_of_selection and owner._takes("selected"):
            self._give(owner, "selected", owner.selected)
        # Forward the unit before the locked tokens, because their positions depend on the unit.
        if name == "tokens" and owner._takes("unit"):
            self._give(owner, "unit", owner.unit)
        # A widget that does not accept a trait from linked widgets does not pass the trait on.
        if owner._takes(name):
            self._give(owner, name, getattr(owner, name))

    def _give(self, source: HeadWidget, name: str, value: Any) -> None:
        """Set a trait of all widgets except `source`.

        A widget that lacks the trait forwards the value to its other links.
        """
        # Observers of a widget may change other traits in response: for example, the selection
        # follows the layer. Do not forward these changes back.
        if self._giving.is_up or not self.joins(name):
            return
        with _given.raised(), self._giving.raised():
            self._give_others(source, name, value)

    def _give_others(self, source: HeadWidget, name: str, value: Any) -> None:
        outer_name = _given.name
        _given.name = name
        try:
            widgets_with_trait = [widget for widget in self.widgets if widget._takes(name)]
            for _ in range(_ROUNDS):
                for widget in self.widgets:
                    if widget in widgets_with_trait and widget is not source:
                        setattr(widget, name, widget._fitting(name, value))
                    elif widget is not source:
                        for other in widget._ties:
                            other._give(widget, name, value)
                # Read again after writing, so that two threads that write at once agree on a value.
                if source in widgets_with_trait:
                    value = getattr(source, name)
                if all(
                    getattr(widget, name) == widget._fitting(name, value)
                    for widget in widgets_with_trait
                ):
                    return
        finally:
            _given.name = outer_name

    def unlink(self) -> None:
        """End the link."""
        for widget in self.widgets:
            self._release(widget)
        _name_circles(self.widgets)

    def leave(self, widget: HeadWidget) -> None:
        """Remove a widget that is being closed from the link; the other widgets stay linked."""
        self.widgets = tuple(other for other in self.widgets if other is not widget)
        self._release(widget)
        _name_circles((widget, *self.widgets))

    def _release(self, widget: HeadWidget) -> None:
        """Stop observing a widget."""
        for name in self._joined(widget):
            # A link whose creation failed does not observe all traits.
            with suppress(ValueError):
                widget.unobserve(self._follow, names=name)
        if self in widget._ties:
            widget._ties.remove(self)

    def __enter__(self) -> FigureLink:
        return self

    def __exit__(self, *exc: object) -> None:
        self.unlink()


def circle_of(widget: HeadWidget, name: str | None = None) -> list[HeadWidget]:
    """Return a widget and all directly or indirectly linked widgets, nearest first.

    Args:
        widget: Widget to start from.
        name: Trait whose links are followed; None = links of any trait.
    """
    members = [widget]
    for member in members:
        ties = [tie for tie in member._ties if name is None or tie.joins(name)]
        members += dict.fromkeys(w for tie in ties for w in tie.widgets if w not in members)
    return members


def _name_circles(widgets: Sequence[HeadWidget]) -> None:
    """Set one name for each circle of linked figures, and "" for unlinked figures."""
    for widget in widgets:
        circle = circle_of(widget)
        # Skip closed widgets, which have no identifier on the page.
        names = [member.model_id for member in circle if member.comm is not None]
        name = min(names) if len(names) > 1 else ""
        for member in circle:
            member._circle = name


@hides_frames
def link_figures(*widgets: HeadWidget, traits: Sequence[str] | None = None) -> FigureLink:
    """Link widgets, so that they share selection, layer, locked and hidden tokens, and scale.

    All widgets start from the state of the first widget. If it has no selection, the selection
    comes from the next widget that has one. A relation or a direction passes through a widget
    without relations, such as a grid. Widgets of different models can be linked: a widget ignores
    heads that its model lacks, and shows all relations if it lacks the chosen relation. For single
    traits, and for saved pages, you can also use `ipywidgets.link` and `ipywidgets.jslink`.

    Args:
        widgets: Two or more widgets of this package.
        traits: Names of the traits to link; None = all shared traits.

    Returns:
        Link whose `unlink()` ends it.

    Raises:
        TypeError: If there are fewer than two widgets, or if an argument is not a widget of this
            package.
        ValueError: If a widget lacks a trait in `traits`.

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
            raise TypeError(
                f"link_figures takes figures of attnwidget, got {type(widget).__name__}: pass them "
                "one by one, link_figures(grid, view)"
            )
    if len(widgets) < 2:
        raise TypeError(
            f"link_figures takes two figures or more, got {len(widgets)}: pass all of them in one "
            "call, link_figures(grid, view)"
        )
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
