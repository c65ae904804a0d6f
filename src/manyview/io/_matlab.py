"""MATLAB ``.mat`` files: up to version 7 in a format of their own, 7.3 in HDF5 (``_matlab73.py``)."""

from __future__ import annotations

import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io import _matlab73
from manyview.io._common import DEFLATE_RATIO, Options, Part, check_size, checked_csr, reading
from manyview.io._layout import matlab_rule, part_from_variables
from manyview.io._variables import Cell, Other, Variables

_HEADER = 128  # bytes before the first variable
_COMPRESSED = 15  # type of an element that holds a deflated variable
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def read_mat(path: Path, options: Options) -> Part:
    """Read the views and labels of a MATLAB file of any version."""
    with path.open("rb") as stream, reading(path, "a MATLAB file"):
        if _is_hdf5(stream.read(520)):
            variables = _matlab73.read_variables(path, options.max_bytes)
        else:
            variables = _read_v5(path, stream, options.max_bytes)
        return part_from_variables(path, variables, options, matlab_rule)


def _is_hdf5(head: bytes) -> bool:
    """MATLAB puts 512 bytes of its own before the HDF5 signature; other writers put none."""
    return head.startswith((b"MATLAB 7.3", _HDF5_SIGNATURE)) or head[512:] == _HDF5_SIGNATURE


def _read_v5(path: Path, stream: Any, max_bytes: int) -> Variables:
    _check_elements(path, stream, max_bytes)
    stream.seek(0)
    with warnings.catch_warnings():
        # SciPy only warns about a variable that is unreadable or there twice; either makes the file
        # ambiguous.
        warnings.simplefilter("error", scipy.io.matlab.MatReadWarning)
        loaded = scipy.io.loadmat(stream, chars_as_strings=False)
    named = {key: value for key, value in loaded.items() if not key.startswith("__")}
    return {key: _as_variable(value, path, max_bytes) for key, value in named.items()}


def _as_variable(value: Any, path: Path, max_bytes: int, inside_cell: bool = False) -> Any:
    if sp.issparse(value):
        return checked_csr(value, path, max_bytes)
    if not isinstance(value, np.ndarray):
        return Other(type(value).__name__)
    if value.dtype.kind in "biufcU":
        return value
    if value.dtype != object or inside_cell:  # a struct has a compound dtype; nothing we know nests cells
        return Other("struct" if value.dtype.names else "cell")
    items = [_as_variable(item, path, max_bytes, inside_cell=True) for item in value.ravel(order="F")]
    return Cell(items, value.shape)


def _check_elements(path: Path, stream: Any, max_bytes: int) -> None:
    """Walk over the top-level elements of a v5 file: are they complete, and how large once unfolded?"""
    size = stream.seek(0, 2)
    stream.seek(0)
    head = stream.read(_HEADER)
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    if order is None:  # version 4, or not MATLAB at all: for SciPy to say
        return
    unfolded, position = 0, _HEADER
    while position + 8 <= size:
        stream.seek(position)
        kind, n_bytes = struct.unpack(order + "II", stream.read(8))
        position += 8 + n_bytes
        if position > size:
            raise FileFormatError(
                f"{path}: a MATLAB file cut short: a variable of {n_bytes:,} bytes is announced, "
                f"{size - position + n_bytes:,} are left."
            )
        # Counting costs as much as reading, so it is left out where even the highest ratio stays within
        # bounds.
        if kind == _COMPRESSED and size * DEFLATE_RATIO > max_bytes:
            unfolded += _unfolded_size(stream, n_bytes, max_bytes - unfolded)
            check_size(path, unfolded, max_bytes)


def _unfolded_size(stream: Any, n_bytes: int, limit: int) -> int:
    """Size of the deflate stream in the next ``n_bytes``, counted no further than just past ``limit``."""
    inflate, total = zlib.decompressobj(), 0
    while n_bytes > 0 and total <= limit:
        chunk = stream.read(min(n_bytes, 2**16))
        n_bytes -= len(chunk)
        while chunk and total <= limit:
            total += len(inflate.decompress(chunk, 2**20))
            chunk = inflate.unconsumed_tail
    return total
