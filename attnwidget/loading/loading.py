"""Loading of weights with transformers: by one thread at a time, with a check for completeness."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from torch import nn

from attnwidget.text.counted import counted
from attnwidget.text.thread_lock import ThreadLock

#: Lock that is held while a thread loads a model, so that threads load one after another.
#:
#: transformers replaces functions of torch while it makes a model without weights. Two threads that
#: load at once restore these functions in the wrong order, which leaves models without weights.
loading_lock = ThreadLock()


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
        >>> from attnwidget.loading.loading import random_parts
        >>> random_parts(["cls.predictions.bias", "cls.predictions.dense.weight", "pooler.bias"])
        ('cls.predictions', 'pooler')
    """
    modules = sorted({key.rpartition(".")[0] or key for key in missing})
    return tuple(
        path
        for path in modules
        if not any(path.startswith(f"{other}.") for other in modules if other != path)
    )
