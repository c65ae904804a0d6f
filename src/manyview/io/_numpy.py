"""NumPy's ``.npy`` and ``.npz``, and the sparse ``.npz`` of SciPy. Nothing is ever unpickled."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from manyview.exceptions import FileFormatError
from manyview.io._common import Options, Other, Part, Variables, check_size, checked_csr, describe, is_matrix, reading
from manyview.io._variables import NPZ_RULE, as_labels, part_from_variables

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_LAST_CHARACTER = 0x10FFFF
_SPARSE_KEYS = {"format", "shape", "data"}  # every file of scipy.sparse.save_npz has these


def read_npz(path: Path, options: Options) -> Part:
    """Read the 2-D arrays of an ``.npz``, or the one matrix that `scipy.sparse.save_npz` wrote."""
    with path.open("rb") as stream, reading(path, "an .npz file"):
        with zipfile.ZipFile(stream) as archive:
            variables = _read_members(path, archive, options.max_bytes)
        if variables.keys() >= _SPARSE_KEYS and variables["format"].ndim == 0:
            stream.seek(0)
            matrix = checked_csr(sp.load_npz(stream), path, options.max_bytes)
            return Part(str(path), (matrix,), (path.stem,))
        return part_from_variables(path, variables, options, NPZ_RULE)


def read_npy(path: Path, options: Options) -> Part:
    """Read one view."""
    array = _read_file(path, options)
    if not is_matrix(array):
        raise FileFormatError(
            f"{path}: expected a 2-D array of numbers (samples x features), "
            f"found shape {array.shape} of dtype {array.dtype}."
        )
    return Part(str(path), (array,), (path.stem,))


def read_npy_labels(path: Path, options: Options) -> Part:
    """Read one vector of classes."""
    array = _read_file(path, options)
    labels = as_labels(array, path)
    if labels is None:
        raise FileFormatError(
            f"{path}: expected labels, one class per sample, found shape {array.shape} of dtype {array.dtype}."
        )
    return Part(str(path), labels=labels)


def _read_file(path: Path, options: Options) -> np.ndarray:
    with path.open("rb") as stream, reading(path, "an .npy file"):
        n_bytes = path.stat().st_size
        check_size(path, n_bytes, options.max_bytes)
        return _read_array(stream, n_bytes, str(path))


def _read_members(path: Path, archive: zipfile.ZipFile, max_bytes: int) -> Variables:
    members = archive.infolist()
    # zipfile stops at the size in the directory, so that this size is a bound even if it is wrong.
    check_size(path, sum(member.file_size for member in members), max_bytes)
    variables: dict[str, Any] = {}
    for member in members:
        key, is_array = member.filename.removesuffix(".npy"), member.filename.endswith(".npy")
        if key in variables:
            raise FileFormatError(f"{path}: holds two arrays called {key!r}. It holds {describe(variables)}.")
        if not is_array:
            variables[key] = Other("not an array")
            continue
        with archive.open(member) as stream:
            variables[key] = _read_array(stream, member.file_size, f"{path}: {key}")
    return variables


def _read_array(stream: Any, n_bytes: int, where: str) -> np.ndarray:
    read_header(stream, n_bytes, where)
    stream.seek(0)
    array = npy.read_array(stream, allow_pickle=False)
    if array.dtype.kind == "U" and array.size:
        codes = np.ascontiguousarray(array).ravel().view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if codes.max() > _LAST_CHARACTER:  # Python and pandas raise a SystemError on these, wherever they meet them
            raise FileFormatError(f"{where}: holds texts with the character {codes.max():#x}, which does not exist.")
    return array


def read_header(stream: Any, n_bytes: int, where: str) -> tuple[tuple[int, ...], np.dtype]:
    """Return shape and dtype of the array in ``n_bytes`` of ``.npy``, after comparing the announced size with these."""
    version = npy.read_magic(stream)
    if version not in _HEADERS:  # version 3 is for structured arrays, which are not views
        raise FileFormatError(f"{where}: .npy format {version[0]}.{version[1]} is not supported; use 1.0 or 2.0.")
    shape, _, dtype = _HEADERS[version](stream)
    if dtype.hasobject:
        raise FileFormatError(
            f"{where}: holds Python objects, which would have to be unpickled. manyview never does that, because a "
            "pickle can run any code. Save the arrays one by one, with dtype= numbers or str."
        )
    if dtype.itemsize == 0 or min(shape, default=0) < 0:  # any number of empty texts takes no bytes
        raise FileFormatError(f"{where}: the header announces shape {shape} of {dtype}, which is not a valid array.")
    announced, present = math.prod(shape) * dtype.itemsize, n_bytes - stream.tell()
    if announced != present:
        raise FileFormatError(
            f"{where}: the header announces shape {shape} of {dtype}, {announced:,} bytes, but there are {present:,}."
        )
    return shape, dtype
