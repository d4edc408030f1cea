"""Cache of limited size that evicts the least recently used value."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LatestValues(Generic[K, V]):
    """Cache of the most recently used values.

    Args:
        limit: Largest number of values; with `size`, the largest sum of their sizes.
        size: Function from a value to its size, such as its number of bytes; None = count values.
        at_least: Number of values to keep even if they exceed `limit`.

    Example:
        >>> from attnwidget.model_facts.latest_values import LatestValues
        >>> squares = LatestValues(2)
        >>> for number in (1, 2, 1, 3):
        ...     _ = squares.get_or_make(number, lambda: number**2)
        >>> squares.get(1), squares.get(2), squares.get(3)
        (1, None, 9)
    """

    def __init__(
        self, limit: float, size: Callable[[V], int] | None = None, *, at_least: int = 0
    ) -> None:
        self._limit = limit
        self._size = size
        self._at_least = at_least
        self._values: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    @property
    def total(self) -> int:
        """Sum of the sizes of all values; without sizes, the number of values."""
        if self._size is None:
            return len(self._values)
        return sum(map(self._size, self._values.values()))

    def get(self, key: K) -> V | None:
        """Return the value of a key and mark it as used, or return None if there is no value.

        Args:
            key: Key of the value.
        """
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def add(self, key: K, value: V) -> V:
        """Add a value as the most recently used, and return it.

        Args:
            key: Key of the value.
            value: Value to add.
        """
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._at_least and self.total > self._limit:
            self._values.popitem(last=False)
        return value

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key; create the value if the key is new.

        Args:
            key: Key of the value.
            make: Function that creates the value.
        """
        value = self.get(key)
        return self.add(key, make()) if value is None else value

    def clear(self) -> None:
        """Remove all values."""
        self._values.clear()
