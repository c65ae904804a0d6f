"""How much memory there is, for refusing what cannot fit before it is begun."""

from __future__ import annotations

import os
from contextlib import suppress
from math import ceil
from pathlib import Path

_UNKNOWN = 2**36  # 64 GiB, where the system does not tell
_MEMINFO = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")
_PROCESSES = Path("/proc")


def physical_memory() -> int:
    """Bytes of memory of this machine, or 64 GiB where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN


def available_memory() -> int:
    """Bytes that can be had now: what the system calls available, and what a container may still use."""
    return min(_system_memory(), _container_memory())


def resident_memory(process: int | None = None) -> int | None:
    """Bytes that a process has in memory now, this one if None; None where the system does not tell."""
    return _of_process("VmRSS:", process)


def reset_peak() -> None:
    """Let :func:`peak_memory` begin anew, where the system allows it."""
    with suppress(OSError):
        (_PROCESSES / "self" / "clear_refs").write_text("5")


def peak_memory() -> int | None:
    """Most bytes that this process had in memory since :func:`reset_peak`; None where the system does not tell."""
    return _of_process("VmHWM:", None)


def check_memory(who: str, needed: float, size: str, instead: str) -> None:
    """Raise a ``MemoryError`` if ``needed`` bytes are more than can be had now.

    Parameters
    ----------
    who : str
        What asks for it, such as "MVGL".
    needed : float
        Bytes at the peak.
    size : str
        What makes it large, such as "30000 samples".
    instead : str
        What the reader can do: a sentence.
    """
    there = available_memory()
    if needed > there:
        raise MemoryError(f"{who} needs about {gib(needed)} for {size}; {gib(there)} are available. {instead}")


def gib(size: float) -> str:
    """A number of bytes, for people."""
    if size < 0.1 * 2**30:
        return f"{ceil(size / 2**20)} MiB"
    return f"{size / 2**30:.1f} GiB" if size < 10 * 2**30 else f"{size / 2**30:.0f} GiB"


def _of_process(field: str, process: int | None) -> int | None:
    try:
        lines = (_PROCESSES / str(process or "self") / "status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))
    except (OSError, StopIteration, ValueError):
        return None


def _system_memory() -> int:
    try:
        lines = _MEMINFO.read_text().splitlines()
        kilobytes = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return 1024 * int(kilobytes)
    except (OSError, StopIteration, ValueError):
        return physical_memory()


def _container_memory() -> int:
    try:
        limit = int((_CONTAINER / "memory.max").read_text())  # "max", which is no number, where there is no limit
        used = int((_CONTAINER / "memory.current").read_text())
        stat = dict(line.split() for line in (_CONTAINER / "memory.stat").read_text().splitlines())
        return max(limit - used + int(stat.get("inactive_file", 0)), 0)  # the file cache is given back when needed
    except (OSError, ValueError):
        return _UNKNOWN * 2**20
