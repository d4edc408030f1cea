"""Loading of weights by transformers: one thread at a time, and complete."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from torch import nn

from attnwidget.text.counted import counted

_lock = threading.RLock()


def _renew_lock() -> None:
    # A thread of the parent may have been loading at the moment of the fork.
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


@contextmanager
def one_thread_loads() -> Iterator[None]:
    """Let one thread of the process load a model at a time.

    transformers replaces functions of torch while it makes a model without weights. Two threads
    that load at once restore these functions in the wrong order, and leave models without weights.
    """
    with _lock:
        yield


def refuse_meta(model: nn.Module, name: str | Path) -> None:
    """Raise RuntimeError if a loaded model has tensors without numbers.

    Raises:
        RuntimeError: Parameters or buffers are on the device "meta".
    """
    tensors = chain(model.named_parameters(), model.named_buffers())
    empty = [path for path, tensor in tensors if tensor.device.type == "meta"]
    if empty:
        raise RuntimeError(
            f"{str(name)!r} was loaded without {counted(len(empty), 'tensor')}, {empty[0]} among "
            "them, which have no numbers (device 'meta'). Another thread may have loaded a model "
            "with from_pretrained at the same time: load every model by load_model, or in one "
            "thread. If this error stays, start Python again"
        )


def random_parts(missing: Iterable[str]) -> tuple[str, ...]:
    """Return the modules whose weights were not in the files, as short paths.

    Args:
        missing: Names of the missing weights.

    Example:
        >>> from attnwidget.capture.hub_model.loading import random_parts
        >>> random_parts(["cls.predictions.bias", "cls.predictions.dense.weight", "pooler.bias"])
        ('cls.predictions', 'pooler')
    """
    modules = sorted({key.rpartition(".")[0] or key for key in missing})
    return tuple(
        path
        for path in modules
        if not any(path.startswith(f"{other}.") for other in modules if other != path)
    )
