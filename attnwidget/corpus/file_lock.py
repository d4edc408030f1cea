"""Lock file that prevents several runs from writing the same file."""

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

# Errors for read-only folders, and for file systems without locks.
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
    """Lock a file during the block, so that no other run in any process writes it.

    The operating system holds the lock on a `.lock` file in the same folder, and releases it if the
    process is killed. There is no lock in a folder without write permission, or on a file system
    without locks. Partial files of a killed run are removed.

    Args:
        path: File to write, which need not exist yet; None = no file and no lock.

    Raises:
        FileNotFoundError: The folder of the file does not exist.
        OSError: The path is a folder, a pipe or a device, or there is no disk space for a lock.
        RuntimeError: Another run is writing the file.

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
    # Resolve symbolic links, so that two names of the same file share a lock.
    path = linked_file(Path(path))
    # Check the path now, before a long computation whose result could not be stored.
    refuse_no_replacing(path, "the resume file")
    lock_file = Path(f"{path}.lock")
    lock = FileLock(lock_file)
    is_locked = True
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
        is_locked = False
    if not is_locked:
        yield
        return
    try:
        remove_unfinished(path)
        yield
    finally:
        # Delete the lock file before releasing the lock: a process that opens it at this moment
        # notices the deletion and creates a new file.
        with suppress(OSError):
            lock_file.unlink()
        lock.release()
