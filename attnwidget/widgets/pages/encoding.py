"""Maps, arrays and traits as a page without a kernel holds them: bytes, and JSON."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import anywidget
import numpy as np
from numpy.typing import NDArray

from attnwidget.widgets.wire.null_in_browser import from_page

#: Bytes are written as text: four characters for three of them.
AS_TEXT = 4 / 3
# Traits of every Jupyter widget, such as its layout: a page has its own.
_OF_JUPYTER = frozenset(anywidget.AnyWidget.class_trait_names())


def rounded(values: NDArray[np.float32]) -> tuple[NDArray[np.uint8], float]:
    """One map as bytes of its shape, and its largest value.

    0 is masked (NaN), 1 to 255 the rounded root of value / maximum.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.pages.encoding import rounded
        >>> rounded(np.array([0.0, 0.125, 0.5, np.nan], "f4"))
        (array([  1, 128, 255,   0], dtype=uint8), 0.5)
    """
    seen = ~np.isnan(values)
    maximum = float(values[seen].max()) if seen.any() else 0.0
    share = np.sqrt(np.clip(values[seen] / maximum, 0, 1)) if maximum > 0 else 0
    levels = np.zeros(values.shape, np.uint8)
    levels[seen] = 1 + np.rint(254 * share)
    return levels, maximum


def rounding(values: NDArray[np.float32], levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the rounding errors of the bytes of one map, as 128 + 256 times the error.

    A byte and its rounding error give a value to four digits.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.pages.encoding import rounded, rounding
        >>> values = np.array([0.0, 0.125, 0.5, np.nan], "f4")
        >>> rounding(values, rounded(values)[0])
        array([128, 128, 128,   0], dtype=uint8)
    """
    seen = ~np.isnan(values)
    maximum = float(values[seen].max()) if seen.any() else 0.0
    share = np.sqrt(np.clip(values[seen] / maximum, 0, 1)) if maximum > 0 else 0
    apart = np.zeros(values.shape, np.float64)
    apart[seen] = 1 + 254 * share - levels[seen]
    fine = np.clip(np.rint(128 + 256 * apart), 0, 255).astype(np.uint8)
    fine[~seen] = 0
    return fine


def as_text(array: NDArray[np.generic]) -> str:
    """The bytes of an array (little endian, C order) as base64 text."""
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(array.tobytes()).decode("ascii")


def as_json_value(value: Any) -> Any:
    """A trait's value with the bytes of its arrays as base64 text.

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
    """Return the traits that the copy of a widget on a page starts from.

    The page has no traits that are tagged `live`: these belong to a figure with a kernel.

    Args:
        widget: The figure.
        whole: Whether the page also gets the traits that are tagged `page_chooses`, because it
            lacks the answers to choose them from.
    """
    return {
        name: as_json_value(value)
        for name, value in from_page(widget.get_state()).items()
        if name not in _OF_JUPYTER
        and not widget.trait_metadata(name, "live", False)
        and (whole or widget.trait_metadata(name, "page_chooses") is None)
    }
