"""Arrays in .npz files, which are written atomically and may be read from untrusted sources.

Nothing is unpickled, and reading does not allocate more memory than the file can fill.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.atomic_file import replacing
from attnwidget.text.given_paths import refuse_no_file

# Largest compression ratio. Number arrays shrink about five times, and padded word arrays about a
# hundred times.
_PACKED = 200
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


_SEAL = "seal"


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an .npz file with a seal, a hash of all arrays, which `stored_arrays` can check.

    The file is replaced atomically: a killed process leaves either the old or the new file.

    Args:
        path: File to write.
        arrays: Arrays by name.

    Raises:
        OSError: The file cannot be written; the old file remains.
    """
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        np.savez(file, allow_pickle=False, **{**arrays, _SEAL: np.array(_seal_of(arrays))})
        file.flush()
        os.fsync(file.fileno())


def stored_arrays(path: str | Path, *, sealed: bool = False) -> dict[str, NDArray[Any]]:
    """Return all arrays of an .npz file by name.

    Args:
        path: The file.
        sealed: Whether to check the seal of `write_arrays`.

    Raises:
        ValueError: The file is empty or not a complete .npz file, contains pickled objects, states
            a wrong size, or its arrays fail the check.
        OSError: See `refuse_no_file`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from attnwidget.text.stored_arrays import stored_arrays
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(Path(folder, "a.npz"), lengths=np.arange(3))
        ...     stored_arrays(Path(folder, "a.npz"))
        {'lengths': array([0, 1, 2])}
    """
    path = Path(path)
    refuse_no_file(path, "arrays (.npz)")
    # Open the file outside of `try`, so that only opening raises OSError; invalid content raises
    # ValueError.
    with path.open("rb") as file:
        try:
            _refuse_more_than_there_is(file, path.stat().st_size)
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except MemoryError:
            raise
        except Exception as error:
            # An invalid zip file or header raises various errors, for example SyntaxError.
            message = str(error) or type(error).__name__
            if "pickle" in message:
                raise ValueError(
                    f"{path} holds pickled objects, which are not read since they could run "
                    "anything"
                ) from error
            raise ValueError(f"{path} is no .npz file of arrays: {message[:200]}") from error
    if sealed and str(arrays.pop(_SEAL, "")) != _seal_of(arrays):
        raise ValueError(f"{path} is not as attnwidget wrote it")
    return arrays


def _seal_of(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the hash of all arrays and their names."""
    digest = blake2b(digest_size=16)
    for name in sorted(arrays):
        values = np.asarray(arrays[name])
        digest.update(f"{name} {values.dtype.str} {values.shape} ".encode("utf-8", "surrogatepass"))
        digest.update(values.tobytes())
    return digest.hexdigest()


def _refuse_more_than_there_is(file: Any, size: int) -> None:
    """Refuse headers with too large sizes, because numpy allocates arrays before reading them."""
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if entry.file_size > _PACKED * size:
                raise ValueError(f"{entry.filename!r} would have {entry.file_size:,} bytes")
            with archive.open(entry) as array:
                read_header = _HEADERS.get(np.lib.format.read_magic(array))
                if read_header is None:
                    raise ValueError(f"{entry.filename!r} has a header of an unknown version")
                shape, _, dtype = read_header(array)
                n_bytes = dtype.itemsize
                for count in shape:
                    n_bytes *= count
                if dtype.hasobject:
                    raise ValueError("pickled objects")
                if n_bytes != entry.file_size - array.tell():
                    raise ValueError(
                        f"{entry.filename!r} has {entry.file_size:,} bytes and says that it is "
                        f"{dtype.name} {list(shape)}"
                    )
    file.seek(0)
