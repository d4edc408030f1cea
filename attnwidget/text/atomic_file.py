"""Atomic file writes: a write is complete or leaves the old file unchanged."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from attnwidget.text.given_paths import refuse_no_parent


def write_whole(path: Path, data: bytes) -> None:
    """Write a file completely, or leave the old file if the write is interrupted.

    Args:
        path: File to write.
        data: New content.

    Raises:
        OSError: See `replacing`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget.text.atomic_file import write_whole
        >>> path = Path(tempfile.mkdtemp(), "numbers.txt")
        >>> write_whole(path, b"1 2 3")
        >>> path.read_bytes()
        b'1 2 3'
    """
    with replacing(path) as unfinished:
        unfinished.write_bytes(data)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path whose file replaces `path` at the end of the block.

    If the process is killed or interrupted in the block, the old file remains. A symbolic link
    remains a link, and the file that it points to is replaced. The new file has the permissions of
    the old file and, if the system allows it, the old owner and group.

    Args:
        path: File to replace.

    Raises:
        OSError: The block raised an OSError, which is raised again with the name `path`, and the
            old file remains. Also if `path` is a folder, a pipe or a device, or if the folder of
            the file does not exist.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget.text.atomic_file import replacing
        >>> path = Path(tempfile.mkdtemp(), "numbers.txt")
        >>> with replacing(path) as unfinished:
        ...     _ = unfinished.write_bytes(b"1 2 3")
        >>> path.read_bytes()
        b'1 2 3'
    """
    with named_errors(path):
        old_status = refuse_no_replacing(path)
    target = linked_file(path)
    # In a shared folder, other users cannot guess the name and create a file or link of this name.
    unfinished = target.with_name(f"{target.name}.{secrets.token_hex(8)}.part")
    try:
        with named_errors(path):
            # Only the user may read the new content until it has the old permissions.
            permissions = 0o666 if old_status is None else 0o600
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, permissions))
            yield unfinished
            if old_status is not None:
                _keep_access(unfinished, old_status)
            unfinished.replace(target)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def linked_file(path: Path) -> Path:
    """Return the path of the file to write, with all symbolic links resolved.

    Args:
        path: Path, which may be a symbolic link.
    """
    return Path(os.path.realpath(path))


def refuse_no_replacing(path: Path, content: str = "") -> os.stat_result | None:
    """Raise OSError if a file cannot replace `path`; otherwise return the status of the old file.

    If a file replaced a pipe or device, the pipe or device would be lost, and its reader would
    receive nothing.

    Args:
        path: File to write.
        content: Kind of file, for the message, such as "the resume file".

    Returns:
        The status of the old file, or None if there is no file.

    Raises:
        FileNotFoundError: The folder of the file does not exist.
        OSError: The path is a folder, a pipe or a device, or symbolic links form a loop.
    """
    refuse_no_parent(linked_file(path) if path.is_symlink() else path, content)
    try:
        old_status = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old_status.st_mode):
        raise IsADirectoryError(f"{os.path.abspath(path)!r} is a folder: name a file in it")
    if not stat.S_ISREG(old_status.st_mode):
        raise OSError(
            f"{str(path)!r} is a pipe or a device, which a file would replace: save to a new file, "
            "and copy that file to the pipe or device"
        )
    return old_status


def _keep_access(unfinished: Path, old: os.stat_result) -> None:
    """Give a new file the owner, group and permissions of the old file."""
    if hasattr(os, "chown"):
        # Owner and group are set separately, because a user may be allowed to set only the group.
        for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
            with suppress(OSError):
                os.chown(unfinished, owner, group)
    # Some network drives do not support file permissions.
    with suppress(OSError):
        os.chmod(unfinished, stat.S_IMODE(old.st_mode))


def remove_unfinished(path: Path) -> None:
    """Remove files that killed writers left; only the single writer of `path` may call this.

    Args:
        path: File that was written.
    """
    target = linked_file(path)
    for unfinished in target.parent.glob(f"{escape(target.name)}.*.part"):
        with suppress(OSError):
            unfinished.unlink()


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Add the file name and a next step to errors that the block raises.

    Args:
        path: File that the block writes.

    Raises:
        OSError: An error with the same error number, and therefore the same class.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(
            error.errno,
            f"{error.strerror}; the file was not written, and an earlier file is unchanged: free "
            "some space, or choose a different folder",
            str(path),
        ) from error
