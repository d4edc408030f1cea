"""A widget's traits as JSON can hold them."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from typing import Any

from attnwidget.widgets.heads import HeadWidget

# Code and layout, which a page has in another form.
_NOT_SAVED = {"_esm", "_css", "layout", "tabbable", "tooltip"}


def state_of(widget: HeadWidget, *, without: Collection[str] = ()) -> dict[str, Any]:
    """What the page's copy of a widget starts from; `without` is what the page computes."""
    return {
        name: readable(value)
        for name, value in widget.get_state().items()
        if name not in _NOT_SAVED
        and name not in without
        and not name.startswith(("_model", "_view", "_dom", "_anywidget"))
    }


def readable(value: Any) -> Any:
    """A trait's value with the bytes of its arrays as base64 text.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.pages.states import readable
        >>> from attnwidget.widgets.wire import to_wire
        >>> readable({"n": to_wire(np.array([1], "i4"))})
        {'n': {'shape': [1], 'dtype': '<i4', 'view': 'AQAAAA=='}}
    """
    if isinstance(value, Mapping):
        return {name: readable(inner) for name, inner in value.items()}
    if isinstance(value, (bytes, memoryview)):
        return base64.b64encode(value).decode("ascii")
    return value
