"""Work of a study that others do: cut into shards, sent, tried again, taken in order."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent import futures
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, Protocol, TypeVar

from attnwidget.capture.hub_model.pickled_model import CannotSendError
from attnwidget.studies.streaming.worker import Answer, do_shard, versions

B = TypeVar("B")

#: Batches that a worker reads before it answers.
BATCHES_A_SHARD = 4
#: Times that a shard is tried before it is given up.
TRIES = 3
# Shards that are sent before the first of them is back: enough for many workers, and no more of an
# iterator in memory.
_AHEAD = 128
_SECONDS_BETWEEN_LOOKS = 1.0


class Executor(Protocol):
    """What runs functions elsewhere: `ProcessPoolExecutor`, Dask's, loky's, submitit's..."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Any:
        """Have `function(*args)` called; a future with `result()`, `done()`, `cancel()`."""


class WorkersError(RuntimeError):
    """Workers could not do what they were asked to.

    Example:
        >>> from attnwidget.studies.streaming.shards import WorkersError
        >>> issubclass(WorkersError, RuntimeError)
        True
    """


@dataclass
class _Sent:
    """A shard on its way: its batches, of which `first` counts from 1, and who will answer."""

    first: int
    batches: Sequence[Any]
    arguments: bytes
    tries: int = 0
    future: Any = None

    def __str__(self) -> str:
        last = self.first + len(self.batches) - 1
        return f"batches {self.first} to {last} ({sum(map(len, self.batches))} inputs)"


class Workers:
    """An executor, and the work for each shard.

    A shard that fails, because its worker was lost or could not do it, is sent again, to whichever
    worker the executor chooses.

    Args:
        executor: what has `submit`.
        work: called with the arguments of a shard; a worker keeps it for the next one.

    Raises:
        TypeError: no executor; work that does not pickle.
        ValueError: an executor of forked processes.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from attnwidget.studies.streaming.shards import Workers
        >>> def lengths(batches):
        ...     return [len(one) for one in batches]
        >>> with ThreadPoolExecutor(2) as pool:
        ...     list(Workers(pool, lengths).each(["a", "few", "batches"], lambda shard: (shard,)))
        [('a', 1), ('few', 3), ('batches', 7)]
    """

    def __init__(self, executor: Executor, work: Callable[..., Sequence[Any]]) -> None:
        checked: object = executor
        if isinstance(checked, type) or not callable(getattr(checked, "submit", None)):
            raise TypeError(
                "executor needs a method submit(function, *arguments), for example "
                f"ProcessPoolExecutor(4, mp_context=get_context('spawn')); got {checked!r:.80}"
            )
        _refuse_forks(executor)
        self._executor = executor
        self._work = _pickled(work)
        self._versions = versions()

    def each(
        self,
        batches: Iterable[B],
        arguments: Callable[[Sequence[B]], tuple[Any, ...]],
        *,
        first: int = 1,
    ) -> Generator[tuple[B, Any]]:
        """Every batch with what the work found of it, in order; what is queued ends with it.

        Args:
            batches: read no further ahead than workers may need.
            arguments: of the work, for the batches of one shard.
            first: number of the first batch.

        Raises:
            ValueError, TypeError: of the work, which an input is to blame for.
            WorkersError: The workers have other versions, the executor stopped, or a shard failed
                too often.
        """
        remaining = iter(batches)
        numbers = count(first, BATCHES_A_SHARD)
        waiting: deque[_Sent] = deque()
        try:
            while (shard := list(islice(remaining, BATCHES_A_SHARD))) or waiting:
                if shard:
                    waiting.append(_Sent(next(numbers), shard, _pickled(arguments(shard))))
                    self._send(waiting[-1])
                while waiting and (not shard or len(waiting) > _AHEAD or waiting[0].future.done()):
                    result = self._found(waiting[0])
                    yield from zip(waiting.popleft().batches, result, strict=True)
        finally:
            for sent in waiting if not self._is_lost else ():
                if sent.future is not None:
                    sent.future.cancel()

    def _send(self, sent: _Sent) -> None:
        try:
            sent.future = self._executor.submit(
                do_shard, self._versions, self._work, sent.arguments, sent.tries
            )
        except Exception as error:
            raise WorkersError(f"the executor takes no more work ({_said(error)})") from error
        sent.tries += 1

    def _found(self, sent: _Sent) -> Sequence[Any]:
        """What a shard gave, after as many tries as it takes."""
        while True:
            answer = self._answer(sent.future)
            if not answer.error:
                return answer.found
            if answer.kind == "input":
                raise (TypeError if answer.type_name == "TypeError" else ValueError)(answer.error)
            if answer.kind == "versions":
                raise WorkersError(
                    f"a worker has different versions and might give different numbers: "
                    f"{answer.error}; install the same versions everywhere"
                )
            if sent.tries >= TRIES:
                raise WorkersError(f"{sent} failed {TRIES} times, at last with: {answer.error}")
            self._send(sent)

    def _answer(self, future: Any) -> Answer:
        """A worker's answer, or the reason for its absence."""
        try:
            return self._result(future)
        except BrokenExecutor as error:
            raise WorkersError(
                f"the executor stopped, as it does when a worker is killed or out of memory "
                f"({_said(error)})"
            ) from error
        except WorkersError:
            raise
        except Exception as error:
            return Answer(error=_said(error))

    @property
    def _client_status(self) -> str:
        """What Dask's client says of its connection; "" for other executors."""
        return str(getattr(getattr(self._executor, "_client", self._executor), "status", ""))

    @property
    def _is_lost(self) -> bool:
        return self._client_status in ("closing", "closed")

    def _result(self, future: Any) -> Answer:
        """Wait for an answer; Dask's futures do not say that there is no scheduler any more."""
        while self._client_status:
            with suppress(TimeoutError, futures.TimeoutError):
                return future.result(timeout=_SECONDS_BETWEEN_LOOKS)
            if self._is_lost:
                raise WorkersError("the connection to Dask's scheduler is lost")
        return future.result()


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _refuse_forks(executor: object) -> None:
    """ValueError where workers would wait for ever for threads of torch that a fork leaves out."""
    method = getattr(getattr(executor, "_mp_context", None), "get_start_method", None)
    if method is not None and method() == "fork":
        raise ValueError(
            "forked processes cannot run torch, which has threads: pass "
            "ProcessPoolExecutor(4, mp_context=multiprocessing.get_context('spawn'))"
        )


def _pickled(value: object) -> bytes:
    """As bytes, functions within functions too where cloudpickle is installed."""
    try:
        from cloudpickle import dumps
    except ImportError:
        dumps = pickle.dumps
    try:
        pickled: bytes = dumps(value)
    except CannotSendError:
        raise
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise CannotSendError(
            f"a metric, a score or an input does not pickle and cannot be sent to a worker "
            f"({error}): define functions and classes in a module, or install cloudpickle"
        ) from error
    return pickled
