"""Encoding of maps, arrays and traits for saved pages, as bytes and JSON."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import anywidget
import numpy as np
from numpy.typing import NDArray

from attnwidget.widgets.wire.null_in_browser import from_page

#: Number of characters per byte, because bytes are written as base64 text.
AS_TEXT = 4 / 3
# Traits of every Jupyter widget, such as its layout, which a page does not need.
_OF_JUPYTER = frozenset(anywidget.AnyWidget.class_trait_names())


def rounded(values: NDArray[np.float32]) -> tuple[NDArray[np.uint8], float]:
    """Return a map as bytes of the same shape, and its largest value.

    The byte 0 means masked (NaN), and 1 to 255 are the rounded square root of value / maximum.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.pages.encoding import rounded
        >>> rounded(np.array([0.0, 0.125, 0.5, np.nan], "f4"))
        (array([  1, 128, 255,   0], dtype=uint8), 0.5)
    """
    is_visible = ~np.isnan(values)
    maximum = float(values[is_visible].max()) if is_visible.any() else 0.0
    share = np.sqrt(np.clip(values[is_visible] / maximum, 0, 1)) if maximum > 0 else 0
    levels = np.zeros(values.shape, np.uint8)
    levels[is_visible] = 1 + np.rint(254 * share)
    return levels, maximum


def rounding(values: NDArray[np.float32], levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the rounding errors of a map's bytes, as 128 + 256 times the error.

    A byte and its rounding error together give a value with four digits.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.pages.encoding import rounded, rounding
        >>> values = np.array([0.0, 0.125, 0.5, np.nan], "f4")
        >>> rounding(values, rounded(values)[0])
        array([128, 128, 128,   0], dtype=uint8)
    """
    is_visible = ~np.isnan(values)
    maximum = float(values[is_visible].max()) if is_visible.any() else 0.0
    share = np.sqrt(np.clip(values[is_visible] / maximum, 0, 1)) if maximum > 0 else 0
    errors = np.zeros(values.shape, np.float64)
    errors[is_visible] = 1 + 254 * share - levels[is_visible]
    fine = np.clip(np.rint(128 + 256 * errors), 0, 255).astype(np.uint8)
    fine[~is_visible] = 0
    return fine


def as_text(array: NDArray[np.generic]) -> str:
    """Return the bytes of an array (little endian, C order) as base64 text."""
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(array.tobytes()).decode("ascii")


def as_json_value(value: Any) -> Any:
    """Return a trait's value with the bytes of its arrays as base64 text.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.pages.encoding import as_json_value
        >>> from attnwidget.widgets.wire.values import to_wire
        >>> as_json_value({"n": to_wire(np.array([1], "i4"))})
        {'n': {'shape': [1], 'dtype': '<i4', 'view': 'AQAAAA=='}}
    """
    if isinstance(value, Mapping):
        return {name: as_json_value(inner) for name, inner in value.items()}
    if isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        return [as_json_value(inner) for inner in value]
    if isinstance(value, (bytes, memoryview)):
        return base64.b64encode(value).decode("ascii")
    return value


def state_of(widget: anywidget.AnyWidget, *, whole: bool = False) -> dict[str, Any]:
    """Return the state of a widget for a saved page.

    Traits that are tagged `live` are left out, because they have no meaning without a kernel.

    Args:
        widget: Figure to save.
        whole: Whether to include traits that are tagged `page_chooses`, for a page that has no
            other answers to choose from.
    """
    return {
        name: as_json_value(value)
        for name, value in from_page(widget.get_state()).items()
        if name not in _OF_JUPYTER
        and not widget.trait_metadata(name, "live", False)
        and (whole or widget.trait_metadata(name, "page_chooses") is None)
    }
