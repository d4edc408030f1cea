"""Free memory, and an error before a request exceeds it, because systems end such processes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from attnwidget.model_facts.memory_limits import free_under_limits

_LINUX = Path("/proc/meminfo")


def free_memory() -> int | None:
    """Return the number of bytes that a process can get; None if the system does not say.

    The least counts of what the system, each container and the limits of the process leave free.
    Files that Linux keeps in memory for a while count as free.
    """
    of_system = _free_in_system()
    free = free_under_limits() if of_system is None else [of_system, *free_under_limits()]
    return min(free, default=None)


def _free_in_system() -> int | None:
    try:
        for line in _LINUX.read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def give_memory_back() -> None:
    """Make the C library return free memory to the system, if the library is glibc.

    Its allocator can keep several hundred MB after many arrays of different sizes.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return


def refuse_no_room(needed: int, what: str, advice: Callable[[int], str]) -> None:
    """Refuse a request for more memory than is free; `advice` receives the free bytes.

    Raises:
        ValueError: `needed` bytes are not free.
    """
    room = free_memory()
    if room is not None and needed > room:
        raise ValueError(
            f"{what} take {needed / 1e9:,.1f} GB, {room / 1e9:,.1f} GB are free: {advice(room)}"
        )
