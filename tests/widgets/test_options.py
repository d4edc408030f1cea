"""Options and names of figures: what type checkers, `help`, `dir` and errors say about them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_type_hints

import ipywidgets
import numpy as np
import pytest
import traitlets

import attnwidget
from attnwidget import Attention, HeadGrid, HeadView, LinkView, explore, save_page
from attnwidget.capture.tapping.head import HeadName
from attnwidget.widgets.attention_page import PageOptions
from attnwidget.widgets.explorer.explorer_figure import ExplorerOptions
from attnwidget.widgets.prediction_view.scaled_links import ScaledLinks, ScaledLinksTrait
from attnwidget.widgets.shared.head_labels import Labels
from attnwidget.widgets.shared.head_widget import FigureOptions, HeadWidget
from attnwidget.widgets.shared.option_text import option_default, option_type, options_of
from attnwidget.widgets.shared.traits import (
    Heads,
    HeadsTrait,
    MarkedTokens,
    Subset,
    TokenMarks,
    WindowTrait,
)
from fixtures.figure_classes import FIGURE_CLASSES
from refusals import naming

#: Options of every Jupyter widget, which `help` does not list.
OF_JUPYTER = {"layout", "tabbable", "tooltip"}
#: Types of traits that take any value and check it themselves.
CHECKED_BY_THE_FIGURE: dict[str, Any] = {
    "filter": Sequence[float] | None,
    "versus": Attention | Literal["intact"] | None,
}


def options_type(cls: type[HeadWidget]) -> Any:
    """The dictionary of the constructor's keywords, which stands beside the class."""
    name = "ExplorerOptions" if cls.__name__ == "Explorer" else f"{cls.__name__}Options"
    return getattr(importlib.import_module(cls.__module__), name)


def parameters_of(cls: type[HeadWidget]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(cls.__init__).parameters)


def type_of(name: str, trait: traitlets.TraitType[Any, Any]) -> Any:
    """What a type checker should accept for a trait."""
    found: Any
    if isinstance(trait, traitlets.Enum):
        found = Literal[tuple(trait.values or ())]  # type: ignore[misc]
    elif isinstance(trait, Subset):
        found = Literal[trait.choices] | Sequence[Literal[trait.choices]]  # type: ignore[name-defined]
    elif isinstance(trait, HeadsTrait):
        found = Heads
    elif isinstance(trait, TokenMarks):
        found = MarkedTokens
    elif isinstance(trait, ScaledLinksTrait):
        found = ScaledLinks
    elif isinstance(trait, Labels):
        found = Mapping[Any, str] | Sequence[tuple[Any, str]]
    elif isinstance(trait, WindowTrait):
        return Sequence[int] | None
    elif type(trait) is traitlets.Any:
        return CHECKED_BY_THE_FIGURE[name]
    else:
        found = {traitlets.Bool: bool, traitlets.Int: int, traitlets.Unicode: str}[type(trait)]
    return found | None if trait.allow_none else found


@pytest.mark.parametrize("cls", FIGURE_CLASSES, ids=lambda cls: cls.__name__)
def test_a_type_checker_reads_exactly_the_options(cls: type[HeadWidget]) -> None:
    typed = get_type_hints(options_type(cls))
    options = options_of(cls)
    assert typed.keys() - OF_JUPYTER == options.keys() - parameters_of(cls).keys()
    assert not options_type(cls).__required_keys__
    for name, trait in options.items():
        if name in typed:
            assert typed[name] == type_of(name, trait), name
    keywords = list(parameters_of(cls).values())[-1]
    assert keywords.annotation == f"Unpack[{options_type(cls).__name__}]"


def test_options_of_every_widget_are_those_of_jupyter() -> None:
    assert FigureOptions.__annotations__.keys() == OF_JUPYTER | {"labels"}
    assert set(attnwidget.HeadScatter.class_trait_names()) >= OF_JUPYTER


