"""Atomic writing of files: a file is complete, or the old file stays."""

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
    """Write a file completely, or leave the old file if the writing is interrupted.

    Raises:
        OSError: as `replacing`.

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
    """Yield a temporary name; the file of this name replaces `path` at the end of the block.

    A process that is killed or interrupted in the block leaves the old file. A symbolic link stays
    a link, and the file that the link names is replaced. The new file has the permissions of the
    old file and, if the system allows it, the old owner and group.

    Raises:
        OSError: an error of the block, with the name `path`; the old file stays. Also for a folder,
            a pipe or a device, and if the folder of the file does not exist.

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
        old = refuse_no_replacing(path)
    place = linked_file(path)
    # In a folder of several users, nobody else can make a file or a link of this name before.
    unfinished = place.with_name(f"{place.name}.{secrets.token_hex(8)}.part")
    try:
        with named_errors(path):
            # Nobody but the user may read the new content before it has the old permissions.
            permissions = 0o666 if old is None else 0o600
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, permissions))
            yield unfinished
            if old is not None:
                _keep_access(unfinished, old)
            unfinished.replace(place)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def linked_file(path: Path) -> Path:
    """Return the path of the file that is written, with all symbolic links followed."""
    return Path(os.path.realpath(path))


def refuse_no_replacing(path: Path, content: str = "") -> os.stat_result | None:
    """Raise OSError if a file cannot replace `path`; otherwise return the state of the old file.

    A pipe or a device would be lost if a file replaced it, and its reader would get nothing.

    Args:
        path: The file that will be written.
        content: The kind of file, for the message, such as "the resume file".

    Returns:
        The state of the old file, or None if there is no file.

    Raises:
        FileNotFoundError: the folder of the file does not exist.
        OSError: the path is a folder, a pipe or a device, or symbolic links form a circle.
    """
    refuse_no_parent(linked_file(path) if path.is_symlink() else path, content)
    try:
        old = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(f"{os.path.abspath(path)!r} is a folder: name a file in it")
    if not stat.S_ISREG(old.st_mode):
        raise OSError(
            f"{str(path)!r} is a pipe or a device, which a file would replace: save to a new file, "
            "and copy that file to the pipe or device"
        )
    return old


def _keep_access(unfinished: Path, old: os.stat_result) -> None:
    """Give a new file the owner, the group and the permissions of the old file."""
    if hasattr(os, "chown"):
        # Only root may give files away, and a user may be in the group of the file or not.
        for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
            with suppress(OSError):
                os.chown(unfinished, owner, group)
    # Some network drives have no permissions of files.
    with suppress(OSError):
        os.chmod(unfinished, stat.S_IMODE(old.st_mode))


def remove_unfinished(path: Path) -> None:
    """Remove the unfinished files of killed writers of `path`; call it only as the only writer."""
    place = linked_file(path)
    for left in place.parent.glob(f"{escape(place.name)}.*.part"):
        with suppress(OSError):
            left.unlink()


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Add the name of the file and the next step to errors of the block.

    Raises:
        OSError: an error with the same number, and therefore of the same class.
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
