"""Computed traits, which declare the traits they depend on and which the widget keeps up to date.

The data that a widget sends to its page are computed traits (`widgets/shared/computed.py`). The
decorator `@computed("selected", "quantity")` turns a method into a trait, and names the traits that
the method reads. While the widget is open, the base class recomputes stale traits once per block of
changes: an assignment with its observers, a message from the page, or a `with` block. It computes
in the order of the dependencies, under the widget's lock, and sends one message. If a computation
fails, the figure shows the error and keeps the old values. Reading a computed trait always returns
its current value. Options that depend on each other have observers: for example, the selection
follows the layer, and a new input unlocks all tokens.

anywidget is based on traitlets, which has observers and blocks of changes, but no computed traits.
The alternatives param (`depends`) and psygnal (evented dataclasses) store values in special
objects, so every value would need a copy in a trait for the page. Computed traits are therefore a
small layer on traitlets.

The metadata of a trait describe it: whether it is a user option, shared with linked figures, set by
the page, or chosen by a saved page (`.tag(sync=True, option=True, shared=True)`; `HeadWidget` lists
the tags). `code()`, links and pages read the metadata, so each option is declared once. A test
finds public traits without metadata, and lists of trait names that duplicate the metadata.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from graphlib import CycleError, TopologicalSorter
from types import FrameType
from typing import Any, Generic, TypeVar

import traitlets
from traitlets import ObserveHandler

from attnwidget.inputs.advised_error import on_page
from attnwidget.kernels.plain_torch import plain_torch
from attnwidget.text.near_names import did_you_mean
from attnwidget.text.thread_flag import ThreadFlag, function_with_block, is_running
from attnwidget.text.thread_lock import ThreadLock
from attnwidget.widgets.shared.thread_messages import ThreadMessages

Value = TypeVar("Value")


class Computed(traitlets.TraitType[Value, Value], Generic[Value]):
    """Read-only trait whose value a method computes from other traits; see `computed`."""

    default_value = None

    def __init__(
        self,
        method: Callable[[Any], Value],
        depends_on: tuple[str, ...],
        sync: bool,
        page_chooses: Sequence[str] | None,
    ) -> None:
        super().__init__(allow_none=True, read_only=True)
        self.method = method
        self.depends_on = depends_on
        self.__doc__ = method.__doc__
        if sync:
            self.tag(sync=True, page_chooses=page_chooses)

    def get(self, obj: Any, cls: type | None = None) -> Value | None:
        """Return the value, recomputed if a trait that it depends on has changed."""
        obj._update()
        return super().get(obj, cls)


def computed(
    *depends_on: str, sync: bool = True, page_chooses: Sequence[str] | None = None
) -> Callable[[Callable[[Any], Value]], Computed[Value]]:
    """Turn a method into a trait that is computed from other traits.

    The trait has the name of the method, and the method's return value as its value. The widget
    computes the trait when it opens, and later once per block of changes to the named traits. If
    the method raises an error, the figure shows the error and the trait keeps its value. A subclass
    can override the trait with a trait of the same name.

    Reading a computed trait takes the widget's lock if the value is stale. A thread that holds the
    model's lock must therefore not read a computed trait, because the computation may wait for the
    model.

    Args:
        depends_on: Names of the traits that the method reads, including computed traits.
        sync: Whether the page receives the value.
        page_chooses: Options by which a saved page chooses the value among its answers. The page
            cannot change the other options that the value depends on. None = the page keeps the
            saved value.

    Example:
        >>> from attnwidget import HeadGrid, load_model
        >>> from attnwidget.widgets.shared.computed import computed
        >>> class CountingGrid(HeadGrid):
        ...     @computed("selected")
        ...     def _count(self):
        ...         return len(self.selected)
        >>> grid = CountingGrid(load_model().attend("The cat sat."))
        >>> grid.selected = [(0, 1), (2, 3)]
        >>> grid._count
        2
    """

    def as_trait(method: Callable[[Any], Value]) -> Computed[Value]:
        return Computed(method, depends_on, sync, page_chooses)

    return as_trait


def when_open(*names: str) -> Callable[[Callable[[Any, Any], None]], ObserveHandler]:
    """Turn a method into an observer of traits that is called only while the widget is open.

    Use it if a change makes another trait invalid, for example if a new input unlocks all tokens.
    The constructor sets all traits at once, so no trait is invalid before the widget opens.

    Args:
        names: Names of the observed traits.
    """

    def as_observer(method: Callable[[Any, Any], None]) -> ObserveHandler:
        @wraps(method)
        def observer(self: ComputedTraits, change: Any) -> None:
            if self._is_open:
                method(self, change)

        return traitlets.observe(*names)(observer)

    return as_observer


class _Batch(ThreadFlag):
    """Flag that is up while a thread makes changes that are answered together.

    Attributes:
        matters: Whether a computed trait depends on any of the changes.
    """

    matters = False


@dataclass(frozen=True)
class _Holding:
    """Open block of `hold_trait_notifications`.

    Attributes:
        block: Context manager of traitlets.
        function: Frame of the function that contains the block.
        thread: Identifier of the thread.
    """

    block: Any
    function: FrameType
    thread: int


class ComputedTraits(ThreadMessages):
    """Widget that keeps its computed traits up to date while it is open.

    A block of changes is an assignment with all observers that it calls, a message from the page,
    or a `with` block of `hold_trait_notifications` or `together`. At the end of the block, the
    widget computes its stale traits once, in the order of their dependencies, and sends one
    message.
    """

    _error = traitlets.Unicode().tag(sync=True)
    _holding: _Holding | None = None
    #: Whether the figure has left the page and has not been displayed again.
    _is_suspended = False

    def setup_instance(self, *args: object, **kwargs: object) -> None:
        """Prepare the instance. Traits can change before `__init__`."""
        super().setup_instance(*args, **kwargs)
        # Callbacks run in a second kernel thread, parallel to the running cell (comm subshells).
        self._lock = ThreadLock()
        self._batch = _Batch()
        self._computing = ThreadLock()
        self._answers_when_read = False
        cls: Any = type(self)
        self._plan = _plan_of(cls)
        self._stale = set(self._plan.order)
        self._to_retry: set[str] = set()

    @property
    def _is_open(self) -> bool:
        """True if changes are answered: the widget is connected to a page or was suspended."""
        return self.comm is not None or self._is_suspended

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the synchronized traits. The opening message has all computed traits.

        Panel and Shiny open a widget themselves and read the state before `open` is called.
        """
        if key is None and not self._is_open and self._stale:
            self._compute_stale()
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        return state

    def notify_change(self, change: Any) -> None:
        """Notify the page and the observers about a change, then update the computed traits."""
        stale = self._plan.dependents.get(change["name"], frozenset())
        self._stale |= stale
        if not self._is_open:
            super().notify_change(change)
            return
        with self.together():
            self._batch.matters |= bool(stale)
            super().notify_change(change)

    @contextmanager
    def hold_trait_notifications(self) -> Iterator[None]:
        """Hold notifications back, and compute stale traits once after them."""
        self._end_left_block()
        with self.together():
            block = super().hold_trait_notifications()
            function = function_with_block()
            # traitlets replaces a method during the outermost block.
            if "notify_change" not in vars(self) and function is not None:
                self._holding = _Holding(block, function, threading.get_ident())
            with block:
                yield
            if self._holding is not None and self._holding.block is block:
                self._holding = None

    def _end_left_block(self) -> None:
        """End a block of `hold_trait_notifications` that Ctrl-C has left open."""
        holding = self._holding
        if holding is not None and not is_running(holding.function, holding.thread):
            self._holding = None
            holding.block.gen.close()

    def _notify_trait(self, name: str, old_value: Any, new_value: Any) -> None:
        self._end_left_block()
        super()._notify_trait(name, old_value, new_value)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make several changes that are answered together.

        Other threads can change the figure during the block unless the caller holds the lock:
        `with figure._lock, figure.together():`.
        """
        batch = self._batch
        with self.hold_sync():
            if batch.is_up:
                yield
                return
            try:
                with batch.raised():
                    yield
            finally:
                if batch.matters:
                    batch.matters = False
                    if not self._answers_when_read and not self._is_suspended:
                        self._update()

    def _answer_when_read(self) -> None:
        """Compute stale traits only when one of them is read, until `_answer_changes` is called.

        Invisible figures use this, so that visible figures are updated first.
        """
        self._answers_when_read = True

    def _answer_changes(self) -> None:
        """Compute stale traits now, and after each block of changes from now on."""

        def answer() -> None:
            with self.together():
                self._answers_when_read = False
                self._update()

        self._lock.hold(answer)

    def _options_behind(self, name: str) -> set[str]:
        """Return the options that a trait depends on, directly or through computed traits.

        Args:
            name: Name of the trait; the result for an option is the option itself.
        """
        trait = self.traits()[name]
        if isinstance(trait, Computed):
            return set().union(*(self._options_behind(source) for source in trait.depends_on))
        is_option = trait.metadata.get("sync") and trait.metadata.get("option")
        return {name} if is_option else set()

    def _forget_computed(self) -> None:
        """Release the values of all computed traits, which are recomputed when they are read."""
        for name in self._plan.order:
            self._trait_values.pop(name, None)
        self._stale = set(self._plan.order)
        self._to_retry = set()

    def _update(self) -> None:
        """Compute the stale traits of an open widget."""
        if self._stale and self._is_open:
            self._compute_stale()

    def _compute_stale(self) -> None:
        """Compute all stale traits. After an error, all traits keep their old values."""
        self._lock.hold(self._compute_alone)

    def _compute_alone(self) -> None:
        if self._computing.is_mine:  # The method of a computed trait reads another computed trait.
            return
        with self.hold_sync(), plain_torch():
            self._computing.hold(self._compute_in_order)

    def _compute_in_order(self) -> None:
        self._stale |= self._to_retry
        old_values: dict[str, Any] = {}
        try:
            while name := next((name for name in self._plan.order if name in self._stale), ""):
                # Ctrl-C may interrupt any line, so the name is always in one of the two sets.
                self._to_retry.add(name)
                # A change during the computation makes the trait stale again.
                self._stale.discard(name)
                old_values.setdefault(name, self._trait_values.get(name))
                self.set_trait(name, self._plan.methods[name](self))
            self._error = ""
            self._to_retry = set()
        except BaseException as error:
            for name, value in old_values.items():
                self.set_trait(name, value)
            # Try again at the next relevant change, and not whenever a value is read.
            for name in tuple(self._stale):
                self._to_retry.add(name)
                self._stale.discard(name)
            if isinstance(error, Exception):
                self._error = on_page(error)
            raise


def changed_together(figures: Sequence[ComputedTraits], change: Callable[[], None]) -> None:
    """Change several figures so that each figure computes and sends its answer only once.

    Args:
        figures: Figures to change; the last figure answers first.
        change: Function that changes the figures.
    """
    if not figures:
        change()
        return

    def change_all() -> None:
        with figures[0].together():
            changed_together(figures[1:], change)

    figures[0]._lock.hold(change_all)


@dataclass(frozen=True)
class _Plan:
    """Computed traits of a class.

    Attributes:
        order: Trait names in the order of computation, dependencies first.
        methods: Method of each computed trait.
        dependents: Names of the computed traits that depend on a trait.
    """

    order: tuple[str, ...]
    methods: Mapping[str, Callable[[Any], Any]]
    dependents: Mapping[str, frozenset[str]]


@cache
def _plan_of(cls: type[Any]) -> _Plan:
    class_traits = cls.class_traits()
    traits = {name: trait for name, trait in class_traits.items() if isinstance(trait, Computed)}
    dependents: dict[str, set[str]] = {}
    for name, trait in traits.items():
        for source in trait.depends_on:
            if source not in class_traits:
                suggestion = did_you_mean(source, class_traits)
                hint = f": {suggestion}" if suggestion else ""
                raise TypeError(
                    f"{cls.__name__}.{name} is computed from {source!r}, which is no trait of "
                    f"{cls.__name__}{hint}"
                )
            dependents.setdefault(source, set()).add(name)
    sources = {
        name: [source for source in trait.depends_on if source in traits]
        for name, trait in traits.items()
    }
    try:
        order = tuple(TopologicalSorter(sources).static_order())
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise TypeError(
            f"computed traits of {cls.__name__} depend on each other: {circle}"
        ) from None
    return _Plan(
        order,
        {name: trait.method for name, trait in traits.items()},
        {source: frozenset(names) for source, names in dependents.items()},
    )
