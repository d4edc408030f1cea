"""Attributes of objects, held at a value while at least one reader needs the value."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from attnwidget.text.thread_lock import ThreadLock, this_thread
from attnwidget.text.undo import undone

_ABSENT: Any = object()


class Hold(NamedTuple):
    """An attribute in the object's `__dict__`, and the value to hold."""

    owner: object
    name: str
    value: Any


@dataclass
class _HeldAttribute:
    """A held attribute.

    Attributes:
        owner: The object; keeping it alive keeps its id unique.
        original: The value before the first block.
        value: The value that is held.
        blocks: The blocks that hold the attribute, each with its thread.
    """

    owner: object
    original: Any
    value: Any
    blocks: dict[object, object] = field(default_factory=dict)


_held: dict[tuple[int, str], _HeldAttribute] = {}
_lock = ThreadLock()


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
    block = object()
    keys: list[tuple[int, str]] = []
    with undone(partial(_lock.hold, partial(_let_go, block, keys))):
        _lock.hold(partial(_hold, block, holds, keys))
        yield


def unheld(owner: object, name: str) -> Any:
    """Return the attribute of the object outside all blocks, or None if it is missing."""
    entry = _held.get((id(owner), name))
    original = vars(owner).get(name) if entry is None else entry.original
    return None if original is _ABSENT else original


def _hold(block: object, holds: Iterable[Hold], keys: list[tuple[int, str]]) -> None:
    """Begin to hold attributes; `keys` receives the key of each before anything is changed."""
    thread = this_thread()
    for owner, name, value in holds:
        key = id(owner), name
        attributes = vars(owner)
        keys.append(key)
        entry = _held.get(key)
        if entry is None:
            entry = _held[key] = _HeldAttribute(owner, attributes.get(name, _ABSENT), value)
        entry.blocks[block] = thread
        if attributes.get(name, _ABSENT) is entry.original:
            attributes[name] = entry.value


def _let_go(block: object, keys: Iterable[tuple[int, str]]) -> None:
    """End a block; it may run again after an interruption."""
    for key in keys:
        entry = _held.get(key)
        if entry is None:
            continue
        entry.blocks.pop(block, None)
        if not entry.blocks:
            _restore(entry, key[1])
            del _held[key]


def _restore(entry: _HeldAttribute, name: str) -> None:
    attributes = vars(entry.owner)
    if attributes.get(name, _ABSENT) is not entry.value:
        return
    if entry.original is _ABSENT:
        del attributes[name]
    else:
        attributes[name] = entry.original


def _end_other_threads() -> None:
    """End the blocks of threads that a forked process does not have."""
    for key, entry in list(_held.items()):
        for block, thread in list(entry.blocks.items()):
            if thread is not this_thread():
                _let_go(block, [key])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_other_threads)
