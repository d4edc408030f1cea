"""Executor for the workers that read study inputs, which is set for a block of code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from attnwidget.corpus.shards import Executor, Workers, check_executor
from attnwidget.hidden_frames import hides_frames

_executor: ContextVar[Executor | None] = ContextVar("attnwidget_executor", default=None)


@hides_frames
@contextmanager
def run_on(executor: Executor) -> Iterator[None]:
    """Let the workers of an executor read the inputs of all studies in the block.

    Results are bit-identical for any number of workers. Training runs in this process. Other
    threads are not affected.

    Args:
        executor: Any object whose `submit(function, *arguments)` returns a future, for example
            `ProcessPoolExecutor(4, mp_context=get_context("spawn"))` from the standard library, or
            `client.get_executor()` of a `dask.distributed.Client`. Workers load the model by its
            name, or receive a model that was passed as an object.

    Raises:
        TypeError: `executor` is not an executor.
        ValueError: The workers are forked processes.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from attnwidget import load_model, make_segments, measure, run_on
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat.", "It slept."], model)
        >>> with ThreadPoolExecutor(2) as pool, run_on(pool):
        ...     measure(model, segments, ["entropy"], progress=False).n_segments
        2
    """
    check_executor(executor)
    token = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(token)


def workers_in_force(work: Callable[..., Sequence[Any]]) -> Workers | None:
    """Return the workers for some work, or None outside a `run_on` block.

    Args:
        work: Function that is called with the arguments of a shard.

    Raises:
        TypeError: `work` cannot be pickled.
    """
    executor = _executor.get()
    return None if executor is None else Workers(executor, work)


def runs_on_workers() -> bool:
    """Return whether the code runs in a `run_on` block."""
    return _executor.get() is not None
