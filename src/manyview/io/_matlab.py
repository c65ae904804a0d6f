"""MATLAB ``.mat`` files of all versions: 4 and 5 to 7 are read here, 7.3 (HDF5) by ``_matlab73.py``.

Versions 5 to 7 are a header, then one element per variable, often deflated. They are not read by SciPy, whose compiled
reader trusts the type codes, flags and sizes in the file: one wrong byte is enough to crash the interpreter
(``benchmarks/scipy_readers.py``). Here every element is a slice of the one that contains it, so that nothing is read
past its end. The format is described in "MAT-File Format", The MathWorks.
"""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io._common import Cell, Options, Other, Part, Variables, check_size, checked_csr, reading
from manyview.io._matlab73 import read_v73
from manyview.io._variables import MATLAB_RULE, part_from_variables

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HEADER = 128  # bytes before the first element
_BYTE_ORDERS = {b"IM": "<", b"MI": ">"}  # at the end of the header

# Types of elements.
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_ENCODINGS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}

# Classes of variables.
_CELL, _CHAR, _SPARSE, _OPAQUE = 1, 4, 5, 17
_NUMERIC = range(6, 16)
_NOT_READ = {2: "struct", 3: "object", 16: "function", _OPAQUE: "object"}
_IS_COMPLEX, _IS_LOGICAL = 0x800, 0x200


def read_mat(path: Path, options: Options) -> Part:
    """Read the views and labels of a MATLAB file of any version."""
    with path.open("rb") as stream, reading(path, "a MATLAB file"):
        head = stream.read(520)
        if _is_hdf5(head):
            variables = read_v73(path, options.max_bytes)
        elif 0 in head[:4]:  # later versions begin with text
            variables = _read_v4(path, stream, options.max_bytes)
        else:
            variables = _read_v5(path, stream, options.max_bytes)
        return part_from_variables(path, variables, options, MATLAB_RULE)


def _is_hdf5(head: bytes) -> bool:
    """Return whether the file is HDF5; MATLAB writes 512 bytes before the signature, other writers none."""
    return head.startswith((b"MATLAB 7.3", _HDF5_SIGNATURE)) or head[512:] == _HDF5_SIGNATURE


def _read_v4(path: Path, stream: Any, max_bytes: int) -> Variables:
    """Read version 4, which has uncompressed matrices only, with SciPy, whose reader of it is safe Python code."""
    stream.seek(0)
    loaded = scipy.io.loadmat(_Bounded(stream), chars_as_strings=False)
    named = {key: value for key, value in loaded.items() if not key.startswith("__")}
    return {key: _as_variable(value, path, max_bytes) for key, value in named.items()}


class _Bounded:
    """A stream that limits reads to the rest of the file, because Python allocates memory for the requested size."""

    def __init__(self, stream: Any) -> None:
        self.seek, self.tell, self._read = stream.seek, stream.tell, stream.read
        start = stream.tell()
        self._end = stream.seek(0, 2)
        stream.seek(start)

    def read(self, n_bytes: int = -1) -> bytes:
        left = max(0, self._end - self.tell())
        return self._read(left if n_bytes < 0 else min(n_bytes, left))


def _as_variable(value: Any, path: Path, max_bytes: int) -> Any:
    if sp.issparse(value):
        return checked_csr(value, path, max_bytes)
    return value if isinstance(value, np.ndarray) else Other(type(value).__name__)


def _read_v5(path: Path, stream: Any, max_bytes: int) -> Variables:
    """Read all variables that can be views or labels; the rest as `Other`."""
    n_left = stream.seek(0, 2) - _HEADER
    stream.seek(0)
    order = _BYTE_ORDERS.get(stream.read(_HEADER)[126:])
    if order is None:
        raise FileFormatError(
            f"{path}: is not a MATLAB file: its header has no byte order mark. Save it again, or give it the "
            "extension of its format."
        )
    reader = _Version5(path, order, max_bytes)
    variables: dict[str, Any] = {}
    while n_left > 0:
        kind, n_bytes = struct.unpack(order + "II", stream.read(8))
        n_left -= 8 + n_bytes
        if n_left < 0:
            raise FileFormatError(
                f"{path}: a MATLAB file cut short: a variable of {n_bytes:,} bytes is announced, "
                f"{n_left + n_bytes:,} are left."
            )
        name, value = reader.variable(kind, stream.read(n_bytes))
        if name in variables:
            raise FileFormatError(f"{path}: holds two variables called {name!r}.")
        if name:  # MATLAB stores internal data in variables without a name
            variables[name] = value
    return variables


