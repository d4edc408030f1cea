"""Checks of paths that a user passes, with errors that give the full path and a next step.

Every loader calls `refuse_no_file` or `refuse_no_folder` before it reads, and every function that
writes a file calls `refuse_no_parent` before it computes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from attnwidget.text.near_names import near_names

# Folders may have millions of files, and a suggestion is not worth reading all their names.
_MOST_ENTRIES = 10_000
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_DRIVE = re.compile(r"[A-Za-z]:")


def refuse_no_file(path: str | Path, expected: str, *, may_be_empty: bool = False) -> None:
    """Raise an error unless a path is a file with content that this process may read.

    A pipe or a device is refused without opening it. Opening a named pipe would wait until another
    process writes to it, possibly forever.

    Args:
        path: Path to check.
        expected: Content and format of the file, for the message, such as "an atlas (.json)".
        may_be_empty: Whether to accept an empty file.

    Raises:
        FileNotFoundError: There is no such file.
        IsADirectoryError: The path is a folder.
        PermissionError: The file may not be read.
        OSError: The path is a pipe or a device.
        ValueError: The file is empty, or no file can have this name.
    """
    state = _state_of(path, expected, stat.S_ISREG)
    full = _full(path)
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(f"{full!r} is a folder, expected {expected}: name a file in it")
    if not stat.S_ISREG(state.st_mode):
        raise OSError(f"{full!r} is a pipe or a device: write what it gives to a file first")
    try:
        with open(path, "rb"):
            pass
    except PermissionError:
        # The original error has less information, so leave it out of the traceback.
        raise _forbidden(path, expected) from None
    if not state.st_size and not may_be_empty:
        raise ValueError(
            f"{full!r} is empty, expected {expected}: write or download the file again"
        )


def refuse_no_folder(path: str | Path, expected: str) -> None:
    """Raise an error unless a path is a folder that this process may read.

    Args:
        path: Path to check.
        expected: Content of the folder, for the message, such as "a model folder".

    Raises:
        FileNotFoundError: There is no such folder.
        NotADirectoryError: The path is a file.
        PermissionError: The folder may not be read.
        ValueError: No folder can have this name.
    """
    state = _state_of(path, expected, stat.S_ISDIR)
    full = _full(path)
    if not stat.S_ISDIR(state.st_mode):
        raise NotADirectoryError(
            f"{full!r} is a file, expected {expected}: pass its folder, {os.path.dirname(full)!r}"
        )
    try:
        os.scandir(path).close()
    except PermissionError:
        raise _forbidden(path, expected) from None


def refuse_missing_folder(name: str | Path, expected: str) -> None:
    """Raise an error for a path without a folder, and accept names that may be on the Hub.

    Args:
        name: Path of a folder, or a name on the Hub.
        expected: Content of the folder, for the message, such as "a model folder".

    Raises:
        OSError: See `refuse_no_folder`.
        ValueError: No folder can have this name.
    """
    if looks_like_path(name) or os.path.isfile(name):
        refuse_no_folder(name, expected)


def refuse_no_parent(path: str | Path, content: str = "") -> None:
    """Raise an error unless the folder of a file that will be written exists.

    Args:
        path: File to write, which need not exist yet.
        content: Kind of file, for the message, such as "the resume file".

    Raises:
        FileNotFoundError: The folder does not exist.
        NotADirectoryError: A part of the path is a file.
        PermissionError: The folder may not be read.
        ValueError: No file can have this name.
    """
    full = _full(path)
    folder = os.path.dirname(full)
    file_label = f"{content} {os.path.basename(full)!r}".strip()
    try:
        if stat.S_ISDIR(os.stat(folder).st_mode):
            return
    except (FileNotFoundError, NotADirectoryError):
        pass
    except PermissionError:
        raise PermissionError(
            f"no permission to read the folder {folder!r} for {file_label}: choose another folder"
        ) from None
    except ValueError as error:
        raise _no_name(path, error) from None
    parent, part = _first_missing(folder)
    # `part` is not an existing folder, so if it exists, it is a file.
    if os.path.exists(os.path.join(parent, part)):
        raise NotADirectoryError(
            f"{os.path.join(parent, part)!r} is a file, not a folder to write {file_label} in: "
            "choose another folder"
        )
    step = _suggested(parent, part, stat.S_ISDIR)
    make = f"make it first, pathlib.Path({folder!r}).mkdir(parents=True)"
    advice = f"{step} Otherwise {make}" if step else make
    raise FileNotFoundError(
        f"there is no folder {folder!r} to write {file_label} in: {advice}{_here(path)}"
    )


def make_folder(path: str | Path, content: str) -> Path:
    """Create a folder and its parent folders unless it exists, and return its path.

    Args:
        path: Folder to create.
        content: Purpose of the folder, for the message, such as "resume files".

    Raises:
        NotADirectoryError: The path, or a part of it, is a file.
        PermissionError: There is no permission to create the folder.
        OSError: The folder cannot be created for another reason.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        full = _full(path)
        file = next(above for above in (Path(full), *Path(full).parents) if above.exists())
        where = "" if str(file) == full else f" in {full!r}"
        raise NotADirectoryError(
            f"{str(file)!r} is a file, expected a folder for {content}{where}: choose another "
            "folder"
        ) from None
    except PermissionError:
        raise PermissionError(
            f"no permission to make the folder {_full(path)!r} for {content}: choose another folder"
        ) from None
    return folder


