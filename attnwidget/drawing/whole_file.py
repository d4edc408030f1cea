"""Files that are there complete, or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in its place once it is complete: whoever is interrupted leaves the old one.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget.drawing.whole_file import write_whole
        >>> path = Path(tempfile.mkdtemp(), "numbers.txt")
        >>> write_whole(path, b"1 2 3")
        >>> path.read_bytes()
        b'1 2 3'
    """
    writer = f"{os.getpid()}-{threading.get_ident()}"
    unfinished = path.with_name(f"{path.name}.{writer}.part")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