class _Elements:
    """The elements in a block of bytes, one after the other."""

    def __init__(self, block: memoryview, order: str) -> None:
        self.block, self.order, self.position = block, order, 0

    def next(self) -> tuple[int, memoryview]:
        """Return type and content of the next element."""
        kind, n_bytes = struct.unpack_from(self.order + "II", self.block, self.position)
        start = self.position + 8
        if kind >> 16:  # up to four bytes are packed into the tag itself
            kind, n_bytes, start = kind & 0xFFFF, kind >> 16, start - 4
        stop = start + n_bytes
        if stop > len(self.block):
            raise ValueError(f"an element of {n_bytes} bytes exceeds the one around it")
        self.position = stop + -stop % 8  # relative to a block that begins on a multiple of 8
        return kind, self.block[start:stop]

    def numbers(self, n_logical: int | None = None) -> np.ndarray:
        """Return the next element as a vector, in the type that it is stored in.

        MATLAB announces ``n_logical`` values of a sparse logical matrix as double but stores one byte each.
        """
        kind, content = self.next()
        if kind not in _NUMBERS:
            raise ValueError(f"expected numbers, found an element of type {kind}")
        stored = np.dtype("u1" if len(content) == n_logical else self.order + _NUMBERS[kind])
        return np.frombuffer(content, dtype=stored).astype(stored.newbyteorder("="))

    def text(self) -> str:
        kind, content = self.next()
        encoding = _ENCODINGS[kind]
        endian = {"<": "-le", ">": "-be"}[self.order] if encoding in ("utf-16", "utf-32") else ""
        return bytes(content).decode(encoding + endian, errors="replace")


class _Version5:
    """Reader of one file, which counts the bytes of its variables."""

    def __init__(self, path: Path, order: str, max_bytes: int) -> None:
        self.path, self.order, self.max_bytes = path, order, max_bytes
        self.taken = 0

    def variable(self, kind: int, content: bytes) -> tuple[str, Any]:
        """Return name and value of a variable, given the type and content of its element."""
        if kind == _COMPRESSED:
            inflate, limit = zlib.decompressobj(), self.max_bytes - self.taken
            content = inflate.decompress(content, limit + 1)
            check_size(self.path, self.taken + len(content), self.max_bytes)
            if not inflate.eof:
                raise ValueError("a compressed variable is cut short")
            kind, matrix = _Elements(memoryview(content), self.order).next()
        else:
            matrix = memoryview(content)
        self.taken += len(content)
        check_size(self.path, self.taken, self.max_bytes)
        if kind != _MATRIX:
            raise ValueError(f"expected a variable, found an element of type {kind}")
        return self.matrix(matrix)

    def matrix(self, block: memoryview, inside_cell: bool = False) -> tuple[str, Any]:
        if len(block) == 0:  # an empty element of a cell
            return "", np.empty((0, 0))
        elements = _Elements(block, self.order)
        flags = int(elements.numbers()[0])
        kind = flags & 0xFF
        shape = () if kind == _OPAQUE else tuple(map(int, elements.numbers()))
        if any(side < 0 for side in shape):
            raise ValueError(f"negative shape {shape}")
        name = elements.text()
        if kind == _CELL:
            # Cells in cells are never views; not reading them also bounds the nesting.
            return name, Other("cell") if inside_cell else self.cell(elements, shape)
        if kind == _CHAR:
            return name, _characters(elements, shape)
        if kind == _SPARSE:
            return name, self.sparse(elements, shape, flags)
        if kind in _NUMERIC:
            return name, _values(elements, flags).reshape(shape, order="F")
        return name, Other(_NOT_READ[kind])

    def cell(self, elements: _Elements, shape: tuple[int, ...]) -> Cell:
        items = []
        for _ in range(math.prod(shape)):
            kind, block = elements.next()
            if kind != _MATRIX:
                raise ValueError(f"expected a matrix in a cell, found an element of type {kind}")
            items.append(self.matrix(block, inside_cell=True)[1])
        return Cell(items, shape)

    def sparse(self, elements: _Elements, shape: tuple[int, ...], flags: int) -> sp.csr_array:
        rows, starts = elements.numbers().astype(np.int64), elements.numbers().astype(np.int64)
        n_entries = int(starts[-1])  # MATLAB may allocate more entries than it uses
        parts = (_values(elements, flags, n_entries)[:n_entries], rows[:n_entries], starts)
        return checked_csr(sp.csc_array(parts, shape=(shape[0], shape[1])), self.path, self.max_bytes)


def _values(elements: _Elements, flags: int, n_entries: int | None = None) -> np.ndarray:
    values = elements.numbers(n_logical=n_entries if flags & _IS_LOGICAL else None)
    if flags & _IS_COMPLEX:
        values = values + 1j * elements.numbers()
    return values.astype(bool) if flags & _IS_LOGICAL else values


def _characters(elements: _Elements, shape: tuple[int, ...]) -> Any:
    characters = list(elements.text())
    if len(characters) != math.prod(shape):  # characters of more than one code unit
        return Other("char")
    return np.array(characters, dtype="U1").reshape(shape, order="F")
