"""The lines of a text file, plain or compressed, with errors that name the line."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Iterator
from functools import partial
from io import BufferedIOBase
from pathlib import Path

# Limit of the bytes of a line: longer lines, often packed zeros, are not text.
_LONGEST = 2**26
# The first bytes of a .gz file.
_GZIP = b"\x1f\x8b"


def decoded_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, plain or .gz, without line ends and byte order mark.

    Raises:
        ValueError: a line is not UTF-8 or has more than 64 MB, lines end with CR alone, or the .gz
            file is cut short or is not a .gz file.
        OSError: the file cannot be read, or is a folder, a pipe or a device.
    """
    refuse_no_file(path)
    number = 0
    try:
        with _opened(path) as file:
            for number, raw in enumerate(iter(partial(file.readline, _LONGEST + 1), b""), 1):
                if len(raw) > _LONGEST:
                    raise ValueError(
                        f"{path}:{number}: a line of more than {_LONGEST >> 20} MB: this is no text"
                    )
                line = raw.rstrip(b"\r\n")
                if number == 1 and b"\r" in line:
                    raise ValueError(
                        f"{path}: its lines end with CR alone, as on early Macs: save the file "
                        "with LF line ends"
                    )
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}:{number}: not UTF-8, byte 0x{error.object[error.start]:02X} after "
            f"{error.object[: error.start].decode('utf-8')[-20:]!r}: save the file as UTF-8"
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: not a whole .gz file ({error}): fetch it again") from error


def _opened(path: Path) -> BufferedIOBase:
    """Open a plain or packed file; its first bytes show a packed file of any name."""
    with open(path, "rb") as file:
        is_packed = file.read(2) == _GZIP
    return gzip.open(path, "rb") if is_packed or path.suffix == ".gz" else open(path, "rb")


def refuse_no_file(path: Path) -> None:
    """Raise OSError if a path is a folder, a pipe or a device.

    Opening a named pipe would wait until another process writes to it, possibly for ever.

    Raises:
        ValueError: no file can have this name.
        OSError: the file does not exist, or is not a regular file.
    """
    try:
        mode = path.stat().st_mode
    except ValueError as error:
        raise ValueError(f"{str(path)!r} is the name of no file: {error}") from error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{str(path)!r} is a folder: name a file in it")
    if not stat.S_ISREG(mode):
        raise OSError(f"{str(path)!r} is a pipe or a device: write what it gives to a file first")
