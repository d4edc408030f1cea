"""Errors for attributes that an object does not have, with the name that does."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.near_names import did_you_mean

# Methods of tables that readers also expect of objects that have a table.
_OF_TABLES = frozenset(
    [
        "columns",
        "describe",
        "groupby",
        "head",
        "iloc",
        "index",
        "iterrows",
        "itertuples",
        "loc",
        "nlargest",
        "nsmallest",
        "pivot",
        "pivot_table",
        "plot",
        "query",
        "sort_values",
        "tail",
        "to_clipboard",
        "to_csv",
        "to_dict",
        "to_excel",
        "to_html",
        "to_json",
        "to_numpy",
        "to_parquet",
        "to_string",
    ]
)


class MissingNames:
    """Base class whose errors for missing attributes and options name the one that exists.

    A name of a pandas table is answered with `to_frame()`, if the class has this method.

    Example:
        >>> from attnwidget import load_model, measure
        >>> metrics = measure(load_model(), ["The cat sat."], ["entropy"], progress=False)
        >>> metrics.to_csv("metrics.csv")
        Traceback (most recent call last):
        AttributeError: 'Measurements' has no attribute 'to_csv': use to_frame().to_csv
    """

    #: Calls that answer names which other packages use, by the name.
    _other_names: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init_subclass__(cls, **options: Any) -> None:
        """Decorate the public methods, so that errors about their arguments name the option."""
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            is_public = isinstance(method, FunctionType) and not name.startswith("_")
            if is_public and not hasattr(method, "__wrapped__"):
                setattr(cls, name, hides_frames(method))

    # Type checkers would accept any attribute if they saw `__getattr__`.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):
                # A property that raised an AttributeError raises it again, with its own message.
                return object.__getattribute__(self, name)
            advice = self._advice_on(name)
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}: {advice}")

    def _advice_on(self, name: str) -> str:
        """Return the advice of an error about a missing attribute."""
        if name in self._other_names:
            return f"use {self._other_names[name]}"
        names = [known for known in dir(self) if not known.startswith("_")]
        if close := did_you_mean(name, names):
            return close
        if name in _OF_TABLES and "to_frame" in names:
            return f"use to_frame().{name}"
        return f"its names are {', '.join(names)}"
