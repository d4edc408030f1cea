"""Files that are there complete, or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in its place once it is complete: whoever is interrupted leaves the old one.

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
    """The name to write a file under, which takes the place of `path` when the block is done.

    Whoever is killed or interrupted in the block leaves the old file.

    Raises:
        OSError: of the block, about `path`; the old file stands.

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
    """Remove what writers that were killed have left of `path`; for one who is the only writer."""
    for left in path.parent.glob(f"{escape(path.name)}.*.part"):
        with suppress(OSError):
            left.unlink()


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Errors in the block name the file that was to be written, and the next step.

    Raises:
        OSError: of the same number, and so of the same class.
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
