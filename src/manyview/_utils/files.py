"""Files that are written completely, or not at all.

A file is written under a temporary name in the same folder and renamed at the end, which the system does in one step.
"""

from __future__ import annotations

import csv
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Literal, TypeAlias

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PathLike: TypeAlias = str | os.PathLike[str]
Content: TypeAlias = str | bytes | Callable[[BinaryIO], object]
"""The content of a file: text, bytes, or a function that writes to an open file."""


def user_cache() -> Path:
    """Return the folder for what can be made again: ``manyview`` in ``XDG_CACHE_HOME``, or in ``~/.cache``.

    It need not exist. A user without a home is a RuntimeError.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))  # the XDG rules: a relative path does not count
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "manyview"


@contextmanager
def whole_file(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name at the end of the block, and only if there was no error.

    Until then, ``path`` is the old file, or does not exist; a link stays a link. A pipe or a device cannot be renamed,
    and is written to directly.

    Parameters
    ----------
    path : str or path
        In a folder that exists.

    Yields
    ------
    file
        Open for writing bytes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from manyview._utils.files import whole_file
    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "a.txt")) as file:
    ...         half = (file.write(b"half"), Path(folder, "a.txt").exists())
    ...     Path(folder, "a.txt").read_bytes()
    b'half'
    """
    target, part = _names(path)
    try:
        with open(part, "wb") as file:
            yield file
            _finish(file, target)
        if part != target:
            os.replace(part, target)
    except BaseException:
        _discard(part, target)
        raise


def write_whole(path: PathLike, content: Content) -> None:
    """Write a file completely, or not at all.

    Raises
    ------
    OSError
        With ``path`` as its file. Nothing of the new file is left, and an old one is unchanged.
    """
    with _named(path), whole_file(path) as file:
        _write(file, content)


def write_folder(
    folder: PathLike, contents: Mapping[str, Content], outdated: Callable[[], Iterable[str]] = tuple
) -> None:
    """Write several files into a folder, which is made if it does not exist: all of them, or none.

    All files are on the disk before the first is renamed. While they are renamed, Ctrl-C waits, and so do other
    processes that write to the same folder. Other files of the folder are left alone.

    Parameters
    ----------
    folder : str or path
    contents : dict
        The content of each file, by its name; ``"labels/part-0.parquet"`` is a file in a folder of the folder.
    outdated : callable, optional
        Returns names of files to remove. Called while other processes wait, before anything changes.

    Raises
    ------
    OSError
        With the file that could not be written. The files that were there before are unchanged.
    """
    folder = Path(folder)
    inner = {(folder / name).parent for name in contents} - {folder}
    made = [path for path in (*inner, folder, *folder.parents) if not path.exists()]
    with _named(folder):
        for path in (folder, *inner):
            path.mkdir(parents=True, exist_ok=True)
    new: dict[Path, Path] = {}
    try:
        for name, content in contents.items():
            target, part = _names(folder / name)
            new[target] = part  # before it is opened: Ctrl-C may come right after
            with _named(folder / name), open(part, "wb") as file:
                _write(file, content)
                _finish(file, target)
        with _locked(folder), _signals_held_back():
            old = set(outdated()) - set(contents)
            for target, part in new.items():
                if part != target:
                    os.replace(part, target)
            for name in old:
                (folder / name).unlink(missing_ok=True)
                if (folder / name).parent not in (folder, *inner):
                    with suppress(OSError):  # other files in it are not ours
                        (folder / name).parent.rmdir()
    except BaseException:
        for target, part in new.items():
            _discard(part, target)
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        raise


def _names(path: PathLike) -> tuple[Path, Path]:
    """Return the file behind ``path``, and a temporary name beside it; for a device, pipe or folder the same twice."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        return target, target
    return target, target.with_name(f".manyview-{os.urandom(8).hex()}.part")


def _finish(file: BinaryIO, target: Path) -> None:
    """Bring everything to the disk, so that only the name is left to change."""
    file.flush()
    if Path(file.name) != target:
        os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, file.name)


def _discard(part: Path, target: Path) -> None:
    if part != target:
        part.unlink(missing_ok=True)


def _write(file: BinaryIO, content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other process is renaming files in this folder; the lock of a process ends with it."""
    with ExitStack() as stack:
        with suppress(OSError):  # file systems without locks, folders that may be written to and not read
            if fcntl is not None:
                descriptor = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the end of the block. Only the main thread gets them."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if threading.current_thread() is not threading.main_thread() or None in handlers.values():
        yield
        return
    held: list[int] = []
    try:
        for number in handlers:
            signal.signal(number, lambda number, frame: held.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if held:
        signal.raise_signal(held[0])


@contextmanager
def _named(path: PathLike) -> Iterator[None]:
    """Name errors after the file that was meant, not after its temporary name."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror or error}", str(path)) from error


def quoting(texts: Iterable[object]) -> Literal[0, 1]:
    """Return how :mod:`csv` has to quote these, so that every reader finds as many lines as were written.

    Python 3.11 does not quote a lone carriage return, which many readers take for the end of a line.
    """
    return csv.QUOTE_ALL if any("\r" in str(text) for text in texts) else csv.QUOTE_MINIMAL
