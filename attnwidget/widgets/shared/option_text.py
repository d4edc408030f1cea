"""The options of a figure in words, made from its traits: for `help`, signatures and the reference.

A type checker reads options in the `TypedDict` beside the class of a figure, because it reads
sources only. A test compares these dictionaries with the traits.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import traitlets

Function = TypeVar("Function", bound=Callable[..., Any])

_WIDTH = 100
# The sections of a docstring that come after the options.
_LATER = re.compile(r"^ *(Raises|Example):$", re.MULTILINE)
_PLAIN_TYPES: Mapping[type, str] = {
    traitlets.Bool: "bool",
    traitlets.Int: "int",
    traitlets.Unicode: "str",
}


class ComputedDefault:
    """The default of an option that the constructor computes, in signatures.

    Example:
        >>> import inspect
        >>> from attnwidget import HeadView
        >>> options = inspect.signature(HeadView).parameters
        >>> repr(options["mode"].default), repr(options["unit"].default)
        ('...', "'tokens'")
    """

    def __repr__(self) -> str:
        return "..."


_COMPUTED = ComputedDefault()


def options_of(cls: type[Any]) -> dict[str, traitlets.TraitType[Any, Any]]:
    """Return the options of a figure class by name: its own, then the options of its bases.

    Example:
        >>> from attnwidget import HeadView
        >>> from attnwidget.widgets.shared.option_text import options_of
        >>> list(options_of(HeadView))[:3]
        ['mode', 'window', 'sentences']
    """
    traits: dict[str, traitlets.TraitType[Any, Any]] = {}
    for base in cls.__mro__:
        for name, trait in vars(base).items():
            if isinstance(trait, traitlets.TraitType):
                traits.setdefault(name, trait)
    return {
        name: trait
        for name, trait in traits.items()
        if not name.startswith("_")
        and (trait.metadata.get("option") or trait.metadata.get("from_page"))
    }


def option_type(trait: traitlets.TraitType[Any, Any]) -> str:
    """Return the type of an option in words, with all values of an enumeration.

    Example:
        >>> from attnwidget import HeadView
        >>> from attnwidget.widgets.shared.option_text import option_type
        >>> option_type(HeadView.unit)
        '"tokens" or "words"'
    """
    if takes := trait.metadata.get("takes"):
        return str(takes)
    if isinstance(trait, traitlets.Enum):
        return _either([*map(_as_code, trait.values or ()), *["None"] * trait.allow_none])
    if choices := getattr(trait, "choices", None):
        return f"some of {', '.join(map(_as_code, choices))}"
    plain = _PLAIN_TYPES.get(type(trait))
    if plain is None:
        return trait.info()
    least = getattr(trait, "min", None)
    most = getattr(trait, "max", None)
    if least is not None and least > float("-inf"):
        plain = f"{plain} from {least}"
    if most is not None and most < float("inf"):
        plain = f"{plain} to {most}"
    return f"{plain} or None" if trait.allow_none else plain


def option_default(cls: type[Any], name: str) -> str:
    """Return the default of an option as Python, or in words if the constructor computes it.

    Example:
        >>> from attnwidget import HeadView
        >>> from attnwidget.widgets.shared.option_text import option_default
        >>> option_default(HeadView, "unit"), option_default(HeadView, "selected")
        ('"tokens"', 'the head of `layer` and `head`, otherwise the first head')
    """
    return default_in_words(cls, name) or _as_code(getattr(cls, name).default())


def default_in_words(cls: type[Any], name: str) -> str:
    """Return the description of a default that the constructor computes; "" for other defaults.

    Example:
        >>> from attnwidget import RelationTable, DependencyArcs
        >>> from attnwidget.widgets.shared.option_text import default_in_words
        >>> default_in_words(DependencyArcs, "layer"), default_in_words(RelationTable, "layer")
        ('the layer of the selected head, otherwise 0', '')
    """
    for base in cls.__mro__:
        if name in (words := vars(base).get("_computed_defaults", {})):
            return str(words[name])
        # A class that declares the option anew declares its default too.
        if isinstance(vars(base).get(name), traitlets.TraitType):
            return ""
    return ""


def with_options(cls: type[Any], doc: str) -> str:
    """Return the docstring of a figure class with a section of its options.

    Args:
        cls: The class.
        doc: The docstring as it is written, with the indentation of the source.
    """
    entries = "\n".join(_entry(cls, name, trait) for name, trait in options_of(cls).items())
    section = f"    Options:\n{entries}\n\n"
    later = _LATER.search(doc)
    if later is None:
        return f"{doc.rstrip()}\n\n{section.rstrip()}\n    "
    return doc[: later.start()] + section + doc[later.start() :]


def _entry(cls: type[Any], name: str, trait: traitlets.TraitType[Any, Any]) -> str:
    """Return the lines of an option in a docstring."""
    text = f"{name} ({option_type(trait)}): {trait.help} Default: {option_default(cls, name)}."
    lines = []
    line = " " * 7
    for word in text.split():
        # The width of the docstring in the source. `help` removes its indentation.
        if len(line) + len(word) >= _WIDTH:
            lines.append(line)
            line = " " * 11
        line += f" {word}"
    return "\n".join([*lines, line])


class OptionSignature:
    """The signature of a figure class: the parameters of its constructor, and its options.

    Notebooks complete the names of options from it.
    """

    def __get__(self, figure: object, cls: type[Any]) -> inspect.Signature:
        if not vars(cls).get("_traits"):
            # traitlets reads all attributes of a class before it has found the traits.
            raise AttributeError("__signature__")
        return signature_with_options(cls.__init__, cls)


def signature_with_options(function: Callable[..., Any], *figures: type[Any]) -> inspect.Signature:
    """Return the signature of a function with the options of figures in place of `**traits`.

    Args:
        function: The function; a parameter `self` is left out.
        figures: Classes of figures; the first class with an option gives the default.
    """
    signature = inspect.signature(function)
    given = [
        parameter
        for name, parameter in signature.parameters.items()
        if name != "self" and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    names = {parameter.name for parameter in given}
    if len(names) == len(signature.parameters) - ("self" in signature.parameters):
        # The function takes no further options.
        return signature.replace(parameters=given)
    for cls in figures:
        for name, trait in options_of(cls).items():
            if name not in names:
                names.add(name)
                default = _COMPUTED if default_in_words(cls, name) else trait.default()
                given.append(
                    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
                )
    return signature.replace(parameters=given)


def takes_options_of(*figures: type[Any]) -> Callable[[Function], Function]:
    """Return a decorator that lists the options of figures in the signature of a function.

    Args:
        figures: Classes of figures to which the function passes its `**traits`.
    """

    def with_signature(function: Function) -> Function:
        function.__signature__ = signature_with_options(function, *figures)  # type: ignore[attr-defined]
        return function

    return with_signature


def _as_code(value: Any) -> str:
    """Return a value as Python, with texts in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _either(values: list[str]) -> str:
    *others, last = values
    return f"{', '.join(others)} or {last}" if others else last
