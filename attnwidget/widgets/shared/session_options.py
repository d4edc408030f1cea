"""What holds for all widgets of a session."""

from __future__ import annotations

import sys

from attnwidget.text.near_names import among

#: What each option is set to. Python in a browser (Pyodide) has nothing that draws pictures.
_DEFAULTS = {"static_fallback": sys.platform != "emscripten"}


class Options:
    """Options of all widgets of this session: `attnwidget.options`.

    `static_fallback` (True): a displayed widget also holds a picture and a table of its state, for
    readers that cannot run widgets: another machine, GitHub, nbconvert. False omits both and saves
    the time of drawing them. Python in a browser cannot draw pictures, so the default is False
    there.

    Raises:
        AttributeError: there is no such option.
        TypeError: the value is of another type.

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
            raise TypeError(f"options.{name} is True or False, got {value!r}")
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
