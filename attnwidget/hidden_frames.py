"""Tracebacks and warnings that show the user's code, without the frames of this package."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

_PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_LOADERS = re.compile(r"[\\/](transformers|huggingface_hub)[\\/]")


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that called this package.

    A fixed `stacklevel` would not work, because decorators and internal calls shift it.

    Args:
        message: Warning message.
        category: Warning class.

    Example:
        >>> import warnings
        >>> from attnwidget.hidden_frames import warn_caller
        >>> with warnings.catch_warnings(record=True) as warned:
        ...     warnings.simplefilter("always")
        ...     warn_caller("a heavy head")
        >>> str(warned[0].message), warned[0].filename.endswith("hidden_frames.py")
        ('a heavy head', False)
    """
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def hide_frames(error: BaseException) -> None:
    """Let IPython hide the frames of this package in the traceback of an error.

    IPython hides frames that have a local variable `__tracebackhide__` and prints their number. It
    always shows the last frame. `%xmode --show` shows all frames. Nothing changes outside of
    IPython, so a debugger or pytest shows every frame.

    In chained errors, the frames of transformers and huggingface_hub are hidden too, because the
    errors of `load_model` repeat the reason that these libraries give.

    Args:
        error: Error that a public function raises.
    """
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return
    visited: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in visited:
        visited.add(id(link))
        for frame, _ in traceback.walk_tb(link.__traceback__):
            file = frame.f_code.co_filename
            if file.startswith(_PACKAGE) or (link is not error and _LOADERS.search(file)):
                # A frame accepts entries that are not variables of its code.
                frame.f_locals["__tracebackhide__"] = True
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def hides_frames(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Decorate a public function so that `hide_frames` applies to its errors.

    If the arguments do not fit the function, the error names the option that exists.

    Args:
        function: Public function.

    Returns:
        A function with the same parameters and result.

    Example:
        >>> from attnwidget.hidden_frames import hides_frames
        >>> @hides_frames
        ... def double(number):
        ...     return 2 * number
        >>> double(2)
        4
    """

    @wraps(function)
    def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            misfit = _misfit(error, function, args, kwargs)
            if misfit is None:
                raise
            raise misfit from None

    return wrapper


def _misfit(
    error: Exception, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError | None:
    """Return the error for arguments that the function does not take, None for other errors."""
    if not isinstance(error, TypeError):
        return None
    from attnwidget.text.option_names import argument_error

    return argument_error(function, args, kwargs)
