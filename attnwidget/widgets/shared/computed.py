"""Computed traits: each names the traits it depends on, and the widget keeps it up to date.

The data that a widget sends to its page are computed traits (`widgets/shared/computed.py`). The
decorator `@computed("selected", "quantity")` makes a method a trait, and names the traits that the
method reads. While the widget is open, the base class computes stale traits once for each block of
changes: an assignment with its observers, a message of the page, or a `with` block. The computation
follows the order of the dependencies, under the widget's lock, and sends one message. If it fails,
the figure shows the error and the values stay. Whoever reads a computed trait gets its current
value. Options that limit each other have observers: the selection follows the layer, and a new
input unlocks all tokens.

anywidget needs traitlets, which has observers and blocks of changes, but no computed traits. The
alternatives param (`depends`) and psygnal (evented dataclasses) keep values in special objects, and
every value would need a copy in a trait for the page. Computed traits are therefore a small layer
on traitlets.

The metadata of a trait state what the trait is: an option of the user, shared with linked figures,
set by the page, chosen by a page without a kernel (`.tag(sync=True, option=True, shared=True)`;
`HeadWidget` lists the tags). `code()`, links and pages read the metadata, so an option is declared
once. A test finds public traits without a declaration, and lists of names beside the metadata.
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
    """A read-only trait with a value that a method computes from other traits; see `computed`."""

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
        """Return the value, computed anew if a trait that it depends on has changed."""
        obj._update()
        return super().get(obj, cls)


def computed(
    *depends_on: str, sync: bool = True, page_chooses: Sequence[str] | None = None
) -> Callable[[Callable[[Any], Value]], Computed[Value]]:
    """Make a method a trait that is computed from other traits.

    The trait has the method's name and the value that the method returns. The widget computes the
    trait when it opens, and later once for each block of changes of the named traits. An error is
    shown on the figure, and the trait keeps its value. A subclass replaces the trait by a trait of
    the same name.

    Reading a computed trait takes the widget's lock if the value is stale. A thread that holds the
    model's lock must therefore not read one: a computation may wait for the model.

    Args:
        depends_on: Names of the traits that the method reads; computed traits are allowed.
        sync: Whether the page receives the value.
        page_chooses: Options by which a page without a kernel chooses the value among the answers
            that it holds. The page fixes all other options that the value depends on. None for a
            value that the page keeps as it was saved.

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
    """Make a method an observer of traits that is called only while the widget is open.

    Use it where a change makes another trait invalid, for example where a new input unlocks all
    tokens. The constructor sets all traits at once, so nothing is invalid before the widget opens.

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
    """Whether a thread makes changes that are answered together.

    Attributes:
        matters: Whether a computed trait depends on one of the changes.
    """

    matters = False


@dataclass(frozen=True)
class _Holding:
    """An open block of `hold_trait_notifications`.

    Attributes:
        block: The block of traitlets.
        function: The function with the block.
        thread: Number of its thread.
    """

    block: Any
    function: FrameType
    thread: int


class ComputedTraits(ThreadMessages):
    """A widget that keeps its computed traits up to date while it is open.

    A block of changes is an assignment with all observers that it calls, a message of the page, or
    a `with` block of `hold_trait_notifications` or `together`. At the end of the block the widget
    computes its stale traits once, in the order of their dependencies, and sends one message.
    """

    _error = traitlets.Unicode().tag(sync=True)
    _holding: _Holding | None = None
    #: Whether the figure has left the page, until it is displayed again.
    _is_suspended = False

    def setup_instance(self, *args: object, **kwargs: object) -> None:
        """Prepare the instance. Traits can change before `__init__`."""
        super().setup_instance(*args, **kwargs)
        # Callbacks run in a second kernel thread beside the running cell (comm subshells).
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
        """Whether changes are answered: the widget has a connection to a page, or had one."""
        return self.comm is not None or self._is_suspended

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the synchronized traits. The opening message has all computed traits.

        Panel and Shiny open a widget by themselves, before `open` is called.
        """
        if key is None and not self._is_open and self._stale:
            self._compute_stale()
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        return state

    def notify_change(self, change: Any) -> None:
        """Tell the page and the observers about a change, then compute what depends on it."""
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
        """Hold notifications back, and compute only once after them."""
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
        """Make several changes that are answered once.

        Other threads can change the figure during the block, unless the caller holds the lock:
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

        This is for figures out of sight, while figures in sight are answered.
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
            name: Name of the trait; the result for an option is its own name.
        """
        trait = self.traits()[name]
        if isinstance(trait, Computed):
            return set().union(*(self._options_behind(source) for source in trait.depends_on))
        is_option = trait.metadata.get("sync") and trait.metadata.get("option")
        return {name} if is_option else set()

    def _forget_computed(self) -> None:
        """Release the values of all computed traits, which are computed anew when they are read."""
        for name in self._plan.order:
            self._trait_values.pop(name, None)
        self._stale = set(self._plan.order)
        self._to_retry = set()

    def _update(self) -> None:
        """Compute the stale traits of an open widget."""
        if self._stale and self._is_open:
            self._compute_stale()

    def _compute_stale(self) -> None:
        """Compute all stale traits; after an error, no trait changes."""
        self._lock.hold(self._compute_alone)

    def _compute_alone(self) -> None:
        if self._computing.is_mine:  # a method that computes a trait reads another computed trait
            return
        with self.hold_sync(), plain_torch():
            self._computing.hold(self._compute_in_order)

    def _compute_in_order(self) -> None:
        self._stale |= self._to_retry
        before: dict[str, Any] = {}
        try:
            while name := next((name for name in self._plan.order if name in self._stale), ""):
                # Ctrl-C may come at any line, so the name is in one of the sets until all is done.
                self._to_retry.add(name)
                # A change during the computation makes the trait stale again.
                self._stale.discard(name)
                before.setdefault(name, self._trait_values.get(name))
                self.set_trait(name, self._plan.methods[name](self))
            self._error = ""
            self._to_retry = set()
        except BaseException as error:
            for name, value in before.items():
                self.set_trait(name, value)
            # Try again at the next change that matters, and not whenever a value is read.
            for name in tuple(self._stale):
                self._to_retry.add(name)
                self._stale.discard(name)
            if isinstance(error, Exception):
                self._error = on_page(error)
            raise


def changed_together(figures: Sequence[ComputedTraits], change: Callable[[], None]) -> None:
    """Change several figures, each of which computes and sends its answer once.

    Args:
        figures: The figures; the last one answers first.
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
    """The computed traits of a class.

    Attributes:
        order: Names in the order of computation: every name after the names of its inputs.
        methods: What computes each.
        dependents: Names of the computed traits that depend on a trait.
    """

    order: tuple[str, ...]
    methods: Mapping[str, Callable[[Any], Any]]
    dependents: Mapping[str, frozenset[str]]


@cache
def _plan_of(cls: type[Any]) -> _Plan:
    known = cls.class_traits()
    traits = {name: trait for name, trait in known.items() if isinstance(trait, Computed)}
    dependents: dict[str, set[str]] = {}
    for name, trait in traits.items():
        for source in trait.depends_on:
            if source not in known:
                close = did_you_mean(source, known)
                hint = f": {close}" if close else ""
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
