"""A lock file against several runs that write the same file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from attnwidget.text.atomic_file import (
    linked_file,
    named_errors,
    refuse_no_replacing,
    remove_unfinished,
)

# Errors of read-only folders, and of file systems without locks.
_NO_LOCKS = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOLCK,
    errno.ENOSYS,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
}


@contextmanager
def one_writer(path: str | Path | None) -> Iterator[None]:
    """Lock a file in the block against all further runs, also in different processes.

    The operating system holds the lock on a file `.lock` beside it, and releases the lock if the
    process is killed. There is no lock in a folder without write permission, or on a file system
    without locks. Half-written files of a killed run are removed.

    Args:
        path: The file, which may not exist yet; None = no file and no lock.

    Raises:
        FileNotFoundError: the folder of the file does not exist.
        OSError: the path is a folder, a pipe or a device.
        RuntimeError: another run is writing the file.
        OSError: there is no room for a lock.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget.corpus.file_lock import one_writer
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
    # Two names of the same file, one of them a symbolic link, share a lock.
    path = linked_file(Path(path))
    # Check the place now, before a long computation whose result could not be stored.
    refuse_no_replacing(path, "the resume file")
    beside = Path(f"{path}.lock")
    lock = FileLock(beside)
    there_is_one = True
    try:
        with named_errors(path):
            lock.acquire(blocking=False)
    except Timeout:
        raise RuntimeError(
            f"{path} is being written by a second run, in this or a different process: wait for "
            "its end, stop it, or choose a different file"
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
        # Delete the lock file before the release: a process that opens it now sees the deletion and
        # creates a new file.
        with suppress(OSError):
            beside.unlink()
        lock.release()
