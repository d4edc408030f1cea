"""One run at a time writes a file: a lock beside it, which ends with the process that holds it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from attnwidget.text.whole_file import named_errors, remove_unfinished

# Of folders that nothing can be written to, and of file systems without locks.
_NO_LOCKS = {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP),
}


@contextmanager
def one_writer(path: str | Path | None) -> Iterator[None]:
    """A block in which no other run writes the file, be it of this process or of another one.

    The operating system holds the lock, on a file called `.lock` beside it, and takes it back from
    a process that is killed. In a folder that cannot be written to, and on file systems that know
    no locks, there is none. What a killed run has left half-written beside the file is removed.

    Args:
        path: the file, which need not exist yet; None = nothing is written.

    Raises:
        FileNotFoundError: its folder does not exist.
        RuntimeError: another run writes it.
        OSError: there is no room for a lock.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget.studies.one_writer import one_writer
        >>> path = Path(tempfile.mkdtemp(), "run.npz")
        >>> with one_writer(path):
        ...     [one.name for one in path.parent.iterdir()]
        ['run.npz.lock']
        >>> [*path.parent.iterdir()]
        []
    """
    if path is None:
        yield
        return
    path = Path(path)
    # Before anything is computed that could not be kept.
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(path.absolute().parent)!r} to keep the checkpoint "
            f"{path.name!r} in: make it first"
        )
    beside = Path(f"{path}.lock")
    lock, there_is_one = FileLock(beside), True
    try:
        with named_errors(path):
            lock.acquire(blocking=False)
    except Timeout:
        raise RuntimeError(
            f"{path} is being written by another run, in this process or in another one: wait "
            "until it ends, stop it, or name another file"
        ) from None
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
            raise
        there_is_one = False
    if not there_is_one:
        yield
        return
    try:
        remove_unfinished(path)
        yield
    finally:
        # Before it is given back: who opens it now sees that it is gone, and takes a new one.
        with suppress(OSError):
            beside.unlink()
        lock.release()