def looks_like_path(name: str | Path) -> bool:
    r"""Return whether a name must be the path of a file or folder, and not a name on the Hub.

    Names on the Hub are "model" or "owner/model", even if there is a folder "owner". A path begins
    with ".", "/", "~" or a drive, or has a backslash or more than one slash.

    Args:
        name: Path or name.

    Example:
        >>> from attnwidget.text.given_paths import looks_like_path
        >>> [looks_like_path(name) for name in ("./model", "C:\\model", "runs/tiny/final")]
        [True, True, True]
        >>> [looks_like_path(name) for name in ("gpt2", "openai-community/gpt2")]
        [False, False]
    """
    if isinstance(name, Path):
        return True
    if name.startswith((".", "/", "~")) or "\\" in name or _DRIVE.match(name):
        return True
    _, slash, rest = name.partition("/")
    return bool(slash) and ("/" in rest or not rest)


def _state_of(path: str | Path, expected: str, is_kind: Callable[[int], bool]) -> os.stat_result:
    """Return the status of a path; errors suggest existing paths of the same kind."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path, expected, is_kind) from None
    except PermissionError:
        raise _forbidden(path, expected) from None
    except ValueError as error:
        raise _no_name(path, error) from None


def _missing(path: str | Path, expected: str, is_kind: Callable[[int], bool]) -> OSError:
    """Return the error for a path that does not exist, with a suggestion."""
    full = _full(path)
    message = f"{full!r} does not exist, expected {expected}"
    if _ADDRESS.match(os.fspath(path)):
        # Path("https://...") keeps only one slash.
        address = re.sub(":/+", "://", os.fspath(path), count=1)
        return FileNotFoundError(
            f"{address!r} is an address, expected {expected}: nothing is fetched, so download the "
            "file and pass its path"
        )
    if os.path.islink(path):
        target = os.path.join(os.path.dirname(full), os.readlink(path))
        return FileNotFoundError(f"{message}: it is a link to {target!r}, which is missing")
    expanded = os.path.expanduser(path)
    if os.fspath(path).startswith("~") and os.path.exists(expanded):
        return FileNotFoundError(f'{message}: "~" is not expanded, pass {os.fspath(expanded)!r}')
    parent, part = _first_missing(full)
    missing_path = os.path.join(parent, part)
    if missing_path != full and os.path.exists(missing_path):
        return NotADirectoryError(f"{message}: {missing_path!r} is a file, not a folder")
    if missing_path == full:
        step = _suggested(parent, part, is_kind)
        hint = f"check its name, os.listdir({parent!r}) lists the folder"
    else:
        message += f"; there is no folder {missing_path!r}"
        step = _suggested(parent, part, stat.S_ISDIR)
        hint = f"check its name, os.listdir({parent!r}) lists the folder above"
    return FileNotFoundError(f"{message}: {step or hint}{_here(path)}")


def _forbidden(path: str | Path, expected: str) -> PermissionError:
    """Return the error for a path without read permission."""
    return PermissionError(
        f"no permission to read {_full(path)!r}, expected {expected}: change its permissions or "
        "those of its folder, or pass a copy"
    )


def _no_name(path: str | Path, error: ValueError) -> ValueError:
    """Return the error for a path that no file can have."""
    return ValueError(f"{os.fspath(path)!r} is the name of no file: {error}")


def _full(path: str | Path) -> str:
    return os.path.abspath(path)


def _here(path: str | Path) -> str:
    """Return the current directory, for errors about relative paths; "" for absolute paths."""
    return "" if os.path.isabs(path) else f" (the current directory is {os.getcwd()!r})"


def _first_missing(full: str) -> tuple[str, str]:
    """Return the deepest existing folder of a path, and the next part, which is not in it."""
    parent, part = os.path.split(full)
    while part and not os.path.isdir(parent):
        parent, part = os.path.split(parent)
    return parent, part


def _suggested(parent: str, part: str, is_kind: Callable[[int], bool]) -> str:
    """Return "did you mean ...?" with a path in `parent` whose name resembles `part`, or ""."""
    try:
        with os.scandir(parent) as entries:
            names = [
                entry.name for entry in islice(entries, _MOST_ENTRIES) if is_kind(_mode_of(entry))
            ]
    except OSError:
        return ""
    # A shared ending would make unrelated names similar, so compare names without endings.
    by_stem: dict[str, list[str]] = {}
    for name in names:
        by_stem.setdefault(_stem(name), []).append(name)
    near = [name for stem in near_names(_stem(part), by_stem, 5) for name in by_stem[stem]]
    close = near_names(part, near) or near
    return f"did you mean {os.path.join(parent, close[0])!r}?" if close else ""


def _stem(name: str) -> str:
    """Return a file name without its endings."""
    return name.partition(".")[0] or name


def _mode_of(entry: os.DirEntry[str]) -> int:
    """Return the mode of a folder entry, or 0 if it cannot be read."""
    try:
        return entry.stat().st_mode
    except OSError:
        return 0
