"""Conversion of None for Python in a browser, because the JupyterLite kernel loses None.

A trait that becomes None would keep its old value on the page, and null from the page would arrive
as a Pyodide object. JavaScript's null is transferred correctly in both directions.
"""

from __future__ import annotations

import sys
from typing import Any

if sys.platform == "emscripten":
    from pyodide.ffi import jsnull
else:
    jsnull = None


def to_page(value: Any) -> Any:
    """Return a state with JavaScript's null instead of None; outside of browsers, the state itself.

    Example:
        >>> from attnwidget.widgets.wire.null_in_browser import to_page
        >>> to_page({"metric": None})
        {'metric': None}
    """
    return _replaced(value, None, jsnull)


def from_page(value: Any) -> Any:
    """Return a message with None instead of JavaScript's null; outside of browsers, the message.

    Example:
        >>> from attnwidget.widgets.wire.null_in_browser import from_page
        >>> from_page({"filter": [0, None]})
        {'filter': [0, None]}
    """
    return _replaced(value, jsnull, None)


def _replaced(value: Any, old: Any, new: Any) -> Any:
    if old is new:
        return value
    if value is old:
        return new
    if isinstance(value, dict):
        return {name: _replaced(inner, old, new) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(inner, old, new) for inner in value]
    return value
