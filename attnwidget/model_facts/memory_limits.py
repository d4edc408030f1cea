"""Free memory under the limits of the process and its containers.

The system kills a process that exceeds the limit of a container (a Linux control group), without a
Python error. Containers can be nested, and the smallest limit counts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

_PROCESS = Path("/proc/self")


class _Files(NamedTuple):
    """File names in one version of control groups.

    Attributes:
        limit: File with the largest number of bytes.
        usage: File with the number of bytes in use, including the page cache.
        file_counts: Entries of `memory.stat` that count the bytes in the page cache.
    """

    limit: str
    usage: str
    file_counts: tuple[str, str]


_FIRST = _Files(
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
)
_SECOND = _Files("memory.max", "memory.current", ("inactive_file", "active_file"))


def free_under_limits() -> list[int]:
    """Return the number of free bytes under each limit; empty if there is no limit.

    Example:
        >>> from attnwidget.model_facts.memory_limits import free_under_limits
        >>> all(isinstance(free, int) for free in free_under_limits())
        True
    """
    return [max(0, free) for free in (*_free_in_groups(), *_free_of_process())]


def _free_in_groups() -> Iterator[int]:
    """Yield the free bytes in each control group of this process, innermost first."""
    for folder, mount, files in _groups():
        for group in (folder, *folder.parents):
            with suppress(OSError, ValueError):
                limit = int((group / files.limit).read_text("ascii"))
                yield limit - _used(group, files)
            if group == mount:
                break


def _used(group: Path, files: _Files) -> int:
    """Return the used bytes of a control group, without the page cache, which Linux can drop."""
    counts = dict(line.split() for line in (group / "memory.stat").read_text("ascii").splitlines())
    droppable = sum(int(counts.get(name, 0)) for name in files.file_counts)
    return int((group / files.usage).read_text("ascii")) - droppable


def _groups() -> Iterator[tuple[Path, Path, _Files]]:
    """Yield folder, mount point and file names of the control groups that limit memory."""
    try:
        process_groups = (_PROCESS / "cgroup").read_text("utf-8").splitlines()
        mounts = (_PROCESS / "mountinfo").read_text("utf-8").splitlines()
    except OSError:
        return
    paths: dict[_Files, str] = {}
    for line in process_groups:
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            paths[_FIRST] = path
        elif not controllers:
            paths[_SECOND] = path
    for line in mounts:
        fields, _, mount_fields = line.partition(" - ")
        root, mount = map(_unescaped, fields.split(" ")[3:5])
        kind, _, options = mount_fields.split(" ", 2)
        files = _SECOND if kind == "cgroup2" else _FIRST
        is_of_memory = kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(","))
        if is_of_memory and files in paths:
            # A container sees its own group as the root of the mount.
            group = PurePosixPath(paths[files])
            inside = group.relative_to(root) if group.is_relative_to(root) else PurePosixPath()
            has_parents = ".." in inside.parts
            yield Path(mount) if has_parents else Path(mount, *inside.parts), Path(mount), files


def _unescaped(name: str) -> str:
    """Return a path from a mount list, which contains spaces as octal numbers."""
    for character in " \t\n\\":
        name = name.replace(f"\\{ord(character):03o}", character)
    return name


def _free_of_process() -> Iterator[int]:
    """Yield the free bytes under each limit of this process, such as `ulimit -v`."""
    if sys.platform == "win32":
        return
    import resource

    sizes: dict[str, int] = {}
    with suppress(OSError, ValueError):
        for line in (_PROCESS / "status").read_text("utf-8").splitlines():
            name, _, size = line.partition(":")
            if size.endswith("kB"):
                sizes[name] = int(size.split()[0]) * 1024
    for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        largest, _ = resource.getrlimit(limit)
        if largest != resource.RLIM_INFINITY:
            yield largest - sizes.get(name, 0)
