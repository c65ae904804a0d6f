"""Columns to leave out, to keep and to encode; names that occur twice; columns that do not differ."""

from __future__ import annotations

import numpy as np
import pytest

from manyview import read_views
from manyview.exceptions import FileFormatError

TABLE = "id,age,batch,qc_a,qc_b,label\np,30,x,1,2,0\nq,40,y,3,4,1\nr,50,x,5,6,0\ns,60,,7,8,1\n"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(TABLE)
    return file


def test_columns_are_left_out_by_name_and_by_pattern(path):
    views = read_views(path, drop=["batch", "qc_*"])
    assert views.feature_names == (("age",),)
    assert views.labels.tolist() == [0, 1, 0, 1]
    assert views.reading.notes == (f"{path}: left out 3 columns: 'batch', 'qc_a', 'qc_b'",)


def test_only_some_are_kept_besides_ids_and_classes(path):
    views = read_views(path, only="qc_*")
    assert views.feature_names == (("qc_a", "qc_b"),)
    assert views.sample_ids.tolist() == ["p", "q", "r", "s"]
    assert views.labels.tolist() == [0, 1, 0, 1]


def test_categories_become_columns_and_missing_ones_stay_missing(path):
    views = read_views(path, one_hot="batch")
    assert views.feature_names[0][-2:] == ("batch=x", "batch=y")
    nan = np.nan
    np.testing.assert_array_equal(views.arrays[0][:, -2:], [[1, 0], [0, 1], [1, 0], [nan, nan]])


def test_categories_that_are_numbers(path):
    path.write_text("id,site,a\np,1,2\nq,2,3\nr,1,4\ns,2,5\n")
    views = read_views(path, one_hot="site")
    assert views.feature_names == (("a", "site=1", "site=2"),)
    np.testing.assert_array_equal(views.arrays[0][:, 1], [1, 0, 1, 0])


def test_with_features_in_rows_the_rows_are_left_out(tmp_path):
    file = tmp_path / "rna.tsv"
    file.write_text("gene\ts1\ts2\ts3\nCD3D\t1\t2\t3\nERCC-1\t4\t5\t6\nLYZ\t7\t8\t9\n")
    views = read_views(file, drop="ERCC-*", transpose=True)
    assert views.feature_names == (("CD3D", "LYZ"),)
    assert views.arrays[0].tolist() == [[1, 7], [2, 8], [3, 9]]
    assert read_views(file, only="LYZ", transpose=True).arrays[0].tolist() == [[7], [8], [9]]


def test_whole_numbers_as_ids_keep_their_zeros_beside_dropped_columns(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"batch,case_id,{name}\nx,007,1\ny,008,2\nx,010,3\n")
    views = read_views([tmp_path / "a.csv", tmp_path / "b.csv"], drop="batch")
    assert views.sample_ids.tolist() == ["007", "008", "010"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"drop": "bach"}, r"a\.csv: drop='bach': there is no such column\. Did you mean 'batch'\?"),
        ({"drop": "z*"}, r"drop='z\*': there is no such column\. There are 'id', 'age'"),
        ({"only": "id"}, r"only='id' leaves no feature of 'age'"),
        ({"one_hot": "id"}, r"'id' \(one_hot\) has 4 different values for 4 samples.*drop='id'"),
        ({"drop": "*"}, "drop= leaves no column"),
    ],
)
def test_what_cannot_be_selected(path, options, error):
    with pytest.raises(FileFormatError, match=error):
        read_views(path, **options)


def test_files_without_names_have_nothing_to_leave_out(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    with pytest.raises(FileFormatError, match=r"drop='x': there are no names of columns in these files"):
        read_views(tmp_path / "a.npy", drop="x")


@pytest.mark.parametrize("given", [7, [7], {"a": 1}])
def test_what_is_no_name(path, given):
    with pytest.raises(TypeError, match=r"drop: expected a name of a column"):
        read_views(path, drop=given)


def test_names_that_occur_twice_are_numbered(path):
    path.write_text("id,a,a.1,a\np,1,2,3\nq,4,5,6\n")
    views = read_views(path)
    assert views.feature_names == (("a", "a.1", "a.2"),)
    assert views.reading.notes == (f"{path}: 1 name of a feature occurs more than once ('a'); numbered as 'a.2'",)


def test_columns_without_differences_are_noted(path):
    path.write_text("id,a,b,c\np,1,5,\nq,4,5,\nr,1,5,7\n")
    assert read_views(path).reading.notes == (f"{path}: 1 column has the same value for all samples: 'b'",)
