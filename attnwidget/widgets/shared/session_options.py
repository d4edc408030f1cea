"""Options of all widgets in a session."""

from __future__ import annotations

import sys

from attnwidget.text.near_names import among

#: Default values. Python in a browser (Pyodide) cannot draw pictures.
_DEFAULTS = {"static_fallback": sys.platform != "emscripten"}


class Options:
    """Options of all widgets in this session: `attnwidget.options`.

    Attributes:
        static_fallback: Whether a displayed widget also has a picture and a table of its state, for
            viewers that cannot run widgets, such as another computer, GitHub or nbconvert. False
            omits both and saves the drawing time. The default is True, except for Python in a
            browser, which cannot draw pictures.

    Raises:
        AttributeError: If there is no such option.
        TypeError: If a value has another type.

    Example:
        >>> from attnwidget import options
        >>> options.static_fallback = False
        >>> options
        options(static_fallback=False)
        >>> options.static_fallback = True
    """

    static_fallback: bool

    def __init__(self) -> None:
        vars(self).update(_DEFAULTS)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _DEFAULTS:
            raise AttributeError(_unknown(name))
        if not isinstance(value, bool):
            raise TypeError(f"options.{name} must be True or False, got {value!r}")
        vars(self)[name] = value

    def __getattr__(self, name: str) -> object:
        raise AttributeError(_unknown(name))

    def __delattr__(self, name: str) -> None:
        raise AttributeError("an option cannot be deleted; set it to True or False")

    def __dir__(self) -> list[str]:
        return sorted(_DEFAULTS)

    def __repr__(self) -> str:
        return f"options({', '.join(f'{name}={vars(self)[name]}' for name in _DEFAULTS)})"


def _unknown(name: str) -> str:
    return f"attnwidget has no option {name!r}: {among(name, _DEFAULTS)}"


options = Options()
