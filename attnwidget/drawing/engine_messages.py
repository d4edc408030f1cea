"""Messages between a process and its drawing engine: a JSON header and blocks of bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from io import RawIOBase
from typing import Any, cast

_LENGTH = struct.Struct("<Q")
# Largest number of bytes per write. Some systems refuse single writes of more than 2 GB.
_CHUNK = 1 << 26


def write_message(pipe: RawIOBase, header: Mapping[str, Any], blocks: Sequence[bytes] = ()) -> None:
    """Write a message: the number of parts, the length of each part, and the parts.

    Args:
        pipe: Unbuffered pipe, open for writing.
        header: Header with values that JSON can represent.
        blocks: Further parts, with any bytes.

    Raises:
        OSError: If the other process has closed the pipe.

    Example:
        >>> import io
        >>> from attnwidget.drawing.engine_messages import read_message, write_message
        >>> pipe = io.BytesIO()
        >>> write_message(pipe, {"task": "svg_to_png"}, [b"<svg/>"])
        >>> _ = pipe.seek(0)
        >>> read_message(pipe)
        ({'task': 'svg_to_png'}, [b'<svg/>'])
    """
    parts = [json.dumps(header).encode(), *blocks]
    lengths = [len(parts), *map(len, parts)]
    for part in (b"".join(map(_LENGTH.pack, lengths)), *parts):
        rest = memoryview(part)
        while rest:
            rest = rest[cast("int", pipe.write(rest[:_CHUNK])) :]


def read_message(pipe: RawIOBase) -> tuple[dict[str, Any], list[bytes]]:
    """Read the header and the blocks of the next message.

    Args:
        pipe: Unbuffered pipe, open for reading.

    Raises:
        EOFError: If the other process has closed the pipe.
    """
    (count,) = _LENGTH.unpack(_read(pipe, _LENGTH.size))
    lengths = [_LENGTH.unpack(_read(pipe, _LENGTH.size))[0] for _ in range(count)]
    header, *blocks = [_read(pipe, length) for length in lengths]
    return json.loads(header), blocks


def _read(pipe: RawIOBase, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = pipe.read(min(length - len(data), _CHUNK))
        if not part:
            raise EOFError("the pipe has ended within a message")
        data += part
    return bytes(data)