@pytest.mark.parametrize("cls", FIGURE_CLASSES, ids=lambda cls: cls.__name__)
def test_help_lists_each_option_with_type_default_and_values(cls: type[HeadWidget]) -> None:
    doc = inspect.getdoc(cls) or ""
    assert doc.count("\nOptions:\n") == 1
    section = doc.split("\nOptions:\n")[1].split("\n\n")[0]
    assert all(len(line) <= 96 for line in section.splitlines())
    listed = " ".join(section.split())
    for name, trait in options_of(cls).items():
        entry = f"{name} ({option_type(trait)}): {trait.help} Default: {option_default(cls, name)}."
        assert " ".join(entry.split()) in listed, name
        for value in getattr(trait, "values", None) or ():
            assert f'"{value}"' in option_type(trait), name
    # Examples are the last section.
    assert doc.index("\nOptions:\n") < doc.index("\nExample:\n")


@pytest.mark.parametrize("cls", FIGURE_CLASSES, ids=lambda cls: cls.__name__)
def test_a_notebook_completes_the_names_of_options(cls: type[HeadWidget]) -> None:
    signature = inspect.signature(cls)
    assert options_of(cls).keys() <= signature.parameters.keys()
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in signature.parameters.values())


def test_functions_that_make_figures_have_the_options_of_these_figures() -> None:
    assert options_of(attnwidget.Explorer).keys() <= inspect.signature(explore).parameters.keys()
    page = inspect.signature(save_page).parameters.keys()
    options = options_of(HeadGrid) | options_of(HeadView)
    assert options.keys() <= page
    typed = get_type_hints(PageOptions)
    assert typed.keys() - OF_JUPYTER == options.keys() - {"selected"}
    assert get_type_hints(ExplorerOptions).keys() >= {"example", "panels", "tab"}


def test_a_class_of_a_user_has_the_signature_of_its_own_constructor() -> None:
    class Titled(HeadView):
        """A view with a title."""

        def __init__(self, attention: Attention, title: str = "") -> None:
            super().__init__(attention)
            self.title = title

    class Longer(HeadView):
        size = traitlets.Int(3, help="A number.").tag(sync=True, option=True)

    assert list(inspect.signature(Titled).parameters) == ["attention", "title"]
    assert inspect.signature(Longer).parameters["size"].default == 3
    assert Titled.__doc__ == "A view with a title."


def test_defaults_in_help_are_the_values_of_a_new_figure(attention: Attention) -> None:
    """A default without words is what a figure has that was made without options."""
    for cls in (HeadView, HeadGrid, attnwidget.LinkView, attnwidget.PredictionView):
        figure = cls(attention)
        for name, parameter in inspect.signature(cls).parameters.items():
            if name in options_of(cls) and name != "layer" and repr(parameter.default) != "...":
                expected = parameter.default
                assert getattr(figure, name) == (list(expected) if expected == () else expected), (
                    cls.__name__,
                    name,
                )
        figure.close()


@pytest.mark.parametrize(
    "value",
    ["L1 H3", (1, 3), [(1, 3), "L2 H4"], np.array([[1, 3], [2, 4]])],
    ids=["name", "pair", "list", "array"],
)
def test_heads_have_the_forms_that_their_type_has(attention: Attention, value: Heads) -> None:
    assert HeadGrid(attention, selected=value).head is not None
    assert get_args(Heads)[0] in get_args(HeadName)


#: Names that authors of figures define or call, and that no user needs.
INTERNAL = {"kind", "page_content", "page_label", "page_part", "page_remark", "page_title"}
INTERNAL |= {"jobs", "shapes", "shared_traits", "together", "color_names"}
INTERNAL |= {"add_traits", "get_state", "hold_sync", "notify_change", "set_state", "setup_instance"}


@pytest.mark.parametrize("cls", FIGURE_CLASSES, ids=lambda cls: cls.__name__)
def test_dir_lists_what_users_use(cls: type[HeadWidget]) -> None:
    listed = set(dir(cls.__new__(cls)))
    assert not listed & INTERNAL and not [name for name in listed if name.startswith("_")]
    assert listed >= options_of(cls).keys() | {"caption", "close", "code", "figure", "observe"}
    assert listed >= {"has", "head", "layout", "n_layers", "save", "static", "unobserve"}
    # Everything else of the package is in `dir` too, and everything that is hidden is callable.
    own = {n for b in cls.__mro__ if b.__module__.startswith("attnwidget.") for n in vars(b)}
    of_jupyter = set(dir(ipywidgets.DOMWidget))
    assert {n for n in own if not n.startswith("_")} - listed - of_jupyter <= INTERNAL
    assert all(hasattr(cls, name) for name in ("page_content", "get_state", "hold_sync"))


