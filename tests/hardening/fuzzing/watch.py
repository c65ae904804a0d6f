"""What an input is judged by, in the process that reads it."""

from __future__ import annotations

import gc
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview import exceptions
from manyview._utils.machine import peak_memory, reset_peak, resident_memory

ALLOWANCE = 64 * 2**20
"""Bytes beyond ten times the file. A reader has costs that no file can lower: the pools that pyarrow and the allocator
take by the dozen of MiB, the rows that a parser looks at together, index pointers of up to 2**20 rows."""

LONGEST_TEXT = 4000
_PATIENCE = 2.0  # seconds
DOCUMENTED = tuple(kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, Exception))
_PROGRAMS = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.forkpty",
    "subprocess.Popen",
    "pty.spawn",
)
_CODE = (*_PROGRAMS, "pickle.find_class", "marshal.loads", "ctypes.dlopen", "socket.connect", "socket.getaddrinfo")
_CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.chmod", "shutil.rmtree")


class Watch:
    """Notes what happens while a reader reads: programs, code, files that are written outside of a folder."""

    def __init__(self, folder: Path, marker: Path) -> None:
        self.folder, self.marker = str(folder), marker
        self.active = False
        self.seen: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event in _CODE and not _by_import(event) and not _by_dask(event, args):
            self.seen.append(f"code: {event} {args!r:.200}")
        elif (
            event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        ) or event in _CHANGES:
            self._check_place(event, args[0])

    def _check_place(self, event: str, path: Any) -> None:
        if isinstance(path, str | bytes | os.PathLike) and not os.path.abspath(os.fsdecode(path)).startswith(
            self.folder
        ):
            self.seen.append(f"wrote: {event} {path!r:.200}")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note what happens inside."""
        self.seen, self.active = [], True
        try:
            yield
        finally:
            self.active = False


def _by_import(event: str) -> bool:
    """Whether Python itself loads a compiled module, which is no code from a file that is read."""
    if event not in ("marshal.loads", "ctypes.dlopen"):
        return False
    frame: Any = sys._getframe(2)
    while frame is not None:
        if "importlib" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _by_dask(event: str, args: tuple[Any, ...]) -> bool:
    """Whether Dask copies a graph of its own by way of a pickle, which it does before it computes."""
    return event == "pickle.find_class" and str(args[0]).partition(".")[0] in ("dask", "manyview", "numpy", "pathlib")


def judged(
    read: Callable[[], Any], watch: Watch, names: list[str], n_bytes: int, outside: float
) -> tuple[str, list[str], int]:
    """Read an input; return how it ended (read or refused), what is wrong with that, and the memory it took."""
    files, places = set(_files(watch.folder)), _open_files()
    before = resident_memory() or 0
    reset_peak()
    wrong: list[str] = []
    with watch.watching(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        ending = _ending(read, names, wrong, outside)
    taken = max(0, (peak_memory() or 0) - before)
    wrong += watch.seen
    wrong += [f"warning: {w.message}" for w in warned if issubclass(w.category, RuntimeWarning)]
    if taken > 10 * n_bytes + ALLOWANCE:
        wrong.append(f"memory: {taken / 2**20:.0f} MiB for a file of {n_bytes:,} bytes")
    if watch.marker.exists():
        wrong.append("code: a pickle was loaded")
        watch.marker.rmdir()
    # SQLite leaves these beside a store that it may only read.
    if left := {path for path in set(_files(watch.folder)) - files if not path.endswith((".db-shm", ".db-wal"))}:
        wrong.append(f"left behind: {sorted(left)}")
    if left_open := _left_open(places):
        wrong.append(f"left open: {left_open}")
    return ending, wrong, taken


def _left_open(before: Counter[str]) -> list[str]:
    """Files that stay open. zarr reads chunks in threads: after the error of one, others are at work for a moment."""
    more = _open_files() - before
    if more:
        gc.collect()
    give_up = time.monotonic() + _PATIENCE
    while more and time.monotonic() < give_up:
        time.sleep(0.01)
        more = _open_files() - before
    return sorted(more)


def _ending(read: Callable[[], Any], names: list[str], wrong: list[str], outside: float) -> str:
    try:
        found = read()
        _check_arrays(found, wrong, outside)
        return "read"
    except DOCUMENTED as error:
        text = str(error)
        if not any(name in text for name in names):
            wrong.append(f"text: does not name the file: {type(error).__name__}: {text[:200]}")
        if len(text) > LONGEST_TEXT:
            wrong.append(f"text: {len(text):,} characters: {text[:200]}")
        if any(not char.isprintable() for char in text):
            wrong.append(f"text: not printable: {text[:300]!r}")
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, MemoryError):
                wrong.append(f"memory: asked for more than there is: {cause}")
            cause = cause.__cause__
        return "refused"
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else ""
        wrong.append(f"undocumented: {type(error).__name__} in {where}: {str(error)[:200]}")
        return "refused"


def _check_arrays(found: Any, wrong: list[str], outside: float) -> None:
    """The arrays can be used to the last byte, belong together, and hold nothing of another file."""
    arrays = [found] if isinstance(found, np.ndarray) else list(getattr(found, "arrays", ()))
    for array in arrays:
        if array.shape[0] != arrays[0].shape[0]:
            wrong.append("result: views of different lengths")
        if hasattr(array, "compute"):
            if array.size > 10**5:
                continue
            array = array.compute(scheduler="synchronous")
        values = array.tocsc().data if sp.issparse(array) else np.asarray(array)
        with np.errstate(all="ignore"):
            found_outside = (values == outside).any()
        if found_outside:
            wrong.append("outside: values of another file were read")


def _files(folder: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(place, name)


def _open_files() -> Counter[str]:
    found: Counter[str] = Counter()
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # it has been closed meanwhile, as that of the listing itself has
            found[os.readlink(f"/proc/self/fd/{number}")] += 1
    return found
