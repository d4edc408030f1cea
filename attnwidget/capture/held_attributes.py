"""Attributes of objects held at a value while one or more readers need it so."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

_ABSENT: Any = object()


class Hold(NamedTuple):
    """An object's own attribute, and the value that it is to have."""

    owner: object
    name: str
    value: Any


@dataclass
class _Held:
    """What is held, by how many blocks; `owner` lives on, so that its id stays its own."""

    owner: object
    original: Any
    value: Any
    blocks: int = 0


_held: dict[tuple[int, str], _Held] = {}
_lock = threading.RLock()


@contextmanager
def held(holds: Iterable[Hold]) -> Iterator[None]:
    """Hold attributes in the block; they are as before once every block that held them has ended.

    Blocks may overlap in several threads. The objects' own `__setattr__` is passed by. What
    somebody else assigned in the meantime stays.

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
                    _held[key] = _Held(owner, vars(owner).get(name, _ABSENT), value)
                    vars(owner)[name] = value
                _held[key].blocks += 1
                keys.append(key)
        yield
    finally:
        with _lock:
            for key in keys:
                _let_go(key)


def unheld(owner: object, name: str) -> Any:
    """What an object's own attribute is outside of every block; None where it has none."""
    entry = _held.get((id(owner), name))
    original = vars(owner).get(name) if entry is None else entry.original
    return None if original is _ABSENT else original


def _let_go(key: tuple[int, str]) -> None:
    entry, name = _held[key], key[1]
    entry.blocks -= 1
    if entry.blocks:
        return
    del _held[key]
    own = vars(entry.owner)
    if own.get(name, _ABSENT) is not entry.value:
        return
    if entry.original is _ABSENT:
        del own[name]
    else:
        own[name] = entry.original
