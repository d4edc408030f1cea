"""Atomic writing of files: a file is complete, or the old file stays."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path


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

    A process that is killed or interrupted in the block leaves the old file.

    Raises:
        OSError: an error of the block, with the name `path`; the old file stays.

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
    writer = f"{os.getpid()}-{threading.get_ident()}"
    unfinished = path.with_name(f"{path.name}.{writer}.part")
    try:
        with named_errors(path):
            yield unfinished
            unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def remove_unfinished(path: Path) -> None:
    """Remove the unfinished files of killed writers of `path`; call it only as the only writer."""
    for left in path.parent.glob(f"{escape(path.name)}.*.part"):
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
