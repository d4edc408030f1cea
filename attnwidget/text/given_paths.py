"""Checks of paths that a user passes: errors name the full path, what is expected, and a next step.

Every loader calls `refuse_no_file` or `refuse_no_folder` before it reads, and everything that
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

# Folders may have millions of files; a suggestion is not worth reading all their names.
_MOST_ENTRIES = 10_000
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_DRIVE = re.compile(r"[A-Za-z]:")


def refuse_no_file(path: str | Path, expected: str, *, may_be_empty: bool = False) -> None:
    """Raise an error unless a path is a file with content that this process may read.

    A pipe or a device is refused without opening it. Opening a named pipe would wait until another
    process writes to it, possibly for ever.

    Args:
        path: The path.
        expected: The content and format of the file, for the message, such as "an atlas (.json)".
        may_be_empty: Whether a file without bytes is accepted.

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
        # The cause would say the same with less, and is left out of tracebacks.
        raise _forbidden(path, expected) from None
    if not state.st_size and not may_be_empty:
        raise ValueError(
            f"{full!r} is empty, expected {expected}: write or download the file again"
        )


def refuse_no_folder(path: str | Path, expected: str) -> None:
    """Raise an error unless a path is a folder that this process may read.

    Args:
        path: The path.
        expected: The content of the folder, for the message, such as "a model folder".

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
    """Raise an error for a path without a folder; names that may be on the Hub pass.

    Args:
        name: The path of a folder, or a name on the Hub.
        expected: The content of the folder, for the message, such as "a model folder".

    Raises:
        OSError: As `refuse_no_folder`.
        ValueError: No folder can have this name.
    """
    if looks_like_path(name) or os.path.isfile(name):
        refuse_no_folder(name, expected)


def refuse_no_parent(path: str | Path, content: str = "") -> None:
    """Raise an error unless the folder of a file that will be written exists.

    Args:
        path: The file, which may not exist yet.
        content: The kind of file, for the message, such as "the resume file".

    Raises:
        FileNotFoundError: The folder does not exist.
        NotADirectoryError: A part of the path is a file.
        PermissionError: The folder may not be read.
        ValueError: No file can have this name.
    """
    full = _full(path)
    folder = os.path.dirname(full)
    what = f"{content} {os.path.basename(full)!r}".strip()
    try:
        if stat.S_ISDIR(os.stat(folder).st_mode):
            return
    except (FileNotFoundError, NotADirectoryError):
        pass
    except PermissionError:
        raise PermissionError(
            f"no permission to read the folder {folder!r} for {what}: choose another folder"
        ) from None
    except ValueError as error:
        raise _no_name(path, error) from None
    parent, part = _first_missing(folder)
    # `part` exists if it is a file.
    if os.path.exists(os.path.join(parent, part)):
        raise NotADirectoryError(
            f"{os.path.join(parent, part)!r} is a file, not a folder to write {what} in: "
            "choose another folder"
        )
    step = _suggested(parent, part, stat.S_ISDIR)
    make = f"make it first, pathlib.Path({folder!r}).mkdir(parents=True)"
    advice = f"{step} Otherwise {make}" if step else make
    raise FileNotFoundError(
        f"there is no folder {folder!r} to write {what} in: {advice}{_here(path)}"
    )


def make_folder(path: str | Path, content: str) -> Path:
    """Make a folder with the folders above it, unless it exists, and return its path.

    Args:
        path: The folder.
        content: What the folder is for, for the message, such as "resume files".

    Raises:
        NotADirectoryError: The path, or a part of it, is a file.
        PermissionError: The folder may not be made.
        OSError: The folder cannot be made for another reason.
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
    r"""Return whether a name can only be the path of a file or folder, and no name on the Hub.

    Names on the Hub are "model" or "owner/model", also where there is a folder "owner". A path
    begins with ".", "/", "~" or a drive, or has a backslash or more than one slash.

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
    """Return the state of a path; errors suggest paths of a kind."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path, expected, is_kind) from None
    except PermissionError:
        raise _forbidden(path, expected) from None
    except ValueError as error:
        raise _no_name(path, error) from None


def _missing(path: str | Path, expected: str, is_kind: Callable[[int], bool]) -> OSError:
    full = _full(path)
    said = f"{full!r} does not exist, expected {expected}"
    if _ADDRESS.match(os.fspath(path)):
        # Path("https://...") has one slash.
        address = re.sub(":/+", "://", os.fspath(path), count=1)
        return FileNotFoundError(
            f"{address!r} is an address, expected {expected}: nothing is fetched, so download the "
            "file and pass its path"
        )
    if os.path.islink(path):
        target = os.path.join(os.path.dirname(full), os.readlink(path))
        return FileNotFoundError(f"{said}: it is a link to {target!r}, which is missing")
    expanded = os.path.expanduser(path)
    if os.fspath(path).startswith("~") and os.path.exists(expanded):
        return FileNotFoundError(f'{said}: "~" is not expanded, pass {os.fspath(expanded)!r}')
    parent, part = _first_missing(full)
    place = os.path.join(parent, part)
    if place != full and os.path.exists(place):
        return NotADirectoryError(f"{said}: {place!r} is a file, not a folder")
    if place == full:
        step = _suggested(parent, part, is_kind)
        look = f"check its name, os.listdir({parent!r}) lists the folder"
    else:
        said += f"; there is no folder {place!r}"
        step = _suggested(parent, part, stat.S_ISDIR)
        look = f"check its name, os.listdir({parent!r}) lists the folder above"
    return FileNotFoundError(f"{said}: {step or look}{_here(path)}")


def _forbidden(path: str | Path, expected: str) -> PermissionError:
    return PermissionError(
        f"no permission to read {_full(path)!r}, expected {expected}: change its permissions or "
        "those of its folder, or pass a copy"
    )


def _no_name(path: str | Path, error: ValueError) -> ValueError:
    return ValueError(f"{os.fspath(path)!r} is the name of no file: {error}")


def _full(path: str | Path) -> str:
    return os.path.abspath(path)


def _here(path: str | Path) -> str:
    """Return where a relative path begins; "" for absolute paths."""
    return "" if os.path.isabs(path) else f" (the current directory is {os.getcwd()!r})"


def _first_missing(full: str) -> tuple[str, str]:
    """Return the last folder of a path that exists, and the part that the folder does not have."""
    parent, part = os.path.split(full)
    while part and not os.path.isdir(parent):
        parent, part = os.path.split(parent)
    return parent, part


def _suggested(parent: str, part: str, is_kind: Callable[[int], bool]) -> str:
    """Return "did you mean ...?" with a path in `parent` that is named like `part`; else ""."""
    try:
        with os.scandir(parent) as entries:
            names = [
                entry.name for entry in islice(entries, _MOST_ENTRIES) if is_kind(_mode_of(entry))
            ]
    except OSError:
        return ""
    # Names with the same ending are alike, whatever they name.
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
    try:
        return entry.stat().st_mode
    except OSError:
        return 0
