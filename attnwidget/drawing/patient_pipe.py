"""Pipes to a process that may be stopped: reading and writing end at a time limit."""

from __future__ import annotations

import os
import time
from io import RawIOBase


class PatientPipe(RawIOBase):
    """An end of a pipe, whose reads and writes together may take some seconds.

    Windows, which cannot stop a process, has no limit.

    Args:
        pipe: An unbuffered pipe, open for reading or for writing.
        seconds: The time limit.

    Example:
        >>> import os
        >>> from attnwidget.drawing.patient_pipe import PatientPipe
        >>> reading, writing = (open(end, mode, 0) for end, mode in zip(os.pipe(), ("rb", "wb")))
        >>> PatientPipe(writing, 5).write(b"svg"), PatientPipe(reading, 5).read(3)
        (3, b'svg')
        >>> try:
        ...     PatientPipe(reading, 0.1).read(3)
        ... except TimeoutError as error:
        ...     print(error)
        the other process did not read or write in time
        >>> reading.close(), writing.close()
        (None, None)
    """

    def __init__(self, pipe: RawIOBase, seconds: float) -> None:
        self._pipe = pipe
        self._end = time.monotonic() + seconds

    def read(self, size: int = -1, /) -> bytes | None:
        """Return at most `size` bytes, at least one; b"" if the other process has closed the pipe.

        Raises:
            TimeoutError: No byte has come in time.
        """
        self._wait(writes=False)
        return self._pipe.read(size)

    # Of the types of `RawIOBase.write`, the messages use bytes and memory views.
    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override]
        """Write what fits into the pipe, and return the number of bytes.

        Raises:
            TimeoutError: The other process has not read in time.
        """
        if os.name != "posix":
            return self._pipe.write(data) or 0
        self._wait(writes=True)
        os.set_blocking(self._pipe.fileno(), False)
        return self._pipe.write(data) or 0

    def _wait(self, *, writes: bool) -> None:
        """Return when the pipe can be read or written."""
        if os.name != "posix":
            return
        import select

        poll = select.poll()
        poll.register(self._pipe.fileno(), select.POLLOUT if writes else select.POLLIN)
        if not poll.poll(1000 * max(0.0, self._end - time.monotonic())):
            raise TimeoutError("the other process did not read or write in time")
