"""What every widget of heads shares: the selection, the layer, and how a change is answered."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar, NoReturn, TypedDict

import anywidget
import traitlets

from attnwidget.capture.tapping.head import Head, HeadName, named_head
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.inputs.advised_error import on_page
from attnwidget.text.near_names import near_names
from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.page_document import STATIC
from attnwidget.widgets.pages.page_part import NEEDS_A_NOTEBOOK, Page, Part
from attnwidget.widgets.shared.computed import ComputedTraits
from attnwidget.widgets.shared.displayed_figures import displayed_figures
from attnwidget.widgets.shared.engine_start import warm_up
from attnwidget.widgets.shared.exporting import Exporting
from attnwidget.widgets.shared.head_labels import Labels
from attnwidget.widgets.shared.option_text import OptionSignature, options_of, with_options
from attnwidget.widgets.shared.page_changes import add_changed, page_changes
from attnwidget.widgets.shared.save_menu import answer_page
from attnwidget.widgets.shared.session_options import options
from attnwidget.widgets.shared.traits import Heads, HeadsTrait
from attnwidget.widgets.shared.widget_code import PythonCode, chosen_options, code_of
from attnwidget.widgets.wire import null_in_browser
from attnwidget.widgets.wire.linked_traits import fitting

#: Layers and heads a layer of each stack, by its name.
StackShapes = Mapping[str, tuple[int, int]]

#: Methods that a closed figure keeps: `code`, and what links, other figures and `repr` call.
_KEPT_WHEN_CLOSED = {
    "code",
    "has",
    "relations",
    "shapes",
    "together",
}
#: What `dir` does not list: it is called by the package and by authors of figures, not by users.
#: The first five say what a saved page contains. They have no underscore, because each figure of
#: an author defines them, as it defines `shapes`.
_FOR_AUTHORS = {
    "page_content",
    "page_label",
    "page_part",
    "page_remark",
    "page_title",
    "color_names",
    "jobs",
    "kind",
    "shapes",
    "shared_traits",
    "together",
}
#: What `dir` lists of the many names of Jupyter widgets.
_FOR_USERS_OF_WIDGETS = {"close", "layout", "observe", "unobserve"}
_OF_JUPYTER = frozenset(dir(anywidget.AnyWidget))
#: Methods of Jupyter widgets that a closed figure refuses.
_REFUSED_OF_WIDGETS = {"add_traits", "observe", "open"}


class FigureOptions(TypedDict, total=False):
    """Options of every figure. The last three are options of every Jupyter widget."""

    labels: Mapping[Any, str] | Sequence[tuple[Any, str]]
    layout: Any
    tabbable: bool | None
    tooltip: str | None


class HeadOptions(FigureOptions, total=False):
    """Options of a figure whose constructor has no other way to choose heads."""

    selected: Heads


class LayerOptions(HeadOptions, total=False):
    """Options of a figure whose layer is an option, and no parameter of its own."""

    layer: int


class HeadWidget(Exporting, ComputedTraits):
    """A figure of the heads of a model, whatever it shows of them.

    Assign a new list to change a list option, or use `+=`: the lists refuse other changes. `labels`
    can be changed in place.

    The metadata of a trait state what the trait is. No list of names stands beside them:

    - `option`: The user may choose the value, and `code()` contains it.
    - `set_by_explorer`: An explorer chooses the value, so that its code does not contain it.
    - `shared`: Linked figures have the same value.
    - `from_page`: Whether the page may change the value. The default is `option`.
    - `live`: The value means nothing on a page without a kernel.
    - `page_chooses`: Options by which a page without a kernel chooses the value among the answers
      that it holds.
    - `follows_selection`: The selected head decides the value.
    - `input`: The value is a part of the input that an explorer reads.
    - `edits`: The model reads the input again after a change.
    - `of_metric`: The option is about the shown metric.
    - `set_last`: The value refers to another option, which is set before.
    - `takes`: The type of the value in words, if the trait has no type of its own.
    """

    #: The heading of a page of this figure alone.
    page_title: ClassVar[str]
    #: Name of the figure on a page with several figures; "" for a figure that contains others.
    page_label: ClassVar[str] = ""
    #: A remark for the reader of a page; "" for none.
    page_remark: ClassVar[str] = ""
    #: The options that stand for names which are no attributes to assign, for hints of errors.
    _other_names: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"head": "selected", "heads": "selected"}
    )

    #: Defaults that the constructor computes, in words, by the name of the option.
    _computed_defaults: ClassVar[Mapping[str, str]] = MappingProxyType({})
    __signature__ = OptionSignature()

    selected = HeadsTrait(
        help="The selected heads, 0-based; a view of a single head shows the last."
    ).tag(sync=True, option=True, shared=True)
    layer = traitlets.Int(
        0,
        min=0,
        help="The stepped layer, 0-based; the selection follows to the same head of that layer.",
    ).tag(sync=True, option=True, shared=True, follows_selection=True)

    labels = Labels(
        help='Labels of heads, for example {(1, 3): "pronoun"}; labels[(1, 3)] = "pronoun" changes '
        "a single label."
    ).tag(sync=True, option=True, shared=True, to_json=lambda labels, widget: labels.pairs())

    # The number of displayed views, a trait of every Jupyter widget that the page counts.
    _view_count = traitlets.Int(None, allow_none=True).tag(sync=True, from_page=True)
    # The number of changes by other figures that the page has reported, see `page_changes`.
    _changes_reported = traitlets.Int(0).tag(sync=True, from_page=True, live=True)
    # A name shared by all figures that are linked, also indirectly; "" for a figure without links.
    _circle = traitlets.Unicode().tag(sync=True, live=True)
    # The figure's name on pages, by which its picture in the notebook recognizes the live figure.
    _figure = traitlets.Unicode(read_only=True).tag(sync=True, live=True)

    # anywidget would add these traits to every figure, and make a new class for that each time.
    _esm = traitlets.Unicode().tag(sync=True, live=True)
    _css = traitlets.Unicode().tag(sync=True, live=True)
    _anywidget_id = traitlets.Unicode().tag(sync=True, live=True)
    # The number of changes that the page was asked to report.
    _changes_elsewhere = 0
    # The script and the style sheet of the figure.
    _files: ClassVar[tuple[str, str]]
    # The links that the figure belongs to.
    _ties: list[Any]
    _is_closed = False

    @traitlets.default("_figure")
    def _name_figure(self) -> str:
        return secrets.token_hex(6)

    @traitlets.default("_esm")
    def _script(self) -> str:
        return self._files[0]

    @traitlets.default("_css")
    def _style_sheet(self) -> str:
        return self._files[1]

    @traitlets.default("_anywidget_id")
    def _name_of_class(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "kind" in vars(cls):
            script, style_sheet = (STATIC / f"{cls.kind}.{ending}" for ending in ("js", "css"))
            cls._files = (script.read_text("utf-8"), style_sheet.read_text("utf-8"))
            if cls.__doc__ is not None:
                cls.__doc__ = with_options(cls, cls.__doc__)
        super().__init_subclass__(**kwargs)

    def setup_instance(self, *args: object, **kwargs: object) -> None:
        """Prepare the instance. A figure whose arguments are refused is closed too."""
        super().setup_instance(*args, **kwargs)
        self._ties = []

    def __init__(self, **traits: Any) -> None:
        self._refuse_unknown(traits)
        super().__init__(**traits)
        self.on_msg(answer_page)
        displayed_figures.add_made(self)

    def __dir__(self) -> list[str]:
        names = {name for name in super().__dir__() if not name.startswith("_")}
        return sorted(names - _OF_JUPYTER - _FOR_AUTHORS | _FOR_USERS_OF_WIDGETS)

    def add_traits(self, **traits: Any) -> None:
        """Add traits to this figure, except traits that it has already."""
        new = {name: trait for name, trait in traits.items() if not self.has_trait(name)}
        if new:
            super().add_traits(**new)

    @classmethod
    def shared_traits(cls) -> tuple[str, ...]:
        """Return the names of the traits that linked figures share, in the order of the classes.

        Example:
            >>> from attnwidget import HeadScatter
            >>> HeadScatter.shared_traits()
            ('selected', 'layer', 'labels')
        """
        shared = cls.class_traits(shared=True)
        declared = [name for base in reversed(cls.__mro__) for name in vars(base) if name in shared]
        return tuple(dict.fromkeys(declared))

    def open(self) -> None:
        """Open the figure. The opening message has everything that the page draws first."""
        if options.static_fallback:
            warm_up()
        super().open()

    @property
    def model_id(self) -> str:
        """The name of the figure on pages. A suspended figure returns to the page for it."""
        self._resume()
        name: str = super().model_id
        return name

    def _parts(self) -> Iterable[HeadWidget]:
        """Return the figures inside this figure."""
        return ()

    def _suspend(self) -> None:
        """Leave the page, and release what was computed for it, until `_resume`.

        The figure keeps its options and links, and answers changes in Python. The figures inside
        are suspended separately, because a page may show them elsewhere.
        """
        with self._lock:
            if self.comm is None:
                return
            self._kept_pictures = ()
            self.layout.close()
            super().close()
            # A closed widget has no representation, by an attribute that hides the method.
            del self._repr_mimebundle_
            self._is_suspended = True
            self._forget_computed()

    def _resume(self) -> None:
        """Return to the page after `_suspend`, with the figures inside."""
        # Most calls are about an open figure, and need no lock.
        if self._is_suspended:
            with self._lock:
                self._reopen()

    def _reopen(self) -> None:
        # Another thread may have been first.
        if self._is_suspended:
            self._is_suspended = False
            for part in self._parts():
                part._resume()
            self.layout.open()
            self.open()

    def shapes(self) -> StackShapes:
        """The stacks of the figure; each widget has its own."""
        raise NotImplementedError

    def _layers(self, stack: str) -> LayerNumbers:
        """The layers of a stack that have attention: all, unless a widget knows better."""
        return LayerNumbers.without((), self.shapes()[stack][0])

    def _takes(self, name: str) -> bool:
        """Whether the figure takes the value of a trait from a linked figure."""
        return bool(self.has_trait(name))

    def _fitting(self, name: str, value: Any) -> Any:
        """Return the part of a linked figure's value that this figure accepts."""
        shapes = self.shapes()
        return fitting(name, value, shapes, layers={stack: self._layers(stack) for stack in shapes})

    def _find_head(self, value: HeadName) -> Head:
        """Return the head that (1, 3), "L1 H3" or a `Head` names; ValueError without one."""
        shapes = self.shapes()
        return named_head(value, shapes, {stack: self._layers(stack) for stack in shapes})

    def has(self, value: HeadName) -> bool:
        """Return whether the figure has such a head."""
        try:
            self._find_head(value)
        except (ValueError, TypeError):
            return False
        return True

    def _refuse_unknown(self, traits: Mapping[str, object]) -> None:
        known = [name for name in self.trait_names() if not name.startswith("_")]
        for name in traits:
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no option {name!r}; {self._hint(name)}")

    def _hint(self, name: str) -> str:
        """Return the hint of an error about a misspelled option."""
        # Traits of every Jupyter widget, such as layout, are accepted but not listed as options.
        if name in self._other_names:
            return f"did you mean {self._other_names[name]!r}?"
        if close := near_names(name, inspect.signature(type(self)).parameters):
            return f"did you mean {close[0]!r}?"
        # A figure has dozens of options, which are listed only without a near name.
        return f"options: {', '.join(sorted(options_of(type(self))))}"

    def code(self) -> str:
        """Return Python code that makes this figure again.

        The code loads the model by its name, reads the text and sets every option that differs from
        its default. Weights and measurements cannot be written as code: they appear under the name
        of their parameter, with a comment. A notebook shows the code as code.

        Example:
            >>> from attnwidget import HeadView, load_model
            >>> attention = load_model().attend("The cat sat.")
            >>> print(HeadView(attention, 2, 1, tokens=[("query", 2)]).code())
            from attnwidget import HeadView, load_model
            <BLANKLINE>
            attention = load_model().attend("The cat sat.")
            HeadView(attention, layer=2, head=1, tokens=[("query", 2)])
        """
        return PythonCode(self._lock.hold(self._code))

    def _code(self) -> str:
        # A subclass that a user defines has no kind of its own, and is written as its base.
        figure = next(cls for cls in type(self).__mro__ if "kind" in vars(cls))
        return code_of(figure.__name__, self._given(), self._chosen())

    def _given(self) -> dict[str, Any]:
        """Return the first arguments of the figure by parameter name, for `code()`."""
        raise NotImplementedError

    def _chosen(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        return chosen_options(self)

    def page_content(self) -> Page:
        """Return what a page without a kernel holds of the figure."""
        return Page({self.kind: self.page_part()})

    def page_part(self) -> Part:
        """Return the figure on a page: its state, to which a figure adds the data of its answers.

        The default is for figures whose state has all that the page shows.
        """
        return Part(
            figure=type(self).__name__,
            title=self.page_title,
            label=self.page_label,
            state=state_of(self),
            shapes=self.shapes(),
            shared=self.shared_traits(),
            remark=self.page_remark,
            fixed=self._fixed_on_page(),
        )

    def _fixed_on_page(self) -> dict[str, str]:
        """Return the options that a page cannot change, because it computes nothing."""
        tagged = self.traits(page_chooses=lambda names: names is not None)
        chosen = {option for trait in tagged.values() for option in trait.metadata["page_chooses"]}
        behind = {option for name in tagged for option in self._options_behind(name)}
        return dict.fromkeys(sorted(behind - chosen), NEEDS_A_NOTEBOOK)

    def _leave_missing_heads(self) -> None:
        """Drop the selection and the labels of heads that the figure no longer has."""
        self.selected = [head for head in self.selected if self.has(head)]
        self.labels = [pair for pair in self.labels.pairs() if self.has(pair[0])]

    @property
    def head(self) -> Head | None:
        """The head that a view of one head shows: the last selected head, or None."""
        return self.selected[-1] if self.selected else None

    @head.setter
    def head(self, head: object) -> None:
        raise AttributeError(
            f"{type(self).__name__}.head is the last selected head: assign `selected`, for example "
            "selected = [(1, 3)]"
        )

    @property
    def n_layers(self) -> int:
        """The number of layers of the deepest stack."""
        return max(layers for layers, _ in self.shapes().values())

    @traitlets.validate("layer")
    def _check_layer(self, proposal: dict[str, Any]) -> int:
        if not 0 <= proposal["value"] < self.n_layers:
            raise traitlets.TraitError(
                f"'layer' is 0 to {self.n_layers - 1} in this model, got {proposal['value']}"
            )
        stacks = list(self.shapes())
        if len(stacks) == 1:
            try:
                self._layers(stacks[0]).check(proposal["value"])
            except ValueError as error:
                raise traitlets.TraitError(f"'layer': {error}") from None
        return int(proposal["value"])

    @traitlets.observe("selected")
    def _layer_follows_selection(self, change: object) -> None:
        if self.head:
            self.layer = self.head.layer

    @traitlets.observe("layer")
    def _selection_follows_layer(self, change: object) -> None:
        if self.head and self.head.layer != self.layer:
            stack = self._stepped_stack()
            _, n_heads = self.shapes()[stack]
            layer = self._layers(stack).nearest(self.layer)
            head = min(self.head.head, n_heads - 1)
            self.selected = [Head(layer, head, stack)]

    def _stepped_stack(self) -> str:
        """Return the stack of the shown head; else the first stack."""
        return self.head.stack if self.head else next(iter(self.shapes()))

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Handle a change with a single message; the widget shows an error instead.

        Callers hold the lock, so that the widget handles one change after another.
        """
        with self.hold_sync():
            try:
                yield
            except Exception as error:
                self._error = on_page(error)
                raise
            self._error = ""

    def notify_change(self, change: Any) -> None:
        """Tell the page and the observers about a change."""
        if self.trait_metadata(change["name"], "option"):
            add_changed(self)
        super().notify_change(change)

    def _ask_for_message(self) -> None:
        """Ask the page to report a change that another figure has made in this figure."""
        self._changes_elsewhere += 1
        self.send({"changes": self._changes_elsewhere})

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the synchronized traits as a page takes them."""
        if key is None:
            self._resume()
        state: dict[str, Any] = null_in_browser.to_page(super().get_state(key, drop_defaults))
        return state

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take what the page has changed.

        Values that only the kernel computes are sent back to the page unchanged, and so is a whole
        message with an invalid option.

        Raises:
            traitlets.TraitError: an option cannot have such a value; nothing is changed.
        """
        if not isinstance(sync_data, dict):
            raise traitlets.TraitError(f"a page changes options by name, got {sync_data!r}")
        private = [name for name in sync_data if name in self.keys and not self._page_sets(name)]
        forwarded = {name: value for name, value in sync_data.items() if name not in private}
        kept = {name: self._trait_values[name] for name in forwarded if name in self._trait_values}
        try:
            with page_changes(self):
                super().set_state(forwarded)
        except traitlets.TraitError:
            # What equals the old value, as False does 0, is not rolled back.
            self._trait_values.update(kept)
            private += [name for name in forwarded if name in self.keys]
            raise
        finally:
            if private:
                self.send_state(private)

    def _page_sets(self, name: str) -> bool:
        """Whether the page may change a trait; all other traits report the kernel's state."""
        # Jupyter's own traits, such as the layout, have no metadata of this package.
        is_option = self.trait_metadata(name, "option", not name.startswith("_"))
        return bool(self.trait_metadata(name, "from_page", is_option))

    def _handle_msg(self, msg: dict[str, Any]) -> None:
        # No option of a figure holds bytes, and where they belong may be any place or none.
        if paths := msg["content"]["data"].get("buffer_paths"):
            name = type(self).__name__
            self.log.warning(f"{name} takes no binary values from a page, got some for {paths!r}")
            return
        super()._handle_msg(null_in_browser.from_page(msg))

    def _handle_custom_msg(self, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and content.keys() == {"asked"}:
            # Answer after all earlier changes of the page, so that the page knows of their arrival.
            self.send(content)
            return
        super()._handle_custom_msg(content, buffers)

    def close(self) -> None:
        """Free the widget, its layout and the page's side of both.

        The other figures of its links stay linked. A closed figure keeps its options, and `code()`
        makes it again; its other methods and assignments raise RuntimeError.
        """
        if self._is_closed:
            return
        for tie in tuple(self._ties):
            tie.leave(self)
        if self.layout is not None:
            self.layout.close()
        self.unobserve_all()
        if self._is_suspended:
            self._is_suspended = False
            self._repr_mimebundle_ = None  # type: ignore[method-assign, assignment]
        super().close()
        self._is_closed = True
        # Attributes that hide the methods, so that calls of an open figure check nothing.
        self.__dict__.update(_refusals(type(self)))


def _closed_error(cls: type[HeadWidget]) -> RuntimeError:
    return RuntimeError(
        f"this {cls.__name__} was closed: its code() returns the code that makes it again"
    )


def _refusals(cls: type[HeadWidget]) -> dict[str, Callable[..., NoReturn]]:
    """Return what replaces the methods of a closed figure, by name."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise _closed_error(cls)

    of_package = {
        name
        for base in cls.__mro__
        if base.__module__.startswith("attnwidget.")
        for name, value in vars(base).items()
        if isinstance(value, FunctionType) and not name.startswith("_")
    }
    of_figures = of_package - _KEPT_WHEN_CLOSED - _OF_JUPYTER
    return dict.fromkeys(of_figures | _REFUSED_OF_WIDGETS, refuse)
