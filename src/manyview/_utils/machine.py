"""Memory and threads of this machine: available memory, and linear algebra limited to one thread."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from math import ceil
from pathlib import Path

from threadpoolctl import LibController, ThreadpoolController

_UNKNOWN = 2**36  # 64 GiB, where the system does not report it
_MEMINFO = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")
_PROCESSES = Path("/proc")


def physical_memory() -> int:
    """Return the bytes of memory of this machine, or 64 GiB where the system does not report it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN


def available_memory() -> int:
    """Return the bytes available now: to the system, and within the limit of a container."""
    return min(_system_memory(), _container_memory())


def resident_memory(process: int | None = None) -> int | None:
    """Return the resident bytes of a process (default: this one); None where the system does not report them."""
    return _of_process("VmRSS:", process)


def reset_peak() -> None:
    """Reset the peak that :func:`peak_memory` reports, where the system allows it."""
    with suppress(OSError):
        (_PROCESSES / "self" / "clear_refs").write_text("5")


def peak_memory() -> int | None:
    """Return the peak resident bytes since :func:`reset_peak`; None where the system does not report them."""
    return _of_process("VmHWM:", None)


def check_memory(who: str, needed: float, size: str, instead: str) -> None:
    """Raise a ``MemoryError`` if ``needed`` bytes are not available now.

    Parameters
    ----------
    who : str
        Name of the method, such as "MVGL".
    needed : float
        Bytes at the peak.
    size : str
        Size of the data, such as "30000 samples".
    instead : str
        Advice for the user: a sentence.
    """
    available = available_memory()
    if needed > available:
        raise MemoryError(f"{who} needs about {gib(needed)} for {size}; {gib(available)} are available. {instead}")


def gib(size: float) -> str:
    """Format a number of bytes."""
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
        limit = int((_CONTAINER / "memory.max").read_text())  # "max", which is not a number, means no limit
        used = int((_CONTAINER / "memory.current").read_text())
        stat = dict(line.split() for line in (_CONTAINER / "memory.stat").read_text().splitlines())
        return max(limit - used + int(stat.get("inactive_file", 0)), 0)  # the file cache is released when needed
    except (OSError, ValueError):
        return _UNKNOWN * 2**20


_lock = threading.Lock()
_inside: set[object] = set()
_before: dict[str, tuple[LibController, int]] = {}  # by file: numbers of threads to restore when the last caller leaves


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread each, and restore the limits at the end.

    With one thread, sums have a fixed order and results are reproducible on any number of cores. OpenMP has a limit for
    each thread. Most BLAS libraries have one for the whole process, which overlapping callers share: the first sets it,
    the last one restores it.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> import numpy
    >>> from manyview._utils.machine import one_thread
    >>> with one_thread():
    ...     {library["num_threads"] for library in threadpool_info()}
    {1}
    """
    me, own = object(), []
    try:  # around all of it: Ctrl-C may come at any moment
        with _lock:
            _inside.add(me)
            for library in _libraries(len(sys.modules)):
                n_threads = library.num_threads
                if n_threads is None:  # cannot be read or set
                    continue
                if _is_limited_per_thread(library):
                    own.append((library, n_threads))
                else:
                    _before.setdefault(library.filepath, (library, n_threads))
                _set_threads(library, 1)
        yield
    finally:
        for library, n_threads in own:
            _set_threads(library, n_threads)
        with _lock:
            _inside.discard(me)
            while _before and not _inside:
                _set_threads(*_before.popitem()[1])


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> list[LibController]:
    """Return the loaded libraries; searched again only after imports, because the search is slow."""
    return ThreadpoolController().lib_controllers


def _is_limited_per_thread(library: LibController) -> bool:
    return "openmp" in (library.user_api, getattr(library, "threading_layer", None))


def _set_threads(library: LibController, n_threads: int) -> None:
    # Later versions of threadpoolctl let only one thread change OpenBLAS until that thread releases it. Here one thread
    # may set the limit and another restore it.
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(n_threads)
    free(force=True)


def _forget_other_threads() -> None:
    """Reset the lock and the callers in a forked child, which has only the forking thread."""
    global _lock
    _lock = threading.Lock()
    _inside.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)
