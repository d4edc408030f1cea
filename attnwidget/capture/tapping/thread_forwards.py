"""Forwards of modules, replaced in a single thread while other threads run the original."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import nn

Forward = Callable[..., Any]
#: Makes a replacement from the forward that it replaces.
MakeForward = Callable[[Forward], Forward]

_ABSENT: Any = object()
_lock = threading.RLock()


@dataclass
class _Replaced:
    """A module with replacements, and its own forward.

    Attributes:
        module: The module; keeping it alive keeps its id unique.
        written: The attribute `forward` before the first replacement, if there was one.
        forward: What the module ran before the first replacement.
        by_thread: The replacements of each thread, the latest last.
    """

    module: nn.Module
    written: Any
    forward: Forward
    by_thread: dict[int, list[Forward]] = field(default_factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        replacements = self.by_thread.get(threading.get_ident())
        forward = replacements[-1] if replacements else self.forward
        return forward(*args, **kwargs)


_replaced: dict[int, _Replaced] = {}


@contextmanager
def replaced_forwards(makers: Mapping[nn.Module, MakeForward]) -> Iterator[None]:
    """Replace the forwards of modules for passes of this thread in the block.

    Blocks of several threads may overlap, and blocks of one thread may be nested.

    Args:
        makers: For each module, a function that makes the replacement. Its argument is the forward
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
    thread = threading.get_ident()
    entered: list[_Replaced] = []
    try:
        with _lock:
            for module, make in makers.items():
                entry = _replaced.get(id(module)) or _Replaced(
                    module, vars(module).get("forward", _ABSENT), module.forward
                )
                replacements = entry.by_thread.get(thread, [])
                replacement = make(replacements[-1] if replacements else entry.forward)
                entry.by_thread[thread] = [*replacements, replacement]
                _replaced[id(module)] = entry
                vars(module)["forward"] = entry
                entered.append(entry)
        yield
    finally:
        with _lock:
            for entry in entered:
                _restore(entry, thread)


def _restore(entry: _Replaced, thread: int) -> None:
    replacements = entry.by_thread[thread]
    replacements.pop()
    if replacements:
        return
    del entry.by_thread[thread]
    if entry.by_thread:
        return
    del _replaced[id(entry.module)]
    attributes = vars(entry.module)
    # An attribute that other code assigned in the meantime stays.
    if attributes.get("forward") is not entry:
        return
    if entry.written is _ABSENT:
        del attributes["forward"]
    else:
        attributes["forward"] = entry.written
