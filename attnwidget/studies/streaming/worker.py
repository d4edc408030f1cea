"""The work of a worker: it unpickles work from another process, runs it, and returns the result."""

from __future__ import annotations

import pickle
import platform
import threading
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from typing import Any

import torch

# Two shards in one process would wait for the same model and share its memory.
_one_at_a_time = threading.Lock()
# The last work that was done here, by its digest: with its model, which so is loaded once.
_work: tuple[bytes, Any] = (b"", None)


@dataclass(frozen=True)
class Answer:
    """What became of a shard.

    Attributes:
        found: what the work gave of it.
        error: what went wrong; "" where nothing did.
        kind: what it is due to: "input", which is wrong everywhere, "versions", or "" for what may
            go well elsewhere.
        type_name: of an "input", the name of the error's class.
    """

    found: Any = None
    error: str = ""
    kind: str = ""
    type_name: str = ""


def versions() -> dict[str, str]:
    """The versions that the processes of one study have in common; a build ("+cpu") may differ.

    Example:
        >>> from attnwidget.studies.streaming.worker import versions
        >>> list(versions())
        ['python', 'attnwidget', 'torch', 'transformers']
    """
    import transformers

    package = __name__.partition(".")[0]
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        package: import_module(package).__version__,
        "torch": str(torch.__version__).partition("+")[0],
        "transformers": transformers.__version__,
    }


def do_shard(settings: dict[str, str], work: bytes, shard: bytes, attempt: int) -> Answer:
    """Do the pickled work on a pickled shard.

    Args:
        settings: `versions()` of the process that pickled the work.
        work: a callable.
        shard: its arguments.
        attempt: Number of earlier attempts at the shard, which makes the task differ from the
            failed task.
    """
    here = versions()
    differing = [name for name in settings if here.get(name) != settings[name]]
    if differing:
        said = ", ".join(
            f"{name} {here.get(name)} in place of {settings[name]}" for name in differing
        )
        return Answer(error=f"{platform.node()} has {said}", kind="versions")
    try:
        with _one_at_a_time:
            return Answer(_received(work)(*pickle.loads(shard)))
    except Exception as error:  # as text: not every error can be pickled, or read where it arrives
        said = str(error) or type(error).__name__
        if isinstance(error, (ValueError, TypeError)):
            return Answer(error=said, kind="input", type_name=type(error).__name__)
        return Answer(error=f"{type(error).__name__} on {platform.node()}: {said}")


def _received(work: bytes) -> Any:
    global _work
    key = blake2b(work).digest()
    if _work[0] != key:
        # The one before it is forgotten after this: of two that share a model it is loaded once.
        _work = key, pickle.loads(work)
    return _work[1]
