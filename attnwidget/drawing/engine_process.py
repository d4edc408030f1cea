"""Parent's side of the drawing engine: starts, calls, ends and restarts the child process."""

from __future__ import annotations

import atexit
import multiprocessing.spawn
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import RawIOBase
from typing import Any, NoReturn, cast

from attnwidget.drawing.engine_messages import read_message, write_message
from attnwidget.drawing.patient_pipe import PatientPipe
from attnwidget.text.thread_lock import ThreadLock

#: Seconds to wait for a child that should have ended itself, before the parent ends it.
_GRACE = 5.0
_START = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from attnwidget.drawing.engine_server import serve; serve()"
)
# The converters append long stack traces to their error messages.
_STACK = "Stack backtrace:"
# Engine errors that keep their type; all other errors become a RuntimeError.
_ERRORS: dict[str, type[Exception]] = {
    "ImportError": ImportError,
    "MemoryError": MemoryError,
    "ModuleNotFoundError": ImportError,
}


class EngineProcess:
    """Drawing engine of this process: a child process that serves one request at a time.

    The first request starts the child. All threads share the child, and it ends with this process.
    A forked process starts its own child, because two processes cannot share a pipe safely: one of
    them may end in the middle of a request.

    Args:
        bundle: JavaScript of the drawing code, which the child receives when it starts.
        patience: Time limit of a request in seconds. The largest figures take less than one second.
            The child ends itself after this time.
    """

    def __init__(self, bundle: bytes, patience: float = 60.0) -> None:
        self.patience = patience
        self._bundle = bundle
        self._lock = ThreadLock()
        self._child: subprocess.Popen[bytes] | None = None
        # True if the child has not answered its latest request or has no drawing code yet.
        self._owes_answer = False
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def ask(
        self, task: str, blocks: Sequence[bytes], *, what: str, **options: Any
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Run a task in the engine and return the header and the blocks of its answer.

        Args:
            task: Task name, a method name on the engine's side (`engine_server`).
            blocks: Blocks of bytes that the task takes.
            what: Name of the drawn or converted object, for error messages.
            options: Further arguments of the task, with values that JSON can represent.

        Raises:
            RuntimeError: If the engine cannot start, ends during the request or reports an error.
            TimeoutError: If the request takes longer than a minute.
            MemoryError: If the engine runs out of memory.
            ImportError: If a library that the engine needs is not installed.
        """
        with self._lock:
            child = self._running()
            return self._exchange(child, {"task": task, **options}, blocks, what)

    @property
    def child(self) -> int | None:
        """Process ID of the engine; None if no engine is running."""
        child = self._child
        return None if child is None or child.poll() is not None else child.pid

    def close(self) -> None:
        """End the child. The next request starts another child."""
        child, self._child = self._child, None
        if child is not None:
            _end(child)

    def _forget(self) -> None:
        """Forget the child after a fork, because it belongs to the parent process."""
        child, self._child = self._child, None
        if child is not None:
            for pipe in (child.stdin, child.stdout):
                with suppress(OSError):
                    cast("RawIOBase", pipe).close()
            # Popen must not wait for a process that is not a child of this process.
            child.returncode = 0

    def _running(self) -> subprocess.Popen[bytes]:
        # After Ctrl-C, the next request would otherwise read the answer to the previous request.
        if self._child is not None and (self._owes_answer or self._child.poll() is not None):
            self.close()
        if self._child is None:
            self._owes_answer = True
            self._child = _start()
            self._exchange(self._child, {"task": "load"}, [self._bundle], "the drawing code")
        return self._child

    def _exchange(
        self,
        child: subprocess.Popen[bytes],
        header: Mapping[str, Any],
        blocks: Sequence[bytes],
        what: str,
    ) -> tuple[dict[str, Any], list[bytes]]:
        patience = self.patience
        began = time.monotonic()
        self._owes_answer = True
        try:
            # Use pipes with a time limit, because a stopped child neither reads nor ends itself.
            requests = PatientPipe(_pipe(child.stdin), patience)
            write_message(requests, {**header, "seconds": patience}, blocks)
            answers = PatientPipe(_pipe(child.stdout), patience + _GRACE)
            answer, parts = read_message(answers)
            self._owes_answer = False
        except (OSError, EOFError) as error:
            # The exit code is available a moment after the process has closed its pipes.
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=1)
            self.close()
            if time.monotonic() - began >= patience:
                raise TimeoutError(f"{what} was not drawn within {patience:.3g} s") from error
            raise RuntimeError(_ended(child, what)) from error
        except BaseException:
            self.close()
            raise
        if "error" in answer:
            self._refuse(answer["error"], answer["says"], what)
        return answer, parts

    def _refuse(self, kind: str, says: str, what: str) -> NoReturn:
        if kind == "MemoryError":
            # The JavaScript engine is unusable after this error.
            self.close()
            raise MemoryError(f"{what} needs more memory than its engine may have")
        says = says.partition(_STACK)[0].strip()
        raise _ERRORS.get(kind, RuntimeError)(f"{what} could not be drawn: {says}")


def _start() -> subprocess.Popen[bytes]:
    # In programs that embed Python, sys.executable is another program, so use this setting.
    executable = multiprocessing.spawn.get_executable()
    if not executable or getattr(sys, "frozen", False):
        raise RuntimeError(
            "the drawing engine needs a Python of its own, and this program names none "
            f"(sys.executable is {sys.executable!r}): call multiprocessing.set_executable with the "
            "path of a Python that has this package, or save a page (.html)"
        )
    try:
        return subprocess.Popen(
            [os.fsdecode(executable), "-W", "ignore", "-c", _START, *_path()],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Do not open a console window on Windows.
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError as error:
        raise RuntimeError(
            f"the drawing engine could not start ({error}): it is a process of its own, so check "
            "the limits of processes, open files and memory, or save a page (.html)"
        ) from error


def _path() -> list[str]:
    """Return the folders from which this process imports modules.

    The current folder comes last, because a file there, such as json.py, must not shadow a module.
    """
    folders = [folder for folder in sys.path if folder]
    if len(folders) < len(sys.path):
        with suppress(OSError):
            folders.append(os.getcwd())
    return folders


def _end(child: subprocess.Popen[bytes]) -> None:
    # The engine has no data to save, so it can be killed.
    with suppress(OSError):
        child.kill()
    for pipe in (child.stdin, child.stdout):
        with suppress(OSError):
            _pipe(pipe).close()
    with suppress(subprocess.TimeoutExpired):
        child.wait(timeout=10)


def _ended(child: subprocess.Popen[bytes], what: str) -> str:
    code = child.returncode
    reason = f"with exit code {code}"
    if code is not None and code < 0:
        with suppress(ValueError):
            reason = f"by signal {signal.Signals(-code).name}"
    return f"the drawing engine ended ({reason}) while it drew {what}: {_next_step()}"


def _next_step() -> str:
    """Return the advice for an engine that has ended, with the cause if it is known."""
    if sys.platform != "win32":
        import resource

        _, limit = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            return (
                f"its JavaScript reserves about 256 GB of address space, and this process may "
                f"have {limit / 1e9:.0f} GB (ulimit -v). Raise the limit, or save a page (.html) "
                "and print it from a browser"
            )
    return "the next figure starts a new engine"


def _pipe(pipe: Any) -> RawIOBase:
    return cast("RawIOBase", pipe)
