"""Files that are written as a whole, or not at all."""

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
"""What a file shall hold: text, bytes, or a function that writes to an open file."""


@contextmanager
def whole_file(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name at the end, and only if nothing went wrong.

    Bytes go to a temporary name in the same folder. Whoever looks at ``path`` sees the old file, or none, or all of the
    new one; a link stays a link. A pipe or a device has no name to give, and is written to as it is.

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
    with _NewFile(path) as new:
        yield new.open()
        new.finish()
        new.publish()


def write_whole(path: PathLike, content: Content) -> None:
    """Write a file as a whole, or not at all.

    Raises
    ------
    OSError
        Named after ``path``. Nothing of the new file is left, and an old one is as it was.
    """
    with _named(path), whole_file(path) as file:
        _write(file, content)


def write_folder(
    folder: PathLike, contents: Mapping[str, Content], outdated: Callable[[], Iterable[str]] = tuple
) -> None:
    """Write several files into a folder, which is made if need be: all of them, or none.

    None gets its name before all are on the disk. Names are given without a break: Ctrl-C waits that long, and so does
    another process that writes to the same folder. Other files of the folder are left alone.

    Parameters
    ----------
    folder : str or path
    contents : dict
        What each file shall hold, by its name.
    outdated : callable, optional
        Called when it is this process's turn, before anything changes: names of files to remove.

    Raises
    ------
    OSError
        Named after the file that could not be written. What was there before is as it was.
    """
    folder = Path(folder)
    made = _make_folders(folder)
    try:
        with ExitStack() as stack:
            new = []
            for name, content in contents.items():
                with _named(folder / name):
                    new.append(stack.enter_context(_NewFile(folder / name)))
                    _write(new[-1].open(), content)
                    new[-1].finish()
            with _turn(folder), _undisturbed():
                old = set(outdated()) - set(contents)
                for file in new:
                    file.publish()
                for name in old:
                    (folder / name).unlink(missing_ok=True)
    except BaseException:
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        raise


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those it is in; return the new ones, innermost first."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    with _named(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return new


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until no other process is giving names in this folder; the end of a process ends its turn."""
    with ExitStack() as stack:
        with suppress(OSError):  # file systems without locks, folders that may be written to and not read
            if fcntl is not None:
                place = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, place)
                fcntl.flock(place, fcntl.LOCK_EX)
        yield


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM until what is within has been done. Other threads hear neither of them."""
    held: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if threading.current_thread() is not threading.main_thread() or None in handlers.values():
        yield
        return
    try:
        for number in handlers:
            signal.signal(number, lambda number, frame: held.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if held:
        signal.raise_signal(held[0])


class _NewFile:
    """A file under a temporary name. What has not been published when it is left is removed."""

    def __init__(self, path: PathLike) -> None:
        self.target = Path(os.path.realpath(path))
        self.part: Path | None = None
        self.file: BinaryIO | None = None

    def __enter__(self) -> _NewFile:
        return self

    def open(self) -> BinaryIO:
        """Open it; not when it is entered, as Ctrl-C may come between a file that is made and the block after it."""
        if self.target.exists() and not self.target.is_file():  # opening a folder is an error, as it should be
            self.file = open(self.target, "wb")  # noqa: SIM115 - closed in __exit__
        else:
            self.part = self.target.with_name(f".manyview-{os.urandom(8).hex()}.part")
            self.file = open(self.part, "xb")  # noqa: SIM115
        return self.file

    def finish(self) -> None:
        """Bring everything to the disk: from here on there is nothing but the name to change."""
        assert self.file is not None
        self.file.flush()
        if self.part is not None:
            os.fsync(self.file.fileno())
            if self.target.exists():
                shutil.copymode(self.target, self.part)
        self.file.close()

    def publish(self) -> None:
        """Give the file its name."""
        if self.part is not None:
            os.replace(self.part, self.target)
            self.part = None

    def __exit__(self, *exception: object) -> None:
        if self.file is not None:
            with suppress(OSError):  # of a full disk, when what is left in memory is written
                self.file.close()
        if self.part is not None:
            self.part.unlink(missing_ok=True)


def _write(file: BinaryIO, content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content.encode() if isinstance(content, str) else content)


def quoting(texts: Iterable[object]) -> Literal[0, 1]:
    """How :mod:`csv` has to quote these, so that every reader finds as many lines as were written.

    Python 3.11 leaves a lone carriage return as it is, and many readers begin a new line there.
    """
    return csv.QUOTE_ALL if any("\r" in str(text) for text in texts) else csv.QUOTE_MINIMAL


@contextmanager
def _named(path: PathLike) -> Iterator[None]:
    """Name errors after the file that was meant, not after its temporary name."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror or error}", str(path)) from error
