"""Labels in all the forms that authors store them in."""

from __future__ import annotations

import numpy as np
import pytest

from manyview._utils.machine import peak_memory, reset_peak
from manyview.exceptions import FileFormatError
from manyview.io import read_views
from manyview.io._common import Cell, Other
from manyview.io._variables import as_labels

Y = np.array([2, 0, 1, 0])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Y[:, None], Y),
        (Y[None, :], Y),
        (Y, Y),
        (Y.astype(float), Y),
        (Y == 0, Y == 0),
        (np.eye(3)[Y], Y),
        (np.eye(3, dtype=np.uint8)[Y].T, Y),
        (Cell([Y[:, None], Y[None, :]], (1, 2)), Y),
        (Cell([np.array([["a", "b"]]), np.array([["c", "d"]])], (2, 1)), ["ab", "cd"]),
        (np.array([["c", "a", "t"], ["o", "x", " "]]), ["cat", "ox"]),
        (np.array(["cat", "ox"]), ["cat", "ox"]),
    ],
    ids=[
        "column",
        "row",
        "vector",
        "double",
        "logical",
        "one-hot",
        "one-hot-transposed",
        "cell-agrees",
        "names",
        "char-rows",
        "text",
    ],
)
def test_forms(value, expected):
    np.testing.assert_array_equal(as_labels(value), expected)


@pytest.mark.parametrize(
    "value",
    [
        np.eye(4),
        np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]),
        np.arange(12.0).reshape(4, 3),
        np.array([0.5, 1.0, 2.0]),
        np.array([1.0, np.nan]),
        np.array([1.0, 2.0**53]),
        np.array([1.0, -1e300]),
        Cell([Y, Y[::-1]], (1, 2)),
        Cell([], (0, 0)),
        Cell([Other("cell")], (1, 1)),
        Other("struct"),
        np.empty((0, 0)),
    ],
    ids=[
        "one-hot-both-ways",
        "multi-label",
        "matrix",
        "fractions",
        "gaps",
        "next-number-not-told-apart",
        "huge",
        "cell-differs",
        "no-cell",
        "nested",
        "struct",
        "empty",
    ],
)
def test_what_cannot_be_labels(value):
    assert as_labels(value) is None


@pytest.mark.parametrize(
    "key",
    [
        "Y",
        "y",
        "gt",
        "GT",
        "gnd",
        "truth",
        "truelabel",
        "trueLabel",
        "true_label",
        "label",
        "Labels",
        "ground_truth",
    ],
)
def test_names(save_mat, cell, views, labels, key):
    assert read_views(save_mat(X=cell(views), **{key: labels})).labels is not None


def test_labels_in_a_cell(save_mat, save_mat73, cell, views, labels):
    np.testing.assert_array_equal(read_views(save_mat(X=cell(views), gt=cell([labels] * 3))).labels, labels)
    names = ["cat", "dog", "cat", "ox", "ox", "dog"]
    for path in (save_mat(X=cell(views), label=cell(names)), save_mat73("h.mat", X=views, label=names)):
        assert list(read_views(path).labels) == names


def test_of_several_the_one_that_fits_counts(save_mat, cell, views, labels):
    path = save_mat(X=cell(views), y=labels, classes=cell(["cat", "dog", "ox"]))
    np.testing.assert_array_equal(read_views(path).labels, labels)
    assert read_views(save_mat(X=cell(views), y=labels, gt=labels)).labels is not None


def test_a_second_matrix_is_not_lost(save_mat, views):
    path = save_mat(X=views[0], Y=views[1])
    with pytest.raises(FileFormatError, match=r"data\.mat: Y \(6, 5\) has a name for labels, but it is a matrix"):
        read_views(path)
    assert read_views(path, views_key=["X", "Y"]).n_views == 2
    assert read_views(path, views_key="X").labels is None


def test_text_with_one_class_per_line(tmp_path, views):
    np.save(tmp_path / "a.npy", views[0])
    for content, expected in (
        ("b\na\nb b\na\n\u00e4\nb\n", ["b", "a", "b b", "a", "\u00e4", "b"]),
        ("1.0\n" * 6, [1] * 6),
    ):
        (tmp_path / "y.txt").write_text(content, encoding="utf-8")
        assert read_views(tmp_path / "a.npy", labels=tmp_path / "y.txt").labels.tolist() == expected
    for content, error in (
        (b"1\n\n2\n", "line 2 is empty; expected labels, one"),
        (b"\xff\n", "cannot be read as UTF-8"),
    ):
        (tmp_path / "y.txt").write_bytes(content)
        with pytest.raises(FileFormatError, match=rf"y\.txt: {error}"):
            read_views(tmp_path / "a.npy", labels=tmp_path / "y.txt")


def test_a_long_line_of_text_is_no_number(tmp_path):
    """NumPy takes hundreds of times its size to find that out."""
    (tmp_path / "labels.txt").write_text("a\n" + "9" * 10**6)
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    reset_peak()
    before = peak_memory()
    found = read_views(tmp_path / "a.npy", labels=tmp_path / "labels.txt")
    assert found.labels.tolist() == ["a", "9" * 10**6]
    assert before is None or peak_memory() - before < 150 * 2**20
