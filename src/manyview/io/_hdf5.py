"""HDF5 files: links to other files are not followed, and announced sizes are compared with stored ones."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io._common import DEFLATE_RATIO, check_size, checked_csr


class Hdf5File:
    """One open file, which counts the bytes that are read from it."""

    def __init__(self, h5py: ModuleType, file: Any, path: Path, max_bytes: int) -> None:
        self.h5py, self.file, self.path = h5py, file, path
        self.max_bytes = max_bytes
        self.taken = 0

    def is_here(self, group: Any, key: str) -> bool:
        """Return whether the item is stored in this file; soft and external links may lead to others."""
        return isinstance(group.get(key, getlink=True), self.h5py.HardLink)

    def is_group(self, item: Any) -> bool:
        """Return whether an item is a group, which holds other items."""
        return isinstance(item, self.h5py.Group)

    def item(self, group: Any, key: str) -> Any:
        """Return an item of a group, which must be stored in this file; ``a/b`` is one of a group in it."""
        for part in key.split("/"):
            if not self.is_group(group) or part not in group:
                raise FileFormatError(f"{self.path}: has no {key!r} in {getattr(group, 'name', '')!r}.")
            if not self.is_here(group, part):
                raise FileFormatError(f"{self.path}: {part!r} is a link, which may lead to another file.")
            group = group[part]
        return group

    def stored(self, dataset: Any) -> np.ndarray:
        """Return the values of a dataset, after checking that the file can hold as many as it announces."""
        if self.is_group(dataset):
            raise FileFormatError(f"{self.path}: expected numbers or texts in {dataset.name}, found a group.")
        if dataset.is_virtual or dataset.external:
            raise FileFormatError(f"{self.path}: {dataset.name} is stored in another file, which is not read.")
        n_bytes = dataset.size * dataset.dtype.itemsize
        if n_bytes > dataset.id.get_storage_size() * DEFLATE_RATIO:
            raise FileFormatError(
                f"{self.path}: {dataset.name} announces shape {dataset.shape}, {n_bytes:,} bytes, "
                "more than the file can hold."
            )
        self.taken += n_bytes
        check_size(self.path, self.taken, self.max_bytes)
        return np.asarray(dataset[()])

    def texts(self, dataset: Any) -> list[str]:
        """Return the texts of a dataset of one dimension."""
        values = self.stored(dataset)
        if values.ndim != 1:
            raise FileFormatError(f"{self.path}: expected a list of names in {dataset.name}, found {values.shape}.")
        return [one.decode() if isinstance(one, bytes) else str(one) for one in values.tolist()]

    def compressed(self, group: Any, shape: tuple[int, ...], by_rows: bool) -> sp.csr_array:
        """Return the sparse matrix in ``data``, ``indices`` and ``indptr`` of a group."""
        data, indices, indptr = (self.stored(self.item(group, key)).ravel() for key in ("data", "indices", "indptr"))
        kind = sp.csr_array if by_rows else sp.csc_array
        if (
            len(shape) != 2
            or data.dtype.kind not in "biuf"
            or indices.dtype.kind not in "iu"
            or indptr.dtype.kind not in "iu"
        ):
            raise FileFormatError(f"{self.path}: {group.name} is no sparse matrix of numbers.")
        if len(indptr) != shape[0 if by_rows else 1] + 1:
            raise FileFormatError(f"{self.path}: {group.name} announces shape {shape}, but has {len(indptr)} pointers.")
        return checked_csr(kind((data, indices, indptr), shape=shape), self.path, self.max_bytes)
