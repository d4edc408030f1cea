"""Lines of a text file, plain or compressed, with errors that name the line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from functools import partial
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from typing import cast

from attnwidget.text.given_paths import refuse_no_file

# Largest number of bytes in a line. Longer lines, often compressed zeros, are not text.
_LONGEST = 2**26
# A .gz file may unpack to this number of bytes, plus a number of bytes per packed byte. Treebanks
# and other texts unpack to 3 to 15 bytes per packed byte.
_UNPACKED = 2**22
_UNPACKED_FOR_EACH = 100
# First bytes of .gz files, and of packed files that the package does not read.
_GZIP = b"\x1f\x8b"
_OTHER_PACKED = {
    b"\xfd7zXZ\x00": ".xz",
    b"BZh": ".bz2",
    b"PK\x03\x04": ".zip",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"7z\xbc\xaf": ".7z",
}


def decoded_lines(path: Path, expected: str) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, plain or .gz, without line ends and byte order mark.

    Args:
        path: The file.
        expected: Content and format of the file, for errors about the path.

    Raises:
        ValueError: The file is empty, a line is not UTF-8 or has more than 64 MB, lines end with
            only CR, or the file is packed in another format than .gz. Also if a .gz file is
            truncated, has another format, or unpacks to far more data than a text.
        OSError: See `refuse_no_file`.
    """
    refuse_no_file(path, expected)
    number = 0
    n_unpacked = 0
    try:
        with _opened(path) as file:
            for number, raw in enumerate(iter(partial(file.readline, _LONGEST + 1), b""), 1):
                if len(raw) > _LONGEST:
                    raise ValueError(
                        f"{path}:{number}: a line of more than {_LONGEST >> 20} MB: this is no text"
                    )
                n_unpacked += len(raw)
                if n_unpacked > _UNPACKED and isinstance(file, gzip.GzipFile):
                    _refuse_bomb(path, file, n_unpacked)
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
    """Open a plain or packed file; its first bytes show whether it is packed."""
    with open(path, "rb") as file:
        first_bytes = file.read(8)
    for beginning, suffix in _OTHER_PACKED.items():
        if first_bytes.startswith(beginning):
            raise ValueError(f"{path} is a {suffix} file, which is not read: unpack it first")
    is_packed = first_bytes.startswith(_GZIP)
    return gzip.open(path, "rb") if is_packed or path.suffix == ".gz" else open(path, "rb")


def _refuse_bomb(path: Path, file: gzip.GzipFile, unpacked: int) -> None:
    """Raise ValueError if a .gz file unpacks to far more data than a text does.

    A few megabytes can unpack to gigabytes, which take minutes to read.
    """
    packed = cast("BufferedReader", file.fileobj).tell()
    if unpacked > _UNPACKED + _UNPACKED_FOR_EACH * packed:
        raise ValueError(
            f"{path}: {unpacked >> 20} MB come from the first {packed / 1000:,.0f} kB of this .gz "
            f"file, more than {_UNPACKED_FOR_EACH} bytes from each, which no text does: if you "
            "trust the file, unpack it (gunzip) and load the unpacked file"
        )
