"""None between Python in a browser and its page: the kernel of JupyterLite loses it on the way.

A trait that became None would keep its old value on the page, and a null of the page would arrive
as an object of Pyodide. JavaScript's own null crosses in both directions.
"""

from __future__ import annotations

import sys
from typing import Any

if sys.platform == "emscripten":
    from pyodide.ffi import jsnull
else:
    jsnull = None


def to_page(value: Any) -> Any:
    """Return a state with JavaScript's null for None; outside of browsers, the state itself.

    Example:
        >>> from attnwidget.widgets.wire.null_in_browser import to_page
        >>> to_page({"metric": None})
        {'metric': None}
    """
    return _replaced(value, None, jsnull)


def from_page(value: Any) -> Any:
    """Return a message with None for JavaScript's null; outside of browsers, the message itself.

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
