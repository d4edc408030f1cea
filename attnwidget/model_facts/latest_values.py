"""A cache of limited size that forgets the value whose last use is longest ago."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LatestValues(Generic[K, V]):
    """The values of the keys that were used last.

    Args:
        limit: Largest number of values; with `size`, the largest sum of their sizes.
        size: Function from a value to its size, such as its number of bytes.
        at_least: Number of values that are kept even if they are larger than `limit`.

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
        """The sum of the sizes of all values; without sizes, the number of values."""
        if self._size is None:
            return len(self._values)
        return sum(map(self._size, self._values.values()))

    def get(self, key: K) -> V | None:
        """Return the value of a key, which is a use; None if there is no value."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def add(self, key: K, value: V) -> V:
        """Keep a value as the latest, and return it."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._at_least and self.total > self._limit:
            self._values.popitem(last=False)
        return value

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key; make the value if the key is new."""
        value = self.get(key)
        return self.add(key, make()) if value is None else value

    def clear(self) -> None:
        """Forget all values."""
        self._values.clear()
