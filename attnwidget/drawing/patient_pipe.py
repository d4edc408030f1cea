"""Pipes whose reads and writes have a time limit, because the other process may be stopped."""

from __future__ import annotations

import os
import time
from io import RawIOBase


class PatientPipe(RawIOBase):
    """End of a pipe with one time limit for all its reads and writes together.

    There is no limit on Windows, where a process cannot be stopped.

    Args:
        pipe: Unbuffered pipe, open for reading or for writing.
        seconds: Time limit in seconds.

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
        """Return 1 to `size` bytes, or b"" if the other process has closed the pipe.

        Raises:
            TimeoutError: If no byte arrives within the time limit.
        """
        self._wait(writes=False)
        return self._pipe.read(size)

    # The messages use only these two of the types that `RawIOBase.write` accepts.
    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override]
        """Write as many bytes as fit into the pipe and return their number.

        Raises:
            TimeoutError: If the other process does not read within the time limit.
        """
        if os.name != "posix":
            return self._pipe.write(data) or 0
        self._wait(writes=True)
        os.set_blocking(self._pipe.fileno(), False)
        return self._pipe.write(data) or 0

    def _wait(self, *, writes: bool) -> None:
        """Wait until the pipe can be read or written."""
        if os.name != "posix":
            return
        import select

        poll = select.poll()
        poll.register(self._pipe.fileno(), select.POLLOUT if writes else select.POLLIN)
        if not poll.poll(1000 * max(0.0, self._end - time.monotonic())):
            raise TimeoutError("the other process did not read or write in time")