def test_dir_lists_what_a_user_adds(attention: Attention) -> None:
    class Titled(HeadView):
        heading = "A view"

    view = Titled(attention)
    view.remark = "mine"
    assert {"heading", "remark"} <= set(dir(view))


def test_dir_of_a_model_lists_what_users_use() -> None:
    model = attnwidget.load_model()
    assert dir(model) == [
        "attend",
        "attend_batch",
        "close",
        "default_method",
        "device",
        "disabled",
        "generate",
        "hf_model",
        "length_limit",
        "n_heads",
        "n_layers",
        "name",
        "predict",
        "processor",
        "random_parts",
        "replay",
        "scaled_links",
        "source",
        "tokenizer",
    ]
    assert model.lock is not None and callable(model.check_open)


@pytest.mark.parametrize("cls", [HeadView, LinkView], ids=lambda cls: cls.__name__)
def test_errors_speak_of_the_arguments_that_the_user_wrote(
    cls: type[HeadView] | type[LinkView], attention: Attention
) -> None:
    for arguments, named in [
        ({"layer": 1, "head": 33}, "head 33 is not among 0 to 11"),
        ({"head": 33}, "head 33 is not among 0 to 11"),
        ({"layer": 33}, "layer 33 is not among 0 to 5"),
        ({"layer": "L1 H33"}, "head 33 is not among 0 to 11"),
        ({"stack": "decoder"}, "there is no stack 'decoder': the names are 'self'"),
    ]:
        options: Any = arguments
        with pytest.raises(ValueError, match=named) as raised:
            cls(attention, **options)
        assert "selected" not in str(raised.value)


@pytest.mark.parametrize("cls", FIGURE_CLASSES, ids=lambda cls: cls.__name__)
def test_an_unknown_option_gets_the_name_that_was_meant(cls: type[HeadWidget]) -> None:
    figure: Any = cls.__new__(cls)
    names = [name for name in inspect.signature(cls).parameters if len(name) > 3]
    for name in names:
        wrong = f"{name}x"
        with pytest.raises(TypeError, match=rf"'{wrong}'.*'{name}s?'"):
            figure._refuse_unknown({wrong: None})
    meant = {"heads": "selected"} if "head" in inspect.signature(cls).parameters else {}
    for wrong in meant or {"head": "selected", "heads": "selected"}:
        with pytest.raises(TypeError, match=naming(f"'{wrong}'", "'selected'")):
            figure._refuse_unknown({wrong: None})
    with pytest.raises(TypeError, match=naming("'zzz'", "labels", "selected")):
        figure._refuse_unknown({"zzz": None})


@pytest.mark.parametrize("cls", FIGURE_CLASSES, ids=lambda cls: cls.__name__)
def test_a_wrong_value_gets_the_values_that_an_option_has(cls: type[HeadWidget]) -> None:
    for name, trait in options_of(cls).items():
        if isinstance(trait, (traitlets.Enum, Subset)):
            values: Any = trait.choices if isinstance(trait, Subset) else trait.values
            with pytest.raises(traitlets.TraitError) as raised:
                trait.validate(cls.__new__(cls), "zzz")
            assert name in str(raised.value), name
            assert all(repr(value) in str(raised.value) for value in values), name


def test_a_link_view_without_a_head_says_what_to_do(attention: Attention) -> None:
    for view, said in [
        (LinkView(attention), "Select a head: click one in a linked figure, or set view.selected"),
        (LinkView(attention, 2, 1), "Choose a link: click a line or a cell in a linked figure"),
    ]:
        assert said in view.figure().svg
        assert view.caption.notes[0].startswith(said)


@pytest.fixture(scope="module")
def attention() -> Attention:
    # "her" and its rivals are answers: a masked token can be predicted.
    return attnwidget.load_model().attend("The woman washed [MASK] hands.")
