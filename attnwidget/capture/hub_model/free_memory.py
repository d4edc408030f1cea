"""How much memory is free, and an error before there is too little: a system ends the process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

_LINUX = Path("/proc/meminfo")


def free_memory() -> int | None:
    """Bytes that a process can have, where the operating system tells.

    Files that Linux keeps in memory for a while count as free; limits of a container are not known.
    """
    try:
        for line in _LINUX.read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def give_memory_back() -> None:
    """Have the C library give back what is free, where it is glibc.

    The allocator keeps freed memory of arrays of many sizes, up to several hundred MB.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return


def refuse_no_room(needed: int, what: str, advice: Callable[[int], str]) -> None:
    """Refuse what takes more memory than is free; `advice` is told how much that is.

    Raises:
        ValueError: it does not fit.
    """
    room = free_memory()
    if room is not None and needed > room:
        raise ValueError(
            f"{what} take {needed / 1e9:,.1f} GB, {room / 1e9:,.1f} GB are free: {advice(room)}"
        )
