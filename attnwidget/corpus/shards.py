"""Distribution of study work to other processes: shards are sent, retried and returned in order."""

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

from attnwidget.corpus.worker import ShardAnswer, do_shard, study_versions
from attnwidget.model_facts.pickled_model import CannotSendError

B = TypeVar("B")

#: Number of batches that a worker reads before it responds.
BATCHES_A_SHARD = 4
#: Largest number of attempts per shard.
TRIES = 3
# Number of shards that are sent before the first response: enough for many workers, with a limited
# part of an iterator in memory.
_AHEAD = 128
_SECONDS_BETWEEN_LOOKS = 1.0
# Work with more bytes, such as a model without a name, is sent to Dask's workers only once.
_LARGE = 100_000


class Executor(Protocol):
    """Executor in other processes, such as `ProcessPoolExecutor`, Dask's, loky's or submitit's."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Any:
        """Call `function(*args)`, and return a future with `result()`, `done()` and `cancel()`.

        Args:
            function: Function to call.
            args: Arguments of the function.
        """


class WorkersError(RuntimeError):
    """Error for workers that could not finish their work.

    Example:
        >>> from attnwidget import WorkersError
        >>> issubclass(WorkersError, RuntimeError)
        True
    """


@dataclass
class _SentShard:
    """Shard that was sent, with the number of its first batch (from 1) and its future."""

    first: int
    batches: Sequence[Any]
    arguments: bytes
    tries: int = 0
    future: Any = None

    def __str__(self) -> str:
        last = self.first + len(self.batches) - 1
        return f"batches {self.first} to {last} ({sum(map(len, self.batches))} inputs)"


class Workers:
    """Executor with the work for each shard.

    If a shard fails, for example because its worker was lost, it is sent again, and the executor
    may choose another worker.

    Args:
        executor: Object with `submit`.
        work: Function that is called with the arguments of a shard; a worker stores it for the next
            shard.

    Raises:
        TypeError: `work` cannot be pickled.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from attnwidget.corpus.shards import Workers
        >>> def lengths(batches):
        ...     return [len(one) for one in batches]
        >>> with ThreadPoolExecutor(2) as pool:
        ...     list(Workers(pool, lengths).each(["a", "few", "batches"], lambda shard: (shard,)))
        [('a', 1), ('few', 3), ('batches', 7)]
    """

    def __init__(self, executor: Executor, work: Callable[..., Sequence[Any]]) -> None:
        self._executor = executor
        self._work = _pickled(work)
        self._sent_once: Any = None
        self._versions = study_versions()

    def each(
        self,
        batches: Iterable[B],
        arguments: Callable[[Sequence[B]], tuple[Any, ...]],
        *,
        first: int = 1,
    ) -> Generator[tuple[B, Any]]:
        """Yield each batch with its result, in order; queued shards are canceled at the end.

        Args:
            batches: Batches, which are read only as far ahead as workers may need.
            arguments: Function from the batches of one shard to the arguments of the work.
            first: Number of the first batch.

        Raises:
            ValueError, TypeError: An input causes an error in the work.
            WorkersError: The workers have other versions, the executor stopped, or a shard failed
                too often.
        """
        remaining = iter(batches)
        numbers = count(first, BATCHES_A_SHARD)
        waiting: deque[_SentShard] = deque()
        try:
            while (shard := list(islice(remaining, BATCHES_A_SHARD))) or waiting:
                if shard:
                    waiting.append(_SentShard(next(numbers), shard, _pickled(arguments(shard))))
                    self._send(waiting[-1])
                while waiting and (not shard or len(waiting) > _AHEAD or waiting[0].future.done()):
                    result = self._found(waiting[0])
                    yield from zip(waiting.popleft().batches, result, strict=True)
        finally:
            for shard_in_queue in waiting if not self._is_lost else ():
                if shard_in_queue.future is not None:
                    shard_in_queue.future.cancel()

    def _send(self, sent: _SentShard) -> None:
        """Submit a shard to the executor."""
        try:
            # If a shard failed, the work that was sent once may be lost with its worker.
            work = self._work if sent.tries else self._shared_work()
            sent.future = self._executor.submit(
                do_shard, self._versions, work, sent.arguments, sent.tries
            )
        except Exception as error:
            raise WorkersError(f"the executor takes no more work ({_error_text(error)})") from error
        sent.tries += 1

    def _shared_work(self) -> Any:
        """Return the work; for Dask and large work, a future that all workers have received."""
        client = getattr(self._executor, "_client", self._executor)
        if len(self._work) < _LARGE or not hasattr(client, "scatter"):
            return self._work
        if self._sent_once is None:
            self._sent_once = client.scatter(self._work, broadcast=True)
        return self._sent_once

    def _found(self, sent: _SentShard) -> Sequence[Any]:
        """Return the result of a shard, after several attempts if necessary."""
        while True:
            response = self._answer(sent.future)
            if not response.error:
                return response.found
            if response.kind == "input":
                raise (TypeError if response.type_name == "TypeError" else ValueError)(
                    response.error
                )
            if response.kind == "versions":
                raise WorkersError(
                    f"a worker has different versions and might give different numbers: "
                    f"{response.error}; install the same versions everywhere"
                )
            if sent.tries >= TRIES:
                raise WorkersError(f"{sent} failed {TRIES} times, at last with: {response.error}")
            self._send(sent)

    def _answer(self, future: Any) -> ShardAnswer:
        """Return a worker's response, or the reason why there is none."""
        try:
            return self._result(future)
        except BrokenExecutor as error:
            raise WorkersError(
                f"the executor stopped, as it does when a worker is killed or out of memory "
                f"({_error_text(error)})"
            ) from error
        except WorkersError:
            raise
        except Exception as error:
            return ShardAnswer(error=_error_text(error))

    @property
    def _client_status(self) -> str:
        """Connection status of Dask's client; "" for other executors."""
        return str(getattr(getattr(self._executor, "_client", self._executor), "status", ""))

    @property
    def _is_lost(self) -> bool:
        """Whether the connection to Dask's scheduler is closed."""
        return self._client_status in ("closing", "closed")

    def _result(self, future: Any) -> ShardAnswer:
        """Wait for a response. Dask's futures do not notice if the scheduler is gone."""
        while self._client_status:
            with suppress(TimeoutError, futures.TimeoutError):
                return future.result(timeout=_SECONDS_BETWEEN_LOOKS)
            if self._is_lost:
                raise WorkersError("the connection to Dask's scheduler is lost")
        return future.result()


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def check_executor(executor: object) -> None:
    """Check that an object is an executor whose workers can run torch.

    Args:
        executor: Object to check.

    Raises:
        TypeError: The object has no method `submit`.
        ValueError: The workers are forked, and would wait for missing torch threads.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from attnwidget.corpus.shards import check_executor
        >>> check_executor(ThreadPoolExecutor(2))
    """
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise TypeError(
            "an executor needs a method submit(function, *arguments), for example "
            f"ProcessPoolExecutor(4, mp_context=get_context('spawn')); got {executor!r:.80}"
        )
    method = getattr(getattr(executor, "_mp_context", None), "get_start_method", None)
    if method is not None and method() == "fork":
        raise ValueError(
            "forked processes cannot run torch, which has threads: pass "
            "ProcessPoolExecutor(4, mp_context=multiprocessing.get_context('spawn'))"
        )


def _pickled(value: object) -> bytes:
    """Pickle an object; cloudpickle, if installed, also pickles nested functions."""
    try:
        from cloudpickle import dumps
    except ImportError:
        dumps = pickle.dumps
    try:
        data: bytes = dumps(value)
    except CannotSendError:
        raise
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise CannotSendError(
            f"a metric, a score or an input does not pickle and cannot be sent to a worker "
            f"({error}): define functions and classes in a module, or install cloudpickle"
        ) from error
    return data
