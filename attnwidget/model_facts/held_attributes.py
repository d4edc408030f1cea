"""Attributes of objects that keep a value while at least one block needs it."""

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
    """Attribute in an object's `__dict__`, and the value to hold."""

    owner: object
    name: str
    value: Any


@dataclass
class _HeldAttribute:
    """Attribute that is held at a value.

    Attributes:
        owner: Object with the attribute. The reference keeps it alive, so its id stays unique.
        original: Value before the first block.
        value: Value that is held.
        blocks: Blocks that hold the attribute, each with its thread.
    """

    owner: object
    original: Any
    value: Any
    blocks: dict[object, object] = field(default_factory=dict)


_held: dict[tuple[int, str], _HeldAttribute] = {}
_lock = ThreadLock()


@contextmanager
def held(holds: Iterable[Hold]) -> Iterator[None]:
    """Hold attributes at a value until the last block that holds them ends.

    Blocks may overlap in several threads. The `__setattr__` of the objects is not called. If other
    code assigns a value during the block, this value remains.

    Args:
        holds: Attributes and the values to hold.

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
    """Return the value of an attribute outside all blocks, or None if it is missing.

    Args:
        owner: Object with the attribute.
        name: Name of the attribute.
    """
    entry = _held.get((id(owner), name))
    original = vars(owner).get(name) if entry is None else entry.original
    return None if original is _ABSENT else original


def _hold(block: object, holds: Iterable[Hold], keys: list[tuple[int, str]]) -> None:
    """Begin to hold attributes; each key is added to `keys` before the attribute is changed."""
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
    """End a block; the function may run again after an interruption."""
    for key in keys:
        entry = _held.get(key)
        if entry is None:
            continue
        entry.blocks.pop(block, None)
        if not entry.blocks:
            _restore(entry, key[1])
            del _held[key]


def _restore(entry: _HeldAttribute, name: str) -> None:
    """Restore the original value, unless other code has assigned a value."""
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
