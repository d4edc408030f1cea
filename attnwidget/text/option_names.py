"""Errors for options that a function does not have, with the option that it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

from attnwidget.text.near_names import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

# Usual names of the number of results, which is `top` in this package.
_NUMBERS = frozenset({"count", "k", "limit", "n", "n_links", "num", "top_k", "topk", "top_n"})


def names_options(**others: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: an unknown keyword is an error that names the option or call to use.

    Args:
        others: Calls that answer keywords which other packages use, by the keyword.

    Example:
        >>> from attnwidget import load_model
        >>> load_model().predict("The woman washed [MASK] hands.", top_k=3)
        Traceback (most recent call last):
        TypeError: predict has no option 'top_k': did you mean 'top'?
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = signature(function).parameters
        if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values()):
            raise TypeError(f"{function.__name__} takes any keyword, so none is unknown")
        names = list(parameters)
        public = [name for name in names if name != "self"]

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in names:
                    raise TypeError(
                        f"{function.__name__} has no option {name!r}: "
                        f"{_advice(name, public, others)}"
                    )
            try:
                signature(function).bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(
                    f"{function.__name__}: {error}; its parameters are "
                    f"{', '.join(_as_called(parameters[name]) for name in public)}"
                ) from None
            return function(*args, **kwargs)

        return call

    return decorate


def _as_called(parameter: Parameter) -> str:
    """Return a parameter as a caller writes it."""
    return f"{parameter.name}=" if parameter.kind is Parameter.KEYWORD_ONLY else parameter.name


def _advice(name: str, names: list[str], others: dict[str, str]) -> str:
    """Return the advice on an unknown keyword."""
    if name in others:
        return f"use {others[name]}"
    if name in _NUMBERS and "top" in names:
        return "did you mean 'top'?"
    return did_you_mean(name, names) or f"its options are {', '.join(names)}"
