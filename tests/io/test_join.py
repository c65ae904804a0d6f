"""Outer joins of files; exact and inner ones are tested with the tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from manyview import Views, check_views
from manyview.exceptions import FileFormatError
from manyview.io import read_views


@pytest.fixture
def put(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def two(put):
    return [put("a.csv", "id,x,u\nq,1,2\nr,3,4\ns,5,6\n"), put("b.csv", "id,z\ns,30\nt,40\nq,10\n")]


def test_outer_join_keeps_every_sample_in_the_order_of_first_appearance(two):
    found = read_views(two, join="outer")
    assert found.sample_ids.tolist() == ["q", "r", "s", "t"]
    assert found["a"].tolist() == [[1, 2], [3, 4], [5, 6], [0, 0]]
    assert found["b"].tolist() == [[10], [0], [30], [40]]
    assert found["a"].dtype == np.int64
    assert found.present.tolist() == [[True, True], [True, False], [True, True], [False, True]]
    assert found.labels is None
    np.testing.assert_array_equal(check_views(found).present, found.present)


def test_it_is_the_same_as_from_frames(two):
    frames = {path.stem: pd.read_csv(path, index_col=0) for path in two}
    found, joined = read_views(two, join="outer"), Views.from_frames(frames)
    assert found.sample_ids.tolist() == joined.sample_ids.tolist()
    np.testing.assert_array_equal(found.present, joined.present)
    for name in found.names:
        np.testing.assert_array_equal(found[name], joined[name])


def test_nothing_is_missing_if_all_files_have_all_ids(put):
    files = [put("a.csv", "id,x\nq,1\nr,2\n"), put("b.csv", "id,z\nr,20\nq,10\n")]
    found = read_views(files, join="outer")
    assert found.present is None
    assert found["b"].tolist() == [[10], [20]]


def test_labels_of_samples_without_views_are_left_out(two, put):
    labels = put("labels.csv", "id,what\nt,cat\nz,emu\ns,dog\nr,cat\nq,ox\n")
    found = read_views(two, labels=labels, join="outer")
    assert found.labels.tolist() == ["ox", "cat", "dog", "cat"]
    assert found.sample_ids.tolist() == ["q", "r", "s", "t"]


def test_a_sample_without_a_label_has_none(two, put):
    labels = put("labels.csv", "id,what\nt,cat\nq,ox\n")
    assert read_views(two, labels=labels, join="outer").labels.tolist() == ["ox", None, None, "cat"]


def test_label_columns_complete_each_other(put):
    a, b = put("a.csv", "id,x,label\nq,1,0\nr,2,1\n"), put("b.csv", "id,z,label\nr,20,1\ns,30,2\n")
    assert read_views([a, b], join="outer").labels.tolist() == [0, 1, 2]
    differs = put("c.csv", "id,z,label\nr,20,0\ns,30,2\n")
    with pytest.raises(FileFormatError, match=r"c\.csv: its labels differ from those in .*a\.csv"):
        read_views([a, differs], join="outer")
    without = put("d.csv", "id,z\nr,20\ns,30\n")
    assert read_views([a, without], join="outer").labels.tolist() == [0, 1, None]


def test_files_without_any_common_id(put):
    with pytest.raises(FileFormatError, match=r"a\.csv, .*b\.csv: no id occurs in more than one of these files"):
        read_views([put("a.csv", "id,x\nq,1\n"), put("b.csv", "id,x\nQ,1\n")], join="outer")


def test_one_file_alone(put):
    found = read_views(put("a.csv", "id,x\nq,1\nr,2\n"), join="outer")
    assert found.present is None
    assert found.sample_ids.tolist() == ["q", "r"]


def test_without_ids_rows_are_joined_by_position(tmp_path, put):
    np.save(tmp_path / "pixels.npy", np.ones((3, 2)))
    with pytest.raises(FileFormatError, match=r"a\.csv: 2 samples, but .*pixels\.npy has 3\..*pixels\.npy has no ids"):
        read_views([tmp_path / "pixels.npy", put("a.csv", "id,x\nq,1\nr,2\n")], join="outer", id_column=False)


def test_the_exact_join_points_to_the_others(two):
    with pytest.raises(FileFormatError, match=r"Pass join='inner' to keep .* or join='outer' to keep all"):
        read_views(two)
