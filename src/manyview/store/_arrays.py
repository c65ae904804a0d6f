"""One array as a description, ``[dtype, shape, order]``, and its bytes."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from manyview.exceptions import ModelFileError

# Truth values, integers, reals, complex numbers, text and bytes. No Python objects, no records, and no long double,
# whose size depends on the machine.
_PLAIN = re.compile(r"[<>|](b1|[iu][1248]|f[248]|c8|c16|[US][1-9]\d{0,7})")


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
