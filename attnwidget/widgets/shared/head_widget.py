"""Base class of all head figures: selection, layer, labels, and the handling of changes."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar, NoReturn, TypedDict

import anywidget
import traitlets

from attnwidget.capture.tapping.head import Head, HeadName, named_head
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.drawing.engine import ThemeName
from attnwidget.hidden_frames import hides_frames
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
from attnwidget.widgets.shared.traits import TAKES_HEADS, Heads, HeadsTrait
from attnwidget.widgets.shared.widget_code import PythonCode, chosen_options, code_of
from attnwidget.widgets.wire import null_in_browser
from attnwidget.widgets.wire.linked_traits import fitting

#: Numbers of layers and heads per layer, by stack name.
StackShapes = Mapping[str, tuple[int, int]]

#: Methods that a closed figure keeps: `code`, and the methods that links, other figures and `repr`
#: call.
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
    """Base class of figures that show a model's heads.

    To change a list option, assign a new list or use `+=`: the lists refuse other changes. `labels`
    can be changed in place.

    The metadata of a trait describe the trait, so that no other code lists trait names:

    - `option`: The user may choose the value, and `code()` contains it.
    - `set_by_explorer`: An explorer chooses the value, so the explorer's code does not contain it.
    - `shared`: Linked figures have the same value.
    - `from_page`: Whether the page may change the value. The default is the value of `option`.
    - `live`: The value has no meaning on a saved page, which has no kernel.
    - `page_chooses`: Options by which a saved page chooses the value among its answers.
    - `follows_selection`: The selected head determines the value.
    - `input`: The value is a part of the input that an explorer reads.
    - `edits`: The model reads the input again after a change.
    - `of_metric`: The option is about the shown metric.
    - `set_last`: The value refers to another option, which is set before.
    - `takes`: The type of the value in words, if the trait has no type of its own.
    """

    #: Title of a page with only this figure.
    page_title: ClassVar[str]
    #: Name of the figure on a page with several figures; "" for a figure that contains others.
    page_label: ClassVar[str] = ""
    #: Note for the reader of a page; "" for no note.
    page_remark: ClassVar[str] = ""
    #: The options that stand for names which are no attributes to assign, for hints of errors.
    _other_options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "head": "'selected'",
            "heads": "'selected'",
            "hide_special": "hidden=['cls', 'sep']",
            "title": "labels={(1, 3): 'a name'}, which the title contains",
            **dict.fromkeys(
                ("cmap", "color", "colormap", "colors", "colorscale", "palette"),
                "'scale', as the colors of each quantity are fixed",
            ),
            **dict.fromkeys(
                ("min_weight", "threshold", "vmax", "vmin"),
                "'scale', as a figure shows all weights",
            ),
            **dict.fromkeys(("height", "size", "width"), "save(path, width=600)"),
            **dict.fromkeys(("dark", "theme"), "save(path, theme='dark')"),
            "dpi": "save(path, dpi=300)",
        }
    )
    #: Defaults that the constructor computes, in words, by the name of the option.
    _computed_defaults: ClassVar[Mapping[str, str]] = MappingProxyType({})
    __signature__ = OptionSignature()

    selected = HeadsTrait(
        help="Selected heads, with layers and heads counted from 0; a view of a single head shows "
        "the last one."
    ).tag(sync=True, option=True, shared=True, takes=TAKES_HEADS)
    layer = traitlets.Int(
        0,
        min=0,
        help="Current layer, counted from 0. If it changes, the same head of that layer is "
        "selected; in a grid or an explorer with a locked token, the strongest head of the layer "
        "for this token.",
    ).tag(sync=True, option=True, shared=True, follows_selection=True)

    labels = Labels(
        help='Labels of heads, for example {(1, 3): "pronoun"}. Use labels[(1, 3)] = "pronoun" to '
        "change a single label."
    ).tag(sync=True, option=True, shared=True, to_json=lambda labels, widget: labels.pairs())

    # Number of displayed views, a trait of every Jupyter widget, which the page counts.
    _view_count = traitlets.Int(None, allow_none=True).tag(sync=True, from_page=True)
    # Number of changes by other figures that the page has reported, see `page_changes`.
    _changes_reported = traitlets.Int(0).tag(sync=True, from_page=True, live=True)
    # Name that directly and indirectly linked figures share; "" for a figure without links.
    _circle = traitlets.Unicode().tag(sync=True, live=True)
    # Identifier of the figure on pages, which connects its picture in the notebook with it.
    _figure = traitlets.Unicode(read_only=True).tag(sync=True, live=True)

    # Otherwise anywidget would add these traits to every figure, with a new class for each.
    _esm = traitlets.Unicode().tag(sync=True, live=True)
    _css = traitlets.Unicode().tag(sync=True, live=True)
    _anywidget_id = traitlets.Unicode().tag(sync=True, live=True)
    # Number of changes that the page was asked to report.
    _changes_elsewhere = 0
    # Script and style sheet of the figure.
    _files: ClassVar[tuple[str, str]]
    # Links that the figure belongs to.
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
        """Prepare the instance before `__init__`, so that it can close if arguments are invalid."""
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
        """Add traits to this figure, except traits that it already has."""
        new = {name: trait for name, trait in traits.items() if not self.has_trait(name)}
        if new:
            super().add_traits(**new)

    @classmethod
    def shared_traits(cls) -> tuple[str, ...]:
        """Return the names of the traits that linked figures share, base classes first.

        Example:
            >>> from attnwidget import HeadScatter
            >>> HeadScatter.shared_traits()
            ('selected', 'layer', 'labels')
        """
        shared = cls.class_traits(shared=True)
        declared = [name for base in reversed(cls.__mro__) for name in vars(base) if name in shared]
        return tuple(dict.fromkeys(declared))

    @hides_frames
    def open(self) -> None:
        """Open the figure with a message that has all data of the page's first drawing."""
        if options.static_fallback:
            warm_up()
        super().open()

    @property
    def model_id(self) -> str:
        """Identifier of the widget on pages. Reading it returns a suspended figure to the page."""
        self._resume()
        name: str = super().model_id
        return name

    def _parts(self) -> Iterable[HeadWidget]:
        """Return the figures inside this figure."""
        return ()

    def _suspend(self) -> None:
        """Leave the page and release the computed values, until `_resume` is called.

        The figure keeps its options and links, and still handles changes in Python. The figures
        inside are suspended separately, because a page may show them elsewhere.
        """
        with self._lock:
            if self.comm is None:
                return
            self._kept_pictures = ()
            self.layout.close()
            super().close()
            # ipywidgets sets this attribute when a widget closes, and it hides the method.
            del self._repr_mimebundle_
            self._is_suspended = True
            self._forget_computed()

    def _resume(self) -> None:
        """Return to the page after `_suspend`, with the figures inside."""
        # Check before taking the lock, because most figures are open.
        if self._is_suspended:
            with self._lock:
                self._reopen()

    def _reopen(self) -> None:
        # Another thread may have opened the figure in the meantime.
        if self._is_suspended:
            self._is_suspended = False
            for part in self._parts():
                part._resume()
            self.layout.open()
            self.open()

    def shapes(self) -> StackShapes:
        """Return the shapes of the figure's stacks."""
        raise NotImplementedError

    def _layers(self, stack: str) -> LayerNumbers:
        """Return the layers of a stack that have attention; by default all layers."""
        return LayerNumbers.without((), self.shapes()[stack][0])

    def _takes(self, name: str) -> bool:
        """Return True if the figure accepts values of a trait from linked figures."""
        return bool(self.has_trait(name))

    def _fitting(self, name: str, value: Any) -> Any:
        """Return the part of a linked figure's value that this figure accepts."""
        shapes = self.shapes()
        return fitting(name, value, shapes, layers={stack: self._layers(stack) for stack in shapes})

    def _find_head(self, value: HeadName) -> Head:
        """Return the head with a name such as (1, 3), "L1 H3" or a `Head`, or raise ValueError."""
        shapes = self.shapes()
        return named_head(value, shapes, {stack: self._layers(stack) for stack in shapes})

    @hides_frames
    def has(self, value: HeadName) -> bool:
        """Return True if the figure has a head with this name."""
        try:
            self._find_head(value)
        except (ValueError, TypeError):
            return False
        return True

    def _refuse_unknown(self, traits: Mapping[str, object]) -> None:
        option_names = [name for name in self.trait_names() if not name.startswith("_")]
        unknown = [name for name in traits if name not in option_names]
        if unknown:
            hints = {name: self._hint(name) for name in unknown}
            said = [
                f"has no option {name!r}" + (f"; {hint}" if hint else "")
                for name, hint in hints.items()
            ]
            # A figure has dozens of options, which are listed only without a near name.
            names = sorted(options_of(type(self)))
            listed = "" if all(hints.values()) else f"; options: {', '.join(names)}"
            raise TypeError(f"{type(self).__name__} {'. It '.join(said)}{listed}")

    def _hint(self, name: str) -> str:
        """Return the hint about a name that is no option; "" if no option is near."""
        if name in self._other_options:
            return f"did you mean {self._other_options[name]}?"
        # Traits of every Jupyter widget, such as layout, are accepted but not listed as options.
        close = near_names(name, inspect.signature(type(self)).parameters)
        return f"did you mean {close[0]!r}?" if close else ""

    @hides_frames
    def save_layers(
        self,
        path: str | Path,
        *,
        columns: int = 3,
        width: float | None = None,
        theme: ThemeName = "light",
        title: bool = True,
        seconds: float = 1.0,
    ) -> Path:
        """Save the figure for every layer to one file, as panels or as an animation.

        The figure steps through the layers as by `figure.layer = 0`, `1` and so on: the number of
        the head stays the same, or in a grid or an explorer with a locked word, each layer shows
        its strongest head for the word. Afterwards, the figure shows the same heads as before.

        Args:
            path: File path. .svg, .pdf and .png have a panel for each layer; .gif and .webp are
                animations with a frame for each layer.
            columns: Number of panels per row. Animations ignore it.
            width: Width in pixels of all panels together, or of the animation; default 480 per
                column, or the figure's own width.
            theme: "light" or "dark".
            title: Whether to draw the titles, which name the heads.
            seconds: Time that each layer of an animation is shown. Panels ignore it.

        Raises:
            ValueError: If the suffix or the theme is unknown, or `columns`, `width` or `seconds` is
                not above 0.
            TypeError: If `title` is not a bool.
            FileNotFoundError: If the folder does not exist.

        Example:
            >>> import tempfile
            >>> from attnwidget import HeadView, load_model
            >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
            >>> view.save_layers(tempfile.mkdtemp() + "/head-1.pdf", width=900).name
            'head-1.pdf'
            >>> str(view.head)
            'L2 H1'
        """
        from attnwidget.widgets.shared.layer_pictures import save_layers

        return save_layers(
            self,
            path,
            columns=columns,
            width=width,
            theme=theme,
            title=title,
            seconds=seconds,
        )

    @hides_frames
    def code(self) -> str:
        """Return Python code that creates this figure again.

        The code loads the model by its name, reads the text and sets every option that differs from
        its default. Weights and measurements cannot be written as code, so they appear as the name
        of their parameter with a comment. A notebook displays the result as highlighted code.

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
        # A subclass that a user defines has no `kind`, so use its base class.
        figure = next(cls for cls in type(self).__mro__ if "kind" in vars(cls))
        return code_of(figure.__name__, self._given(), self._chosen())

    def _given(self) -> dict[str, Any]:
        """Return the positional arguments of the figure by parameter name, for `code()`."""
        raise NotImplementedError

    def _chosen(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        return chosen_options(self)

    def page_content(self) -> Page:
        """Return the content of a saved page with this figure."""
        return Page({self.kind: self.page_part()})

    def page_part(self) -> Part:
        """Return the figure's part of a saved page: its state, and the data of its answers.

        This default is for figures whose state has all the data that the page shows.
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
        """Return the options that a saved page cannot change, because it cannot compute."""
        traits = self.traits(page_chooses=lambda names: names is not None)
        page_options = {
            option for trait in traits.values() for option in trait.metadata["page_chooses"]
        }
        all_options = {option for name in traits for option in self._options_behind(name)}
        return dict.fromkeys(sorted(all_options - page_options), NEEDS_A_NOTEBOOK)

    def _leave_missing_heads(self) -> None:
        """Remove heads that the figure no longer has from the selection and the labels."""
        self.selected = [head for head in self.selected if self.has(head)]
        self.labels = [pair for pair in self.labels.pairs() if self.has(pair[0])]

    @property
    def head(self) -> Head | None:
        """Last selected head, which a view of one head shows; None without a selection."""
        return self.selected[-1] if self.selected else None

    @head.setter
    def head(self, head: object) -> None:
        raise AttributeError(
            f"{type(self).__name__}.head is the last selected head: assign `selected`, for example "
            "selected = [(1, 3)]"
        )

    @property
    def n_layers(self) -> int:
        """Number of layers in the deepest stack."""
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
            head = self._strongest_in(layer, stack)
            if head is None:
                head = min(self.head.head, n_heads - 1)
            self.selected = [Head(layer, head, stack)]

    def _strongest_in(self, layer: int, stack: str) -> int | None:
        """Return the number of the head that a step to a layer selects; None for the same head."""
        return None

    def _stepped_stack(self) -> str:
        """Return the stack of the current head; without a head, the first stack."""
        return self.head.stack if self.head else next(iter(self.shapes()))

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Answer a change with a single message. The widget also shows an error of the block.

        The caller must hold the lock, so that the widget handles one change after another.
        """
        with self.hold_sync():
            try:
                yield
            except Exception as error:
                self._error = on_page(error)
                raise
            self._error = ""

    def notify_change(self, change: Any) -> None:
        """Notify the page and the observers about a change."""
        if self.trait_metadata(change["name"], "option"):
            add_changed(self)
        super().notify_change(change)

    def _ask_for_message(self) -> None:
        """Ask the page to report a change that another figure has made in this figure."""
        self._changes_elsewhere += 1
        self.send({"changes": self._changes_elsewhere})

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the synchronized traits in the form that a page receives."""
        if key is None:
            self._resume()
        state: dict[str, Any] = null_in_browser.to_page(super().get_state(key, drop_defaults))
        return state

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Apply a change from the page.

        If the page changes values that only the kernel may compute, the old values are sent back.
        If an option has an invalid value, nothing changes and all old values are sent back.

        Args:
            sync_data: New values by trait name.

        Raises:
            traitlets.TraitError: If an option cannot have its new value.
        """
        if not isinstance(sync_data, dict):
            raise traitlets.TraitError(f"a page changes options by name, got {sync_data!r}")
        names_to_send_back = [
            name for name in sync_data if name in self.keys and not self._page_sets(name)
        ]
        forwarded = {
            name: value for name, value in sync_data.items() if name not in names_to_send_back
        }
        old_values = {
            name: self._trait_values[name] for name in forwarded if name in self._trait_values
        }
        try:
            with page_changes(self):
                super().set_state(forwarded)
        except traitlets.TraitError:
            # traitlets does not roll back a value that equals the old value, such as False and 0.
            self._trait_values.update(old_values)
            names_to_send_back += [name for name in forwarded if name in self.keys]
            raise
        finally:
            if names_to_send_back:
                self.send_state(names_to_send_back)

    def _page_sets(self, name: str) -> bool:
        """Return True if the page may change a trait; other traits report the kernel's state."""
        # Jupyter's traits, such as the layout, have no metadata of this package.
        is_option = self.trait_metadata(name, "option", not name.startswith("_"))
        return bool(self.trait_metadata(name, "from_page", is_option))

    def _handle_msg(self, msg: dict[str, Any]) -> None:
        # No option of a figure has bytes, and their paths in the message may be invalid.
        if paths := msg["content"]["data"].get("buffer_paths"):
            name = type(self).__name__
            self.log.warning(f"{name} takes no binary values from a page, got some for {paths!r}")
            return
        super()._handle_msg(null_in_browser.from_page(msg))

    def _handle_custom_msg(self, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and content.keys() == {"asked"}:
            # Messages are handled in order, so this answer confirms all earlier changes.
            self.send(content)
            return
        super()._handle_custom_msg(content, buffers)

    def close(self) -> None:
        """Close the figure and release its data in Python and on the page.

        The other figures of its links stay linked. A closed figure keeps its options, and `code()`
        returns the code that creates it again. Other methods and assignments raise RuntimeError.
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
        # These attributes hide the methods, so that methods of an open figure need no check.
        cls: Any = type(self)
        self.__dict__.update(_refusals(cls))
        # traitlets calls the validator of an option before each assignment.
        self.__dict__["_trait_validators"] = dict.fromkeys(_option_names(cls), _refuse_assignment)


def _closed_error(cls: type[HeadWidget]) -> RuntimeError:
    return RuntimeError(
        f"this {cls.__name__} was closed: its code() returns the code that makes it again"
    )


def _refuse_assignment(figure: HeadWidget, proposal: object) -> NoReturn:
    """Refuse a new value for an option of a closed figure, in place of the option's validator."""
    raise _closed_error(type(figure))


@cache
def _option_names(cls: type[HeadWidget]) -> tuple[str, ...]:
    """Return the names of the options of a figure class."""
    return tuple(options_of(cls))


@cache
def _refusals(cls: type[HeadWidget]) -> Mapping[str, Callable[..., NoReturn]]:
    """Return the functions that replace the methods of a closed figure, by name."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise _closed_error(cls)

    package_methods = {
        name
        for base in cls.__mro__
        if base.__module__.startswith("attnwidget.")
        for name, value in vars(base).items()
        if isinstance(value, FunctionType) and not name.startswith("_")
    }
    refused_methods = package_methods - _KEPT_WHEN_CLOSED - _OF_JUPYTER
    return dict.fromkeys(refused_methods | _REFUSED_OF_WIDGETS, refuse)
