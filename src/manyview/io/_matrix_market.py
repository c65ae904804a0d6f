"""Matrix Market files, ``.mtx`` and ``.mtx.gz``: one view each, kept sparse where the file is."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import scipy.io
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io._common import DEFLATE_RATIO, Options, Part, check_size, checked_csr, reading

_BYTES_PER_ENTRY = 24  # two indices and a value, 8 bytes each


def read_mtx(path: Path, options: Options) -> Part:
    """Read one view."""
    zipped = path.suffix.lower() == ".gz"
    opener: Any = gzip.open if zipped else open
    with opener(path, "rb") as stream, reading(path, "a Matrix Market file"):
        n_rows, n_columns, n_entries, *_ = scipy.io.mminfo(stream)
        # Every entry takes two bytes of text or more; a symmetric file holds about half of them.
        if n_entries > path.stat().st_size * (DEFLATE_RATIO if zipped else 1):
            raise FileFormatError(
                f"{path}: the header announces {n_rows} x {n_columns} with {n_entries:,} entries, "
                "more than the file can hold."
            )
        check_size(path, _BYTES_PER_ENTRY * n_entries, options.max_bytes)
        stream.seek(0)
        matrix: Any = scipy.io.mmread(stream)
        if min(matrix.shape) == 0:
            raise FileFormatError(f"{path}: the matrix is empty, {n_rows} x {n_columns}.")
        if sp.issparse(matrix):
            matrix = checked_csr(matrix, path, options.max_bytes)
    return Part(str(path), (matrix,), (path.name[: -len(".mtx.gz" if zipped else ".mtx")],))
