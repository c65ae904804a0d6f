"""Files for the readers: imitations of what MATLAB writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp


@pytest.fixture
def views() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [
        rng.random((6, 4)),
        rng.integers(0, 9, (6, 5)).astype(np.uint8),
        rng.random((6, 3)).astype(np.float32),
    ]


@pytest.fixture
def labels() -> np.ndarray:
    return np.array([2, 1, 1, 3, 3, 2])


@pytest.fixture
def cell() -> Callable[..., np.ndarray]:
    """A MATLAB cell array for savemat, as a row unless told otherwise."""

    def make(items: list[Any], shape: tuple[int, ...] | None = None) -> np.ndarray:
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            array[i] = item
        return array.reshape(shape or (1, -1))

    return make


@pytest.fixture
def save_mat(tmp_path: Path) -> Callable[..., Path]:
    def save(name: str = "data.mat", compress: bool = False, **variables: Any) -> Path:
        path = tmp_path / name
        scipy.io.savemat(path, variables, do_compression=compress)
        return path

    return save


@pytest.fixture
def save_mat73(tmp_path: Path) -> Callable[..., Path]:
    """Write a v7.3 file the way MATLAB lays it out: lists are cells, str is char, None an empty matrix."""
    h5py = pytest.importorskip("h5py")

    def put(file: Any, place: Any, key: str, value: Any, row: bool) -> Any:
        if isinstance(value, list):
            items = [put(file, file["#refs#"], f"{key}_{i}", item, row) for i, item in enumerate(value)]
            shape = (len(items), 1) if row else (1, len(items))  # stored transposed
            item = place.create_dataset(key, shape, dtype=h5py.ref_dtype)
            for i, target in enumerate(items):
                item[(i, 0) if row else (0, i)] = target.ref
            item.attrs["MATLAB_class"] = np.bytes_("cell")
        elif isinstance(value, dict):
            item = place.create_group(key)
            item.attrs["MATLAB_class"] = np.bytes_("struct")
            for field, content in value.items():
                put(file, item, field, content, row)
        elif sp.issparse(value):
            csc = sp.csc_array(value)
            item = place.create_group(key)
            item.attrs["MATLAB_class"] = np.bytes_("double")
            item.attrs["MATLAB_sparse"] = np.uint64(csc.shape[0])
            if csc.nnz:
                item["data"], item["ir"] = csc.data, csc.indices.astype(np.uint64)
            item["jc"] = csc.indptr.astype(np.uint64)
        elif isinstance(value, str):
            item = place.create_dataset(key, data=np.array([[ord(c)] for c in value], dtype=np.uint16))
            item.attrs["MATLAB_class"] = np.bytes_("char")
            item.attrs["MATLAB_int_decode"] = np.int32(2)
        elif value is None:
            item = place.create_dataset(key, data=np.zeros(2, dtype=np.uint64))
            item.attrs["MATLAB_class"], item.attrs["MATLAB_empty"] = np.bytes_("double"), np.uint8(1)
        else:
            array = np.atleast_2d(value)
            logical = array.dtype == bool
            stored = array.T.astype(np.uint8) if logical else array.T
            item = place.create_dataset(key, data=stored, compression="gzip")
            item.attrs["MATLAB_class"] = np.bytes_("logical" if logical else "double")
        return item

    def save(name: str = "data.mat", row: bool = True, **variables: Any) -> Path:
        path = tmp_path / name
        with h5py.File(path, "w", userblock_size=512) as file:
            file.create_group("#refs#")
            file.create_group("#subsystem#").create_dataset("MCOS", data=np.zeros((1, 2)))
            for key, value in variables.items():
                put(file, file, key, value, row)
        head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
        with path.open("r+b") as stream:
            stream.write(head)
        return path

    return save


@pytest.fixture
def same() -> Callable[[Any, Any], bool]:
    """Whether two views hold the same values, in the same type, sparse or not."""

    def compare(found: Any, expected: Any) -> bool:
        if sp.issparse(expected) != sp.issparse(found):
            return False
        dense = [a.toarray() if sp.issparse(a) else np.asarray(a) for a in (found, expected)]
        return dense[0].dtype == dense[1].dtype and np.array_equal(*dense)

    return compare
