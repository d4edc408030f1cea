"""Module forwards that are replaced in one thread while other threads run the original."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import nn

from attnwidget.text.thread_lock import ThreadLock, this_thread
from attnwidget.text.undo import undone

Forward = Callable[..., Any]
#: Function that makes a replacement from the forward that it replaces.
MakeForward = Callable[[Forward], Forward]

_ABSENT: Any = object()
_lock = ThreadLock()


@dataclass
class _Replaced:
    """A module with replacements, and its own forward.

    Attributes:
        module: Module; keeping it alive keeps its id unique.
        written: Attribute `forward` before the first replacement, if there was one.
        forward: Forward of the module before the first replacement.
        by_thread: Replacements of each thread by their blocks, the latest last.
    """

    module: nn.Module
    written: Any
    forward: Forward
    by_thread: dict[object, dict[object, Forward]] = field(default_factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.latest()(*args, **kwargs)

    def latest(self) -> Forward:
        """Return the forward that this thread runs."""
        replacements = self.by_thread.get(this_thread())
        return next(reversed(replacements.values())) if replacements else self.forward


_replaced: dict[int, _Replaced] = {}


@contextmanager
def replaced_forwards(makers: Mapping[nn.Module, MakeForward]) -> Iterator[None]:
    """Replace the forwards of modules for passes of this thread in the block.

    Blocks in several threads may overlap, and blocks in one thread may be nested.

    Args:
        makers: Function that makes the replacement, for each module. Its argument is the forward
            that this thread would run otherwise.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> import torch
        >>> from attnwidget.capture.tapping.thread_forwards import replaced_forwards
        >>> module = torch.nn.Identity()
        >>> with ThreadPoolExecutor() as other:
        ...     with replaced_forwards({module: lambda forward: lambda x: forward(x) + 1}):
        ...         module(1), other.submit(module, 1).result()
        (2, 1)
        >>> module(1)
        1
    """
    block = object()
    entries: list[_Replaced] = []
    with undone(partial(_lock.hold, partial(_restore, entries, this_thread(), block))):
        _lock.hold(partial(_replace, entries, makers, block))
        yield


def _replace(
    entered: list[_Replaced], makers: Mapping[nn.Module, MakeForward], block: object
) -> None:
    """Replace forwards; `entered` receives each module before its forward is replaced."""
    thread = this_thread()
    for module, make in makers.items():
        entry = _replaced.get(id(module)) or _Replaced(
            module, vars(module).get("forward", _ABSENT), module.forward
        )
        entered.append(entry)
        replacement = make(entry.latest())
        entry.by_thread.setdefault(thread, {})[block] = replacement
        _replaced[id(module)] = entry
        vars(module)["forward"] = entry


def _restore(entered: Iterable[_Replaced], thread: object, block: object) -> None:
    """End a block; this may run again after an interruption."""
    for entry in entered:
        replacements = entry.by_thread.get(thread, {})
        replacements.pop(block, None)
        if not replacements:
            entry.by_thread.pop(thread, None)
        if not entry.by_thread:
            _restore_module(entry)


def _restore_module(entry: _Replaced) -> None:
    attributes = vars(entry.module)
    # Keep an attribute that other code has assigned since.
    if attributes.get("forward") is entry:
        if entry.written is _ABSENT:
            del attributes["forward"]
        else:
            attributes["forward"] = entry.written
    if _replaced.get(id(entry.module)) is entry:
        del _replaced[id(entry.module)]


def _end_other_threads() -> None:
    """End the replacements of threads that do not exist in a forked process."""
    for entry in list(_replaced.values()):
        for thread in list(entry.by_thread):
            if thread is not this_thread():
                del entry.by_thread[thread]
        if not entry.by_thread:
            _restore_module(entry)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_other_threads)
