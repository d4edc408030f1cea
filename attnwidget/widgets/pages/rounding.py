"""Maps as bytes, as a page without a kernel holds them."""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import NDArray


def rounded(
    values: NDArray[np.float32], visible: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.uint8], float]:
    """One map as bytes of its shape, and its largest value.

    0 is masked (not `visible`), 1 to 255 the rounded root of value / maximum.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.pages.rounding import rounded
        >>> rounded(np.array([0.0, 0.125, 0.5], "f4"))
        (array([  1, 128, 255], dtype=uint8), 0.5)
    """
    maximum = float(values.max()) if values.size else 0.0
    share = np.sqrt(np.clip(values / maximum, 0, 1)) if maximum > 0 else np.zeros_like(values)
    levels = (1 + np.rint(254 * share)).astype(np.uint8)
    return levels if visible is None else np.where(visible, levels, np.uint8(0)), maximum


def as_text(array: NDArray[np.generic]) -> str:
    """The bytes of an array (little endian, C order) as base64 text."""
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(array.tobytes()).decode("ascii")
