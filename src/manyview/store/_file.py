"""The file: a line that says what it is, a line of JSON, the bytes of the arrays, and the SHA-256 of all that.

The arrays have no names and nothing is unpacked to disk, so no name can lead anywhere. A file may come from anybody:
what it announces is compared with its size before memory is taken for it.
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
from typing import Any

import numpy as np

from manyview._utils.files import PathLike, whole_file
from manyview._version import __version__
from manyview.exceptions import ModelFileError

FORMAT = 1
"""The format that is written, and the newest that is read."""

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
    "A model file is written by model.save(path). Others are never unpacked or unpickled, because a pickle can run "
    "any code: load it with what wrote it, or fit the model again and save it."
)
_DAMAGED = "Get the file again from where it came from, or fit the model again and save it."

# Truth values, integers, reals, complex numbers, text and bytes. No Python objects, no records, and no long double,
# whose size depends on the machine.
_PLAIN = re.compile(r"[<>|](b1|[iu][1248]|f[248]|c8|c16|[US][1-9]\d{0,7})")


def write_file(path: PathLike, tree: Any, arrays: Sequence[np.ndarray]) -> None:
    """Write a tree and arrays, so that the file is there as a whole or not at all.

    If anything fails, what was there before stays.

    Parameters
    ----------
    path : str or path
    tree : JSON value
    arrays : sequence of ndarrays
        What the tree refers to by number.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent}; make it first.")
    if target.exists() and not target.is_file():
        raise FileExistsError(f"{path}: is a folder or a device; give the name of a file.")
    with whole_file(target) as file:
        digest = hashlib.sha256()
        for piece in _pieces(tree, arrays):
            digest.update(piece)
            file.write(piece)
        file.write(_as_line(digest))


def read_file(path: PathLike) -> tuple[Any, list[np.ndarray]]:
    """Read what :func:`write_file` wrote; a byte that has changed since is an error.

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
    """All but the digest. An array that has to be copied is copied when its turn comes."""
    header = {"arrays": [describe(array) for array in arrays], "content": tree}
    line = json.dumps(header, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
    follow = len(line) + sum(array.nbytes for array in arrays) + _DIGEST_BYTES
    first = f"manyview-model format {FORMAT}, written by manyview {__version__}, {follow} bytes follow\n"
    return chain((first.encode("ascii"), line), map(as_buffer, arrays))


def _as_line(digest: Any) -> bytes:
    return digest.hexdigest().encode("ascii") + b"\n"


def _check_first_line(path: Path, file: BufferedReader, size: int) -> int:
    """Check what the file is, of which format and how long; return where the first line ends."""
    line = file.readline(_FIRST_LINE_BYTES)
    if not line:
        raise ModelFileError(f"{path}: is empty. {_DAMAGED}")
    if line[: len(_MAGIC)] != _MAGIC[: len(line)]:
        raise ModelFileError(f"{path}: is {_guess(line)}, not a model file. {_NEVER}")
    if len(line) == size:
        raise ModelFileError(f"{path}: is cut short: only {size} bytes are there. {_DAMAGED}")
    told = _FORMAT.match(line)
    if told and int(told["format"]) > FORMAT:
        raise ModelFileError(
            f"{path}: was written by manyview {told['version'].decode()} in format {int(told['format'])}; this is "
            f"manyview {__version__}, which reads up to format {FORMAT}. Update manyview."
        )
    found = _FIRST_LINE.fullmatch(line)
    if not found or int(found["format"]) != FORMAT:
        raise ModelFileError(f"{path}: is damaged: its first line is {line[:80]!r}. {_DAMAGED}")
    announced, present = int(found["n_bytes"]), size - len(line)
    if present < announced:
        raise ModelFileError(f"{path}: is cut short: {present:,} of {announced:,} bytes are there. {_DAMAGED}")
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
    """Whether arrays of this dtype are nothing but their bytes, on every machine."""
    return dtype.names is None and dtype.subdtype is None and _PLAIN.fullmatch(dtype.str) is not None


def describe(array: np.ndarray) -> list[Any]:
    """What :func:`allocate` needs to know. Arrays in Fortran's order stay so, as sums over them depend on it."""
    return [array.dtype.str, list(array.shape), "F" if _is_fortran(array) else "C"]


def n_bytes(description: Any, where: str) -> int:
    """Bytes of the array that is described; raises if there can be no such array."""
    if not isinstance(description, list) or len(description) != 3 or not isinstance(description[1], list):
        raise ModelFileError(f"{where}: {str(description)[:80]!r} does not describe an array.")
    dtype, shape, order = description
    if not isinstance(dtype, str) or not _PLAIN.fullmatch(dtype):
        raise ModelFileError(
            f"{where}: an array of dtype {dtype!r}. Only numbers, truth values and text are read: arrays of Python "
            "objects would have to be unpickled, and a pickle can run any code."
        )
    if order not in ("C", "F") or not all(type(length) is int and length >= 0 for length in shape):
        raise ModelFileError(f"{where}: an array of shape {shape!r} in order {order!r}.")
    return math.prod(shape) * np.dtype(dtype).itemsize


def allocate(description: Any, where: str) -> np.ndarray:
    """An array for the bytes to come; check :func:`n_bytes` first."""
    dtype, shape, order = description
    try:
        return np.empty(tuple(shape), dtype, order)
    except ValueError as error:  # too many dimensions, or too long ones beside one of length 0
        raise ModelFileError(f"{where}: an array of shape {str(shape)[:80]}: {error}") from error


def as_buffer(array: np.ndarray) -> np.ndarray:
    """The values one after another as they are in the file: the array itself wherever that is possible."""
    return np.asarray(array.T if _is_fortran(array) else array, order="C")


def _is_fortran(array: np.ndarray) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous
