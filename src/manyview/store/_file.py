"""The file format: a line with format and version, a line of JSON, the bytes of the arrays, and the SHA-256 of it all.

Files are not trusted: sizes that a file announces are compared with its length before memory is allocated. An array is
described as ``[dtype, shape, order]``; arrays have no names, and nothing is unpacked to disk.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from manyview._utils.files import PathLike, whole_file
from manyview._version import __version__
from manyview.exceptions import ModelFileError

FORMAT = 2
"""The format that is written, and the newest that is read. Format 1 differs in what models keep, not in its lines."""

_MAGIC = b"manyview-model "
# The first line of any later format will begin like this, too.
_FORMAT = re.compile(_MAGIC + rb"format (?P<format>\d{1,9}), written by manyview (?P<version>[\w.+!-]{1,64}),")
_FIRST_LINE = re.compile(_FORMAT.pattern + rb" (?P<n_bytes>\d{1,18}) bytes follow\n")
_FIRST_LINE_BYTES = 200
_DIGEST_BYTES = 65  # 64 hexadecimal digits and the end of the line
_CHUNK = 1 << 20

_FOREIGN = {
    rb"\x80[\x02-\x05]": "a pickle, or a joblib file, which is one",
    rb"PK[\x01-\x08]": "a zip archive",
    rb"\x93NUMPY": "a NumPy array",
    rb"\x1f\x8b|BZh|\xfd7zXZ|\x04\x22M\x18|x[\x01\x5e\x9c\xda]": "a compressed file",
    rb"\x89HDF|MATLAB": "a MATLAB or HDF5 file",
}
_NEVER = (
    "A model file is written by model.save(path), or by manyview cluster --save. Others are never unpacked or "
    "unpickled, because a pickle can run any code: load it with what wrote it, or fit the model again and save it."
)
_DAMAGED = "Get the file again from where it came from, or fit the model again and save it."

# Booleans, integers, reals, complex numbers, text and bytes. No Python objects, no records, and no long double,
# whose size depends on the machine.
_PLAIN = re.compile(r"[<>|](b1|[iu][1248]|f[248]|c8|c16|[US][1-9]\d{0,7})")


def write_file(path: PathLike, tree: Any, arrays: Sequence[np.ndarray]) -> None:
    """Write a tree and arrays to a file that is complete or absent.

    If anything fails, an existing file stays as it was.

    Parameters
    ----------
    path : str or path
    tree : JSON value
    arrays : sequence of ndarrays
        Arrays that the tree refers to by index.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist; make it first.")
    if target.exists() and not target.is_file():
        raise FileExistsError(f"{path}: is a folder or a device; give the name of a file.")
    with whole_file(target) as file:
        write_to(file, tree, arrays)


def write_to(file: BinaryIO, tree: Any, arrays: Sequence[np.ndarray]) -> None:
    """Write the content of a file of :func:`write_file` to an open one."""
    digest = hashlib.sha256()
    for piece in _pieces(tree, arrays):
        digest.update(piece)
        file.write(piece)
    file.write(_as_line(digest))


def is_model_file(path: PathLike) -> bool:
    """Return whether a file begins like a model file, whole or damaged."""
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def file_version(path: PathLike) -> str:
    """Return the version of manyview that wrote a file which :func:`read_file` has read."""
    with open(path, "rb") as file:
        stated = _FORMAT.match(file.readline(_FIRST_LINE_BYTES))
    return stated["version"].decode() if stated else "of an unknown version"


def describe_version(path: PathLike) -> str:
    """Return which version wrote a file and which one this is; an empty text if they are the same."""
    version = file_version(path)
    return "" if version == __version__ else f"was written by manyview {version}, this is manyview {__version__}"


