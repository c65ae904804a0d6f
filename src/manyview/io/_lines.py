"""Text files as streams, compressed or not, and the rows of their tables.

A few bytes of a compressed file can expand to any number. Streams count them and raise an error before they exceed the
allowed memory.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from manyview._utils.formats import COMPRESSED
from manyview._utils.imports import require
from manyview.exceptions import FileFormatError
from manyview.io._common import check_size

SPACES = " "
"""One or more spaces."""

_FREE_ROW = 2**20  # characters that a row may have in any case
_BYTES_PER_CHARACTER = 32  # of a row, while it is a list of short strings


def _open_zst(path: Path) -> Any:
    # Opened by Python first, whose errors name the file.
    path.open("rb").close()
    return require("pyarrow", extra="files", purpose="Reading .zst").input_stream(str(path), compression="zstd")


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
}


def is_compressed(path: Path) -> bool:
    """Return whether the file is compressed, by its extension."""
    return path.suffix.lower() in COMPRESSED


def open_bytes(path: Path, max_bytes: int) -> BinaryIO:
    """Open a file and decompress it if needed; more than ``max_bytes`` are an error."""
    if is_compressed(path):
        return io.BufferedReader(_Decompressed(path, _OPENERS[path.suffix.lower()](path), max_bytes), 2**16)
    check_size(path, path.stat().st_size, max_bytes)
    return path.open("rb")


def open_text(path: Path, max_bytes: int, newline: str | None = None) -> TextIO:
    """Open a UTF-8 text file in the same way; ``newline`` as in :func:`open`."""
    return io.TextIOWrapper(open_bytes(path, max_bytes), encoding="utf-8-sig", newline=newline)


class _Decompressed(io.RawIOBase):
    """The decompressed content of a file, up to a maximum number of bytes."""

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


class BoundedLines:
    """The lines of a file. Rows that would exceed the allowed memory are refused before they are read.

    Plain text is bounded by the size of its file; a few bytes of a compressed file expand to a line of any length.
    """

    def __init__(self, path: Path, stream: TextIO, separator: str, max_bytes: int) -> None:
        self._path, self._stream, self._separator = path, stream, separator
        self._limit = max(_FREE_ROW, max_bytes // _BYTES_PER_CHARACTER)
        self._left = self._limit

    def __iter__(self) -> BoundedLines:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(self._left + 1)
        if not line:
            raise StopIteration
        self._left -= len(line)
        if self._left < 0:
            raise FileFormatError(
                f"{self._path}: a row has more than {self._limit:,} characters, which is more than max_bytes= allows. "
                "If the file is right and the memory is there, pass a larger max_bytes=."
            )
        if self._separator != SPACES:
            return line
        if "\t" in line:
            raise FileFormatError(
                f"{self._path}: its columns are separated by spaces, but there is a tab in "
                f"{line.strip()[:40]!r}. Use one of them, and call the file .tsv if that is tabs."
            )
        return line.strip(" \r\n") + "\n"

    def end_row(self) -> None:
        """Reset the count at the end of a row, which may span lines within quotes."""
        self._left = self._limit


def rows_of(path: Path, stream: TextIO, separator: str, max_bytes: int) -> Any:
    """Return a reader of the rows of a table: an iterator of lists, with the number of the last line, ``line_num``."""
    if is_compressed(path) or separator == SPACES:
        return _BoundedRows(BoundedLines(path, stream, separator, max_bytes), separator)
    return csv_reader(stream, separator)


class _BoundedRows:
    def __init__(self, lines: BoundedLines, separator: str) -> None:
        self._lines, self._reader = lines, csv_reader(lines, separator)

    def __iter__(self) -> _BoundedRows:
        return self

    def __next__(self) -> list[str]:
        row = next(self._reader)
        self._lines.end_row()
        return row

    @property
    def line_num(self) -> int:
        return self._reader.line_num


def csv_reader(lines: Iterable[str], separator: str) -> Any:
    """Return a strict reader of rows."""
    return csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=separator == SPACES)
