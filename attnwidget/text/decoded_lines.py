"""The lines of a text file, plain or compressed, with errors that name the line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path


def decoded_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, plain or .gz, without their ends and a byte order mark.

    Raises:
        ValueError: a line is not UTF-8, or the .gz file is cut short or none.
        OSError: the file cannot be read.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    number = 0
    try:
        with opened(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                yield raw.rstrip(b"\r\n").decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}:{number}: not UTF-8, byte 0x{error.object[error.start]:02X} after "
            f"{error.object[: error.start].decode('utf-8')[-20:]!r}: save the file as UTF-8"
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: not a whole .gz file ({error}): fetch it again") from error
