"""Free memory, and an error for larger requests, because the system would kill the process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from attnwidget.model_facts.memory_limits import free_under_limits

_LINUX = Path("/proc/meminfo")


def free_memory() -> int | None:
    """Return the number of bytes that the process can allocate; None if it is unknown.

    The result is the minimum of the free memory in the system, in each container and under the
    process limits. Files in the Linux page cache count as free.
    """
    system_memory = _free_in_system()
    free_bytes = (
        free_under_limits() if system_memory is None else [system_memory, *free_under_limits()]
    )
    return min(free_bytes, default=None)


def _free_in_system() -> int | None:
    """Return the number of free bytes in the system, or None if it is unknown."""
    try:
        for line in _LINUX.read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def give_memory_back() -> None:
    """Make the C library return free memory to the system, if the library is glibc.

    After many arrays of different sizes, the allocator of glibc can keep several hundred MB.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return


def refuse_no_room(needed: int, what: str, advice: Callable[[int], str]) -> None:
    """Refuse a request for more memory than is free.

    Args:
        needed: Number of bytes to allocate.
        what: Plural noun for the data, for the message.
        advice: Function from the number of free bytes to the advice in the message.

    Raises:
        ValueError: `needed` bytes are not free.
    """
    free_bytes = free_memory()
    if free_bytes is not None and needed > free_bytes:
        raise ValueError(
            f"{what} take {needed / 1e9:,.1f} GB, {free_bytes / 1e9:,.1f} GB are free: "
            f"{advice(free_bytes)}"
        )
