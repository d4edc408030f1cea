"""Worker: unpickles work from another process, runs it, and returns the result."""

from __future__ import annotations

import pickle
import platform
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from typing import Any

import torch

from attnwidget.text.thread_lock import ThreadLock

# Two shards in one process would wait for the same model and share its memory.
_one_at_a_time = ThreadLock()
# The last work of this process, by its digest. The model is kept for the next shard.
_work: tuple[bytes, Any] = (b"", None)


@dataclass(frozen=True)
class ShardAnswer:
    """The result of a shard, or its error.

    Attributes:
        found: The result of the work.
        error: The error message; "" without an error.
        kind: Cause of the error: "input" (fails in every process), "versions", or "" for errors
            that may not occur in another process.
        type_name: For "input", the name of the error's class.
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
        settings: `study_versions()` of the process that pickled the work.
        work: A pickled callable.
        shard: Its pickled arguments.
        attempt: Number of earlier attempts at the shard, which makes the task differ from the
            failed task.
    """
    here = study_versions()
    differing = [name for name in settings if here.get(name) != settings[name]]
    if differing:
        said = ", ".join(
            f"{name} {here.get(name)} in place of {settings[name]}" for name in differing
        )
        return ShardAnswer(error=f"{platform.node()} has {said}", kind="versions")
    try:
        with _one_at_a_time:
            return ShardAnswer(_received(work)(*pickle.loads(shard)))
    except Exception as error:  # as text, because some errors cannot be pickled or unpickled
        said = str(error) or type(error).__name__
        if isinstance(error, (ValueError, TypeError)):
            return ShardAnswer(error=said, kind="input", type_name=type(error).__name__)
        return ShardAnswer(error=f"{type(error).__name__} on {platform.node()}: {said}")


def _received(work: bytes) -> Any:
    global _work
    key = blake2b(work).digest()
    if _work[0] != key:
        # Forget the previous work only now: if both share a model, it is loaded once.
        _work = key, pickle.loads(work)
    return _work[1]
