"""Arrays that grow by rows, without a copy of all earlier rows for each new row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class GrowingRows:
    """Memory with room for further rows of an array.

    An array that was returned never changes: new rows are written behind its last row. All rows are
    copied only when the room is full, and the room is then doubled.

    Example:
        >>> import numpy as np
        >>> from attnwidget.corpus.growing_rows import GrowingRows
        >>> growing = GrowingRows()
        >>> one = growing.joined(np.array([1, 2]), np.array([3]))
        >>> two = growing.joined(one, np.array([4]))
        >>> one, two, one.base is two.base
        (array([1, 2, 3]), array([1, 2, 3, 4]), True)
    """

    def __init__(self) -> None:
        self._room: NDArray[Any] = np.empty(0)
        self._used = 0

    def joined(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of `first`, then the rows of `second`."""
        begin = len(first)
        end = begin + len(second)
        # Rows behind `first` may belong to an array that another call returned.
        is_last = first.base is self._room and begin == self._used
        if not is_last or end > len(self._room):
            self._room = np.empty((2 * end, *first.shape[1:]), first.dtype)
            self._room[:begin] = first
        self._room[begin:end] = second
        self._used = end
        return self._room[:end]
