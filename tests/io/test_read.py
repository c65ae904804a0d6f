"""`read_views` itself: which files are read, what views are called, and how bad files are reported."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from manyview import check_views
from manyview._utils.imports import require
from manyview.exceptions import FileFormatError, MissingDependencyError
from manyview.io import read_views


def test_folder(tmp_path, views, labels):
    np.save(tmp_path / "b.npy", views[0])
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_array(views[1]))
    pd.DataFrame({"x": np.arange(6) / 2, "z": np.ones(6)}).to_csv(tmp_path / "c.csv", index=False)
    np.save(tmp_path / "labels.npy", labels)
    (tmp_path / ".hidden.csv").write_text("x")
    (tmp_path / "README.md").write_text("not data")
    (tmp_path / "more").mkdir()
    assert repr(read_views(tmp_path)) == "Views(6 samples; a: 5, b: 4, c: 2; 3 classes)"


def test_folder_with_labels_named_by_the_caller(tmp_path, views, labels):
    np.save(tmp_path / "a.npy", views[0])
    np.save(tmp_path / "stages.npy", labels)
    found = read_views(tmp_path, labels=tmp_path / "stages.npy")
    assert found.names == ("a",)
    np.testing.assert_array_equal(found.labels, labels)


def test_two_files_of_labels_in_a_folder(tmp_path, views, labels):
    np.save(tmp_path / "a.npy", views[0])
    np.save(tmp_path / "y.npy", labels)
    np.save(tmp_path / "gt.npy", labels)
    with pytest.raises(FileFormatError, match=r"more than one file could hold the labels: gt\.npy, y\.npy"):
        read_views(tmp_path)


def test_names(tmp_path, views):
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, views[0])
    files = [tmp_path / "a.npy", tmp_path / "b.npy"]
    assert read_views(files).names == ("a", "b")
    assert read_views(dict(zip("pq", files, strict=True))).names == ("p", "q")
    assert read_views(files, names=["u", "v"]).names == ("u", "v")
    with pytest.raises(FileFormatError, match=r"a\.npy and .*a\.npy: both views would be called 'a'\. Pass names=, or"):
        read_views([files[0], files[0]])


def test_several_files_hold_one_view_each(tmp_path, views):
    np.savez(tmp_path / "a.npz", p=views[0], q=views[1])
    with pytest.raises(FileFormatError, match=r"a\.npz: holds 2 views; of several files, each must hold one"):
        read_views([tmp_path / "a.npz"])
    assert read_views([tmp_path / "a.npz"], views_key="q").names == ("a",)


def test_labels_given_replace_labels_found(tmp_path, save_mat, cell, views, labels):
    np.save(tmp_path / "other.npy", labels[::-1])
    found = read_views(save_mat(X=cell(views), y=labels), labels=tmp_path / "other.npy")
    np.testing.assert_array_equal(found.labels, labels[::-1])


def test_labels_given_replace_those_of_every_file(tmp_path):
    for name, classes in {"a": "01", "b": "10"}.items():
        (tmp_path / f"{name}.csv").write_text(f"x,label\n5,{classes[0]}\n6,{classes[1]}\n")
    (tmp_path / "right.txt").write_text("cat\ndog\n")
    found = read_views([tmp_path / "a.csv", tmp_path / "b.csv"], labels=tmp_path / "right.txt")
    assert found.labels.tolist() == ["cat", "dog"]


def test_result_passes_the_check(save_mat, cell, views, labels):
    checked = check_views(read_views(save_mat(X=cell(views), y=labels)))
    assert all(array.dtype == np.float64 for array in checked.arrays)


def test_missing_file_suggests_a_close_one(tmp_path, views):
    np.save(tmp_path / "pixels.npy", views[0])
    with pytest.raises(FileNotFoundError, match=r"pixel\.npy: no such file. Did you mean pixels\.npy\?"):
        read_views(tmp_path / "pixel.npy")
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*nowhere either"):
        read_views(tmp_path / "nowhere" / "a.npy")


def test_a_folder_that_is_called_like_a_file(tmp_path, views):
    np.save(tmp_path / "a.npy", views[0])
    (tmp_path / "b.npy").mkdir()
    with pytest.raises(FileFormatError, match=r"b\.npy: expected a file, found a folder"):
        read_views([tmp_path / "a.npy", tmp_path / "b.npy"])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"path": []}, ValueError, "path: expected at least one file"),
        ({"path": 3}, TypeError, "path: expected a path, several paths or a folder, got int"),
        ({"path": "a.npy", "join": "left"}, ValueError, "join: expected 'exact', 'inner' or 'outer', got 'left'"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        read_views(**arguments)


def test_missing_dependency_says_how_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")

    def absent(module, **how):
        return require(f"no_such_{module}", **how)

    monkeypatch.setattr("manyview.io._parquet.require", absent)
    with pytest.raises(
        MissingDependencyError, match=r'Reading parquet needs no_such_pyarrow: pip install "manyview\[files\]"'
    ):
        read_views(tmp_path / "a.parquet")


# Bad files. Each entry: name of the file, content (bytes, or a function that returns them), the error.


def mat(**variables):
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables)
    return stream.getvalue()


def cells(*items):
    array = np.empty((1, len(items)), dtype=object)
    for i, item in enumerate(items):
        array[0, i] = item
    return array


def sparse_mat_out_of_range():
    matrix = sp.csc_array(np.eye(4))
    matrix.indices[2] = 77
    return mat(X=cells(matrix))


def hdf5(**arrays):
    h5py = pytest.importorskip("h5py")
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        for key, value in arrays.items():
            file[key] = value
    return stream.getvalue()


def hdf5_huge():
    h5py = pytest.importorskip("h5py")
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        file.create_dataset("X", shape=(10**6, 10**6), chunks=(1000, 1000), dtype="f8")
    return stream.getvalue()


def npy(array, allow_pickle=False):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def npy_header(shape, body=b""):
    text = str({"descr": "<f8", "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


def npz(**arrays):
    return zipped(**{name: npy(array) for name, array in arrays.items()})


def npz_wrong_checksum():
    content = bytearray(npz(X=np.arange(64.0).reshape(8, 8)))
    content[300] ^= 255
    return bytes(content)


def sparse_npz_out_of_range():
    matrix = sp.csr_array(np.eye(4))
    matrix.indices[2] = 77
    stream = io.BytesIO()
    sp.save_npz(stream, matrix)
    return stream.getvalue()


def two_npy_with_one_name():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("X.npy", npy(np.eye(2)))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("X.npy", npy(np.eye(3)))
    return stream.getvalue()


A, B = np.ones((6, 4)), np.ones((6, 5))
BAD_FILES = {
    "empty mat": ("a.mat", b"", r"the file is empty \(0 bytes\)"),
    "text as mat": ("a.mat", b"these are not the views you are looking for" * 9, "is not a MATLAB file"),
    "short text as mat": ("a.mat", b"hello", "is not a MATLAB file"),
    "mat cut short": ("a.mat", lambda: mat(X=cells(A, B))[:400], "a MATLAB file cut short: .* announced"),
    "mat with only labels": (
        "a.mat",
        lambda: mat(y=np.arange(6)[:, None], note="hello"),
        r"found no views. It holds y \(6, 1\), note \(1, 5\). Expected .* Pass views_key=",
    ),
    "mat with unknown keys": (
        "a.mat",
        lambda: mat(hog=A, gist=B),
        r"found no views. It holds hog \(6, 4\), gist",
    ),
    "mat with two cells": (
        "a.mat",
        lambda: mat(X=cells(A), data=cells(B)),
        r"more than one variable could hold the views: X or data. .* Pass views_key=",
    ),
    "mat with two sorts of numbers": (
        "a.mat",
        lambda: mat(X1=A, X2=B, view1=A, view2=B),
        "X1, X2 or view1, view2",
    ),
    "mat with two labels": (
        "a.mat",
        lambda: mat(X=cells(A), y=np.arange(6), gt=np.ones(6)),
        "more than one variable could hold the labels, and they differ: y, gt",
    ),
    "mat with too few labels": ("a.mat", lambda: mat(X=cells(A, B), y=np.arange(5)), "y holds 5 labels, but"),
    "mat without a common side": (
        "a.mat",
        lambda: mat(X=cells(A, np.ones((7, 3)))),
        r"shapes \(6, 4\), \(7, 3\)",
    ),
    "mat with empty cell": (
        "a.mat",
        lambda: mat(X=cells(A, np.empty((0, 0)))),
        r"X cell \(1, 2\) of \(6, 4\) and",
    ),
    "mat with sparse index out of range": ("a.mat", sparse_mat_out_of_range, "indices must be < 4"),
    "v7.3 cut short": ("a.mat", lambda: hdf5(X=A)[:900], "cannot be read as a MATLAB file"),
    "v7.3 header alone": ("a.mat", b"MATLAB 7.3 MAT-file".ljust(128), "cannot be read as a MATLAB file"),
    "v7.3 without views": (
        "a.mat",
        lambda: hdf5(foo=A, y=np.ones(6)),
        r"found no views. It holds foo \(4, 6\), y",
    ),
    "v7.3 of gigantic shape": (
        "a.mat",
        hdf5_huge,
        r"announces shape \(1000000, 1000000\), .* more than the file",
    ),
    "empty npz": ("a.npz", b"", "the file is empty"),
    "npz that is no zip": ("a.npz", b"PK nonsense", "cannot be read as an .npz file"),
    "npz that is a pickle": ("a.npz", pickle.dumps([1, 2]), "cannot be read as an .npz file"),
    "npz with a wrong checksum": ("a.npz", npz_wrong_checksum, "cannot be read as an .npz file"),
    "npz of objects": (
        "a.npz",
        lambda: zipped(X=npy(np.array([A, "text"], dtype=object), allow_pickle=True)),
        "X: holds Python objects, which would have to be unpickled",
    ),
    "npz of gigantic shape": (
        "a.npz",
        lambda: zipped(X=npy_header((10**6, 10**6))),
        "X: the header announces shape",
    ),
    "npz with only labels": ("a.npz", lambda: npz(y=np.arange(6)), r"found no views. It holds y \(6,\)"),
    "npz without a common side": ("a.npz", lambda: npz(a=A, b=np.ones((7, 3))), r"shapes \(6, 4\), \(7, 3\)"),
    "npz with one name twice": ("a.npz", two_npy_with_one_name, "holds two arrays called 'X'"),
    "sparse npz with index out of range": ("a.npz", sparse_npz_out_of_range, "indices must be < 4"),
    "npy of objects": ("a.npy", lambda: npy(np.array([A, "x"], dtype=object), True), "holds Python objects"),
    "npy that is a pickle": ("a.npy", pickle.dumps([1, 2]), "cannot be read as an .npy file"),
    "npy of gigantic shape": (
        "a.npy",
        npy_header((10**12, 1), b"\0" * 16),
        "8,000,000,000,000 bytes, but there are 16",
    ),
    "npy cut short": ("a.npy", lambda: npy(A)[:-8], "192 bytes, but there are 184"),
    "npy of one dimension": (
        "a.npy",
        lambda: npy(np.arange(6)),
        r"expected a 2-D array .* found shape \(6,\)",
    ),
    "npy of text": ("a.npy", lambda: npy(np.array([["a", "b"]])), "expected a 2-D array of numbers"),
    "npy of version 3": ("a.npy", b"\x93NUMPY\x03\x00" + bytes(64), "format 3.0 is not supported"),
    "csv with a short row": ("a.csv", b"a,b,c\n1,2,3\n4,5\n", "line 3 has 2 fields, the first line has 3"),
    "csv with a long row": ("a.csv", b"a,b\n1,2\n4,5,6\n", "line 3 has 3 fields, the first line has 2"),
    "csv with an empty line": ("a.csv", b"a\n1\n\n3\n", "line 3 is empty, but more lines follow"),
    "csv that begins empty": ("a.csv", b"\n1,2\n", "no samples, only names of columns"),
    "csv that is binary": ("a.csv", b"\x00\x01\x02" * 99, "found binary data or another encoding"),
    "csv not in utf-8": (
        "a.csv",
        "größe,b\n1,2\n".encode("latin-1"),
        "is not UTF-8: byte 0xf6 .* Pass encoding='cp1252'",
    ),
    "csv with an open quote": ("a.csv", b'a,b\n1,"2\n3,4\n', "cannot be read as CSV"),
    "csv with text": ("a.csv", b"a,b,c\n1,x,2\n2,y,3\n", r"1 column\(s\) hold something else: 'b'"),
    # y is there once: neither the first that is repeated, nor counted
    "csv with repeated ids": (
        "a.csv",
        b"id,b\ny,2\nx,1\nz,4\nx,3\nz,5\nx,6\n",
        r"id 'x' occurs 3 times in column 'id'; 2 id\(s\) are repeated",
    ),
    "csv with a missing id": ("a.csv", b"id,b\nx,1\n,2\n", "column 'id' is empty for 1 sample"),
    "csv with two labels": (
        "a.csv",
        b"label,class\n0,1\n1,2\n",
        "more than one column could hold the labels",
    ),
    "csv without features": (
        "a.csv",
        b"id,label\nx,1\ny,2\n",
        "no features: 2 samples, columns 'id', 'label'",
    ),
    "csv with hundreds of digits": ("a.csv", b"a,b\n1," + b"9" * 400 + b"\n", "hold something else: 'b'"),
    "csv with hundreds of digits and text": (
        "a.csv",
        b"a,b\n1,-" + b"9" * 400 + b"\n2,x\n",
        "hold something else: 'b'",
    ),
    "csv with a class of hundreds of digits": (
        "a.csv",
        b"a,label\n1,x\nx,-" + b"9" * 400 + b"\n",
        "hold something else: 'a'",
    ),
    "csv without rows": ("a.csv", b"a,b\n\n", "no samples, only names of columns: 'a', 'b'"),
    "tsv with a short row": ("a.tsv", b"a\tb\n1\n", "line 2 has 1 fields"),
    "parquet that is text": ("a.parquet", b"PAR1 or not", "cannot be read as parquet"),
    "unknown extension": ("a.docx", b"PK", r"cannot be read by its extension. Expected one of \.mat, \.npz"),
    "no extension": ("mat", b"PK", "cannot be read by its extension"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_file(tmp_path, case):
    name, content, message = BAD_FILES[case]
    path = tmp_path / name
    path.write_bytes(content() if callable(content) else content)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_views(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"views_key": "Q"},
            r"a\.mat: has no variable 'Q' \(views_key\). It holds X \(6, 4\), s \(struct\), y",
        ),
        ({"views_key": "s"}, r"a\.mat: expected 's' \(views_key\) to be a matrix"),
        ({"labels_key": "Q"}, r"a\.mat: has no variable 'Q' \(labels_key\)"),
        ({"labels_key": "s"}, r"a\.mat: s \(struct\) \(labels_key\) cannot be labels"),
        ({"label_column": "kind"}, r"no file has a column 'kind' \(label_column\). Columns found: .*a\.mat"),
    ],
)
def test_keys_that_are_not_there(tmp_path, arguments, message):
    (tmp_path / "a.mat").write_bytes(
        mat(X=A, s={"a": 1}, **({} if "label_column" in arguments else {"y": np.arange(6)}))
    )
    with pytest.raises(FileFormatError, match=message):
        read_views(tmp_path / "a.mat", **arguments)


def test_columns_that_are_not_there(tmp_path):
    (tmp_path / "a.csv").write_text("u,v\n1,2\n")
    with pytest.raises(FileFormatError, match=r"a\.csv: expected one column 'key' \(id_column\). .* 'u', 'v'"):
        read_views(tmp_path / "a.csv", id_column="key")
    with pytest.raises(FileFormatError, match=r"no file has a column 'kind' .*a\.csv: u, v"):
        read_views(tmp_path / "a.csv", label_column="kind")


def test_folder_without_data(tmp_path):
    (tmp_path / "README.md").write_text("nothing here")
    with pytest.raises(FileFormatError, match=r"no files with views in this folder. .* found README\.md"):
        read_views(tmp_path)


def test_nothing_is_ever_unpickled(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("unpickled")

    content = npy(np.array([1, "x"], dtype=object), allow_pickle=True)
    (tmp_path / "a.npy").write_bytes(content)
    (tmp_path / "b.npz").write_bytes(zipped(X=content))
    monkeypatch.setattr(pickle, "load", refuse)
    monkeypatch.setattr(pickle, "loads", refuse)
    for name in ("a.npy", "b.npz"):
        with pytest.raises(FileFormatError, match="never does that"):
            read_views(tmp_path / name)
