"""Attributes of objects, held at a value while at least one reader needs the value."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

_ABSENT: Any = object()


class Hold(NamedTuple):
    """An attribute in the object's `__dict__`, and the value to hold."""

    owner: object
    name: str
    value: Any


@dataclass
class _HeldAttribute:
    """A held attribute, and the number of blocks that hold it.

    Keeping `owner` alive keeps its id unique.
    """

    owner: object
    original: Any
    value: Any
    blocks: int = 0


_held: dict[tuple[int, str], _HeldAttribute] = {}
_lock = threading.RLock()


@contextmanager
def held(holds: Iterable[Hold]) -> Iterator[None]:
    """Hold attributes until the last block that holds them has ended.

    Blocks may overlap in several threads. The `__setattr__` of the objects is not called. A value
    that other code assigned in the meantime stays.

    Example:
        >>> from types import SimpleNamespace
        >>> module = SimpleNamespace(training=True)
        >>> with held([Hold(module, "training", False)]):
        ...     module.training, unheld(module, "training")
        (False, True)
        >>> module.training
        True
    """
    keys = []
    try:
        with _lock:
            for owner, name, value in holds:
                key = id(owner), name
                if key not in _held:
                    _held[key] = _HeldAttribute(owner, vars(owner).get(name, _ABSENT), value)
                    vars(owner)[name] = value
                _held[key].blocks += 1
                keys.append(key)
        yield
    finally:
        with _lock:
            for key in keys:
                _let_go(key)


def unheld(owner: object, name: str) -> Any:
    """Return the attribute of the object outside all blocks, or None if it is missing."""
    entry = _held.get((id(owner), name))
    original = vars(owner).get(name) if entry is None else entry.original
    return None if original is _ABSENT else original


def _let_go(key: tuple[int, str]) -> None:
    entry = _held[key]
    name = key[1]
    entry.blocks -= 1
    if entry.blocks:
        return
    del _held[key]
    attributes = vars(entry.owner)
    if attributes.get(name, _ABSENT) is not entry.value:
        return
    if entry.original is _ABSENT:
        del attributes[name]
    else:
        attributes[name] = entry.original
