"""Lists as option values, which can only be changed by an assignment to the option."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

import traitlets

Item = TypeVar("Item")


class OptionList(list[Item]):
    """List value of an option, which refuses changes in place.

    A figure notices only assignments. A change in place would change the value in Python, but the
    page would still show the old value.

    Args:
        items: Items of the list.
        option: Name of the option.

    Example:
        >>> from attnwidget import HeadGrid, load_model
        >>> grid = HeadGrid(load_model().attend("The cat sat."), selected=[(0, 1)])
        >>> grid.selected += [(2, 3)]
        >>> [str(head) for head in grid.selected]
        ['L0 H1', 'L2 H3']
        >>> grid.selected.append((3, 4))
        Traceback (most recent call last):
        TypeError: 'selected' has no append(), because the page would not see the change: assign \
a new list, for example figure.selected = [*figure.selected, item]
    """

    __slots__ = ("_option",)

    def __init__(self, items: Iterable[Item], option: str) -> None:
        super().__init__(items)
        self._option = option

    def _refused(self, change: str) -> TypeError:
        option = self._option
        return TypeError(
            f"{option!r} has no {change}, because the page would not see the change: assign a new "
            f"list, for example figure.{option} = [*figure.{option}, item]"
        )

    def append(self, item: Any) -> NoReturn:
        """Refuse the change."""
        raise self._refused("append()")

    def extend(self, items: Any) -> NoReturn:
        """Refuse the change."""
        raise self._refused("extend()")

    def insert(self, index: Any, item: Any) -> NoReturn:
        """Refuse the change."""
        raise self._refused("insert()")

    def remove(self, item: Any) -> NoReturn:
        """Refuse the change."""
        raise self._refused("remove()")

    def pop(self, index: Any = -1) -> NoReturn:
        """Refuse the change."""
        raise self._refused("pop()")

    def clear(self) -> NoReturn:
        """Refuse the change."""
        raise self._refused("clear()")

    def sort(self, **how: Any) -> NoReturn:
        """Refuse the change."""
        raise self._refused("sort()")

    def reverse(self) -> NoReturn:
        """Refuse the change."""
        raise self._refused("reverse()")

    def __setitem__(self, index: Any, item: Any) -> NoReturn:
        raise self._refused("assignment to an item")

    def __delitem__(self, index: Any) -> NoReturn:
        raise self._refused("deletion of an item")

    def __iadd__(self, items: Iterable[Any]) -> list[Any]:  # type: ignore[misc, override]
        # `figure.selected += [head]` assigns the result.
        return [*self, *items]

    def __imul__(self, times: Any) -> list[Any]:  # type: ignore[misc, override]
        return list(self) * times

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A copy is not an option value, so it may be changed in place.
        return list, (list(self),)


def _to_page(items: list[Any], figure: Any) -> list[Any]:
    return list(items)


class ListOption(traitlets.List[Item]):
    """Trait for an option whose value is a list; reading it returns an `OptionList`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tag(to_json=_to_page)

    def _validate(self, obj: Any, value: Any) -> Any:
        valid = super()._validate(obj, value)
        return OptionList(valid, str(self.name)) if isinstance(valid, list) else valid
