"""Worker that unpickles work from another process, runs it and returns the result."""

from __future__ import annotations

import pickle
import platform
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from typing import Any

import torch

from attnwidget.text.thread_lock import ThreadLock

# Run one shard at a time, because two shards in one process would wait for the same model.
_one_at_a_time = ThreadLock()
# Digest and last work of this process. The next shard reuses its model.
_work: tuple[bytes, Any] = (b"", None)


@dataclass(frozen=True)
class ShardAnswer:
    """Result of a shard, or its error.

    Attributes:
        found: Result of the work.
        error: Error message; "" if there is no error.
        kind: Cause of the error: "input" (fails in every process), "versions", or "" for errors
            that may not occur in another process.
        type_name: Name of the error's class, if `kind` is "input".
    """

    found: Any = None
    error: str = ""
    kind: str = ""
    type_name: str = ""


def study_versions() -> dict[str, str]:
    """Return the versions that must be equal in all processes of a study; builds may differ.

    Example:
        >>> from attnwidget.corpus.worker import study_versions
        >>> list(study_versions())
        ['python', 'attnwidget', 'torch', 'transformers']
    """
    import transformers

    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "attnwidget": import_module("attnwidget").__version__,
        "torch": str(torch.__version__).partition("+")[0],
        "transformers": transformers.__version__,
    }


def do_shard(settings: dict[str, str], work: bytes, shard: bytes, attempt: int) -> ShardAnswer:
    """Run pickled work on a pickled shard.

    Args:
        settings: Result of `study_versions()` in the process that pickled the work.
        work: Pickled function.
        shard: Pickled arguments of the function.
        attempt: Number of earlier attempts at the shard, so that the task differs from the failed
            task.
    """
    own_versions = study_versions()
    differing = [name for name in settings if own_versions.get(name) != settings[name]]
    if differing:
        message = ", ".join(
            f"{name} {own_versions.get(name)} in place of {settings[name]}" for name in differing
        )
        return ShardAnswer(error=f"{platform.node()} has {message}", kind="versions")
    try:
        with _one_at_a_time:
            return ShardAnswer(_received(work)(*pickle.loads(shard)))
    except Exception as error:
        # Return the error as text, because some errors cannot be pickled or unpickled.
        message = str(error) or type(error).__name__
        if isinstance(error, (ValueError, TypeError)):
            return ShardAnswer(error=message, kind="input", type_name=type(error).__name__)
        return ShardAnswer(error=f"{type(error).__name__} on {platform.node()}: {message}")


def _received(work: bytes) -> Any:
    """Return unpickled work, which is the previous object for equal bytes."""
    global _work
    key = blake2b(work).digest()
    if _work[0] != key:
        # Keep the previous work until now: if both share a model, it is loaded only once.
        _work = key, pickle.loads(work)
    return _work[1]
