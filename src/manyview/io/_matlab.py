"""MATLAB ``.mat`` files of all versions: which reader each needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from manyview.io import _matlab5, _matlab73
from manyview.io._common import Options, Part, checked_csr, reading
from manyview.io._layout import MATLAB_RULE, part_from_variables
from manyview.io._variables import Other, Variables

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def read_mat(path: Path, options: Options) -> Part:
    """Read the views and labels of a MATLAB file of any version."""
    with path.open("rb") as stream, reading(path, "a MATLAB file"):
        head = stream.read(520)
        if _is_hdf5(head):
            variables = _matlab73.read_variables(path, options.max_bytes)
        elif 0 in head[:4]:  # later versions begin with text
            variables = _read_v4(path, stream, options.max_bytes)
        else:
            variables = _matlab5.read_variables(path, stream, options.max_bytes)
        return part_from_variables(path, variables, options, MATLAB_RULE)


def _is_hdf5(head: bytes) -> bool:
    """MATLAB puts 512 bytes of its own before the HDF5 signature; other writers put none."""
    return head.startswith((b"MATLAB 7.3", _HDF5_SIGNATURE)) or head[512:] == _HDF5_SIGNATURE


def _read_v4(path: Path, stream: Any, max_bytes: int) -> Variables:
    """Version 4 has matrices only, uncompressed. SciPy's reader of it is written in Python, and checks."""
    stream.seek(0)
    loaded = scipy.io.loadmat(_Bounded(stream), chars_as_strings=False)
    named = {key: value for key, value in loaded.items() if not key.startswith("__")}
    return {key: _as_variable(value, path, max_bytes) for key, value in named.items()}


class _Bounded:
    """A stream that is never asked for more than is left of it; Python takes memory for all that it is asked for."""

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