def read_file(path: PathLike) -> tuple[Any, list[np.ndarray]]:
    """Read a file of :func:`manyview.store.write_file`; any changed byte is an error.

    Parameters
    ----------
    path : str or path
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ModelFileError(f"{path}: is a folder or a device, not a model file. Give the name of a file.")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = _check_first_line(path, file, size)
        _check_digest(path, file, size)
        file.seek(start)
        tree, descriptions = _read_header(path, file)
        _check_sizes(path, descriptions, size - _DIGEST_BYTES - file.tell())
        return tree, [_read_array(path, file, description) for description in descriptions]


def _pieces(tree: Any, arrays: Sequence[np.ndarray]) -> Iterator[Any]:
    """Yield all but the digest. Arrays that have to be copied are copied one at a time."""
    header = {"arrays": [describe(array) for array in arrays], "content": tree}
    line = json.dumps(header, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
    follow = len(line) + sum(array.nbytes for array in arrays) + _DIGEST_BYTES
    first = f"manyview-model format {FORMAT}, written by manyview {__version__}, {follow} bytes follow\n"
    return chain((first.encode("ascii"), line), map(as_buffer, arrays))


def _as_line(digest: Any) -> bytes:
    return digest.hexdigest().encode("ascii") + b"\n"


def _check_first_line(path: Path, file: BufferedReader, size: int) -> int:
    """Check kind, format and length of the file; return where the first line ends."""
    line = file.readline(_FIRST_LINE_BYTES)
    if not line:
        raise ModelFileError(f"{path}: is empty. {_DAMAGED}")
    if line[: len(_MAGIC)] != _MAGIC[: len(line)]:
        raise ModelFileError(f"{path}: is {_guess(line)}, not a model file. {_NEVER}")
    if len(line) == size:
        raise ModelFileError(f"{path}: is cut short: it has only {size} bytes. {_DAMAGED}")
    stated = _FORMAT.match(line)
    if stated and int(stated["format"]) > FORMAT:
        raise ModelFileError(
            f"{path}: was written by manyview {stated['version'].decode()} in format {int(stated['format'])}; this is "
            f"manyview {__version__}, which reads up to format {FORMAT}. Update manyview."
        )
    found = _FIRST_LINE.fullmatch(line)
    if not found or not 1 <= int(found["format"]) <= FORMAT:
        raise ModelFileError(f"{path}: is damaged: its first line is {line[:80]!r}. {_DAMAGED}")
    announced, present = int(found["n_bytes"]), size - len(line)
    if present < announced:
        raise ModelFileError(f"{path}: is cut short: it has {present:,} of {announced:,} bytes. {_DAMAGED}")
    if present > announced or announced < _DIGEST_BYTES:
        raise ModelFileError(f"{path}: is damaged: it announces {announced:,} bytes and has {present:,}. {_DAMAGED}")
    return len(line)


def _guess(beginning: bytes) -> str:
    for pattern, what in _FOREIGN.items():
        if re.match(pattern, beginning):
            return what
    return f"something that begins with {beginning[:16]!r}"


def _check_digest(path: Path, file: BufferedReader, size: int) -> None:
    file.seek(0)
    digest, left = hashlib.sha256(), size - _DIGEST_BYTES
    while left and (chunk := file.read(min(left, _CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    if file.read(_DIGEST_BYTES + 1) != _as_line(digest):
        raise ModelFileError(f"{path}: is damaged: its content does not have the SHA-256 at its end. {_DAMAGED}")


def _read_header(path: Path, file: BufferedReader) -> tuple[Any, list[Any]]:
    try:
        header = json.loads(file.readline())
        return header["content"], list(header["arrays"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelFileError(f"{path}: its second line is not the JSON of a model file: {error}. {_NEVER}") from error


def _check_sizes(path: Path, descriptions: Iterable[Any], present: int) -> None:
    announced = sum(n_bytes(description, str(path)) for description in descriptions)
    if announced != present:
        raise ModelFileError(f"{path}: announces arrays of {announced:,} bytes, but has {present:,}. {_DAMAGED}")


def _read_array(path: Path, file: BufferedReader, description: Any) -> np.ndarray:
    array = allocate(description, str(path))
    if file.readinto(as_buffer(array).data) != array.nbytes:
        raise ModelFileError(f"{path}: became shorter while it was read.")
    return array


def is_plain(dtype: np.dtype) -> bool:
    """Return whether arrays of this dtype are defined by their bytes alone, on every machine."""
    return dtype.names is None and dtype.subdtype is None and _PLAIN.fullmatch(dtype.str) is not None


def describe(array: np.ndarray) -> list[Any]:
    """Describe an array for :func:`allocate`. Fortran order is kept, because the rounding of sums depends on it."""
    return [array.dtype.str, list(array.shape), "F" if _is_fortran(array) else "C"]


def n_bytes(description: Any, where: str) -> int:
    """Return the number of bytes of the described array; raise an error if the description is invalid."""
    if not isinstance(description, list) or len(description) != 3 or not isinstance(description[1], list):
        raise ModelFileError(f"{where}: {str(description)[:80]!r} does not describe an array.")
    dtype, shape, order = description
    if not isinstance(dtype, str) or not _PLAIN.fullmatch(dtype):
        raise ModelFileError(
            f"{where}: an array of dtype {dtype!r}. Only numbers, booleans and text are read: arrays of Python "
            "objects would have to be unpickled, and a pickle can run any code."
        )
    if order not in ("C", "F") or not all(type(length) is int and length >= 0 for length in shape):
        raise ModelFileError(f"{where}: an array of shape {shape!r} in order {order!r}.")
    return math.prod(shape) * np.dtype(dtype).itemsize


def allocate(description: Any, where: str) -> np.ndarray:
    """Allocate the described array; check :func:`n_bytes` first."""
    dtype, shape, order = description
    try:
        return np.empty(tuple(shape), dtype, order)
    except ValueError as error:  # too many dimensions, or too long ones beside one of length 0
        raise ModelFileError(f"{where}: an array of shape {str(shape)[:80]}: {error}") from error


def as_buffer(array: np.ndarray) -> np.ndarray:
    """Return the values in the order of the file, without a copy where possible."""
    return np.asarray(array.T if _is_fortran(array) else array, order="C")


def _is_fortran(array: np.ndarray) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous
