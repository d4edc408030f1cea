"""Errors for arguments that a function does not take, with the option that it has."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

from attnwidget.text.near_names import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

# Usual names of the number of results, which is `top` in this package.
_NUMBERS = frozenset({"count", "k", "limit", "n", "n_links", "num", "top_k", "topk", "top_n"})

_ATTRIBUTE = "_other_options"


def other_options(**calls: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: the error for an unknown keyword names the call that answers it.

    The decorator stands under `hides_frames` or `in_plain_torch`, which raise the error.

    Args:
        calls: Calls that answer keywords which other packages use, by the keyword.

    Example:
        >>> from attnwidget import load_model
        >>> load_model().predict("The woman washed [MASK] hands.", candidates=["her"])
        Traceback (most recent call last):
        TypeError: predict has no option 'candidates': use predict(...).probability('her')
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        setattr(function, _ATTRIBUTE, calls)
        return function

    return decorate


def argument_error(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError | None:
    """Return the error of a call whose arguments do not fit the function, None if they fit.

    Args:
        function: Called function.
        args: Its positional arguments.
        kwargs: Its keyword arguments.

    Example:
        >>> from attnwidget import load_model
        >>> load_model().predict("The woman washed [MASK] hands.", top_k=3)
        Traceback (most recent call last):
        TypeError: predict has no option 'top_k': did you mean 'top'?
    """
    try:
        signature(function).bind(*args, **kwargs)
    except TypeError as error:
        parameters = signature(function).parameters
        public = [parameter for name, parameter in parameters.items() if name != "self"]
        unknown = [name for name in kwargs if name not in parameters]
        if not unknown:
            called = ", ".join(_as_called(parameter) for parameter in public)
            takes = f"its parameters are {called}" if called else "it takes no arguments"
            return TypeError(f"{function.__name__}: {error}; {takes}")
        others = getattr(function, _ATTRIBUTE, {})
        advice = _advice(unknown[0], [parameter.name for parameter in public], others)
        return TypeError(f"{function.__name__} has no option {unknown[0]!r}: {advice}")
    return None


def _as_called(parameter: Parameter) -> str:
    """Return a parameter as a caller writes it."""
    return f"{parameter.name}=" if parameter.kind is Parameter.KEYWORD_ONLY else parameter.name


def _advice(name: str, names: list[str], others: dict[str, str]) -> str:
    """Return the advice on an unknown keyword."""
    if name in others:
        return f"use {others[name]}"
    if name in _NUMBERS and "top" in names:
        return "did you mean 'top'?"
    if close := did_you_mean(name, names):
        return close
    return f"its options are {', '.join(names)}" if names else "it has no options"
