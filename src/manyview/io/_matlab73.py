"""MATLAB v7.3 files: HDF5 with MATLAB's conventions.

Arrays are stored transposed. A cell is a dataset of references to datasets under ``#refs#``. A sparse matrix
is a group with ``data``, ``ir`` (rows) and ``jc`` (column starts), and its number of rows as attribute
``MATLAB_sparse``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview._utils.imports import require
from manyview.io._common import Cell, Other, Variables, checked_csr
from manyview.io._hdf5 import Hdf5File


def read_v73(path: Path, max_bytes: int) -> Variables:
    """Read all variables of a v7.3 file that can be views or labels; the rest as `Other`."""
    h5py = require("h5py", extra="files", purpose="Reading MATLAB v7.3 files")
    with h5py.File(path, "r") as file:
        reader = _Version73(h5py, file, path, max_bytes)
        return {key: reader.variable(key) for key in file if not key.startswith("#")}


class _Version73(Hdf5File):
    """Reader of one open file."""

    def variable(self, key: str) -> Any:
        return self.value(self.file[key]) if self.is_here(self.file, key) else Other("link")

    def value(self, item: Any, inside_cell: bool = False) -> Any:
        kind = _text(item.attrs.get("MATLAB_class", ""))
        if isinstance(item, self.h5py.Group):
            return self.sparse(item) if "MATLAB_sparse" in item.attrs else Other(kind or "struct")
        if "MATLAB_object_decode" in item.attrs:  # string, table, categorical: only MATLAB can decode them
            return Other(kind or "object")
        if self.h5py.check_ref_dtype(item.dtype) is self.h5py.Reference:  # NumPy uses the same dtype for texts
            # Cells in cells are never views, and their references could form a cycle.
            return Other("cell") if inside_cell else self.cell(item)
        if item.dtype.kind not in "biuf":
            return Other(kind or str(item.dtype))
        if "MATLAB_empty" in item.attrs:  # the dataset then holds the shape
            return Cell([], (0, 0)) if kind == "cell" else np.empty((0, 0))
        numbers = np.atleast_2d(self.stored(item)).T
        if kind == "char":
            return np.frompyfunc(chr, 1, 1)(numbers).astype("U1")
        return numbers.astype(bool) if kind == "logical" else numbers

    def cell(self, dataset: Any) -> Cell:
        references = self.stored(dataset).T
        items = [self.value(self.file[reference], inside_cell=True) for reference in references.ravel(order="F")]
        return Cell(items, references.shape)

    def sparse(self, group: Any) -> sp.csr_array | Other:
        if not all(self.is_here(group, key) for key in group):
            return Other("link")
        starts = self.stored(group["jc"]).ravel().astype(np.int64)
        shape = (int(group.attrs["MATLAB_sparse"]), len(starts) - 1)
        if "data" in group:
            values, rows = (
                self.stored(group["data"]).ravel(),
                self.stored(group["ir"]).ravel().astype(np.int64),
            )
        else:  # MATLAB leaves both out when there is no entry
            values, rows = np.empty(0), np.empty(0, dtype=np.int64)
        if _text(group.attrs.get("MATLAB_class", "")) == "logical":
            values = values.astype(bool)
        return checked_csr(sp.csc_array((values, rows, starts), shape=shape), self.path, self.max_bytes)


def _text(value: Any) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
