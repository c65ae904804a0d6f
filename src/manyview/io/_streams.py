"""Text files as streams, compressed or not.

A few bytes of a compressed file can unfold to any number. They are counted while they come, and the stream ends with an
error before they are more than allowed.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from manyview._utils.formats import COMPRESSED
from manyview._utils.imports import require
from manyview.exceptions import FileFormatError
from manyview.io._common import check_size


def _open_zst(path: Path) -> Any:
    # Opened first by Python, whose errors name the file.
    path.open("rb").close()
    return require("pyarrow", extra="files", purpose="Reading .zst").input_stream(str(path), compression="zstd")


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
}


def is_compressed(path: Path) -> bool:
    """Whether the name of a file says that it is compressed."""
    return path.suffix.lower() in COMPRESSED


def open_bytes(path: Path, max_bytes: int) -> BinaryIO:
    """Open a file, unfolded if it is compressed; more than ``max_bytes`` of it are an error."""
    if is_compressed(path):
        return io.BufferedReader(_Unfolded(path, _OPENERS[path.suffix.lower()](path), max_bytes), 2**16)
    check_size(path, path.stat().st_size, max_bytes)
    return path.open("rb")


def open_text(path: Path, max_bytes: int, newline: str | None = None) -> TextIO:
    """Open a file of UTF-8 text likewise; ``newline`` as in :func:`open`."""
    return io.TextIOWrapper(open_bytes(path, max_bytes), encoding="utf-8-sig", newline=newline)


class _Unfolded(io.RawIOBase):
    """What is in a compressed file."""

    def __init__(self, path: Path, stream: Any, max_bytes: int) -> None:
        self._path, self._stream, self._left, self._max_bytes = path, stream, max_bytes, max_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(len(buffer))
        self._left -= len(content)
        if self._left < 0:
            raise FileFormatError(
                f"{self._path}: unfolds to more than max_bytes={self._max_bytes:,} bytes. If the file is right and the "
                "memory is there, pass a larger max_bytes=."
            )
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
